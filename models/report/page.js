// Sorts the columns and reads a matrix under the pointer; without it the page is complete. No less-than sign and no
// ampersand, so that the page is well-formed XML too.
document.documentElement.classList.add('js');
document.querySelectorAll('.sort button').forEach(function (button) {
  button.addEventListener('click', function () {
    var list = document.getElementById('column-cards'), key = button.dataset.key;
    var cards = Array.from(list.children);
    cards.sort(function (a, b) {
      return key === 'name' ? a.dataset.name.localeCompare(b.dataset.name) : Number(a.dataset[key]) - 
Number(b.dataset[key]);
    });
    cards.forEach(function (card) { list.appendChild(card); });
    button.parentNode.querySelectorAll('button').forEach(function (other) {
      other.setAttribute('aria-pressed', String(other === button));
    });
  });
});
document.querySelectorAll('svg.matrix').forEach(function (matrix) {
  var figure = matrix.parentNode, names = JSON.parse(figure.querySelector('script').textContent);
  var values = matrix.dataset.values.split(',');
  var label = figure.querySelector('output'), cell = Number(matrix.dataset.cell);
  matrix.addEventListener('pointermove', function (event) {
    var at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.getScreenCTM().inverse());
    var col = Math.floor((at.x - matrix.dataset.left) / cell), row = Math.floor((at.y - matrix.dataset.top) / cell);
    var inside = Math.min(row, col) >= 0 ? names.length > Math.max(row, col) : false;
    var value = inside ? values[row * names.length + col] : '';
    label.textContent = value === '' ? '' : names[row] + ' × ' + names[col] + ': ' + (Number(value) / 100).toFixed(2);
  });
});
