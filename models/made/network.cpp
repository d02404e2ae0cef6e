#include "models/made/network.h"

#include <algorithm>

#include "engine/ops/span.h"
#include "models/layers/recording.h"

namespace tessera {

Made::Made(const RowLayout& layout, const MadeConfig& c) : config(c), columns(layout.spans), spans(spans_of(layout)) {
  levels = layout.data_width;
  lay_out_masks();
  network.name = "network";
  network.add("embedding.weight", {levels, c.embedding_dim});
  add(input, true);
  for (size_t i = 0; i < rising.size(); ++i) add(rising[i], true), add(falling[i], true);
  add(context, true);
  if (skips()) add(skip, false);
  add(head, true);
}

void Made::add(const Layer& layer, bool bias) {
  const BlockTable& t = *layer.blocks->table();
  network.add(layer.name + ".weight", {t.rows, t.cols});
  if (bias) network.add(layer.name + ".bias", {1, t.cols});
}

// Unit u of n has degree ⌊u·(columns − 1)/n⌋.
void Made::lay_out_masks() {
  const int n = config.hidden, e = config.embedding_dim, r = config.context_dim, most = std::max(count() - 1, 1);
  std::vector<int> degree, seen_columns, seen_units, units_before, columns_before;
  for (int u = 0; u < n; ++u) degree.push_back(static_cast<int>(static_cast<int64_t>(u) * most / n));
  units.push_back(0);
  for (int j = 1; j <= std::max(count(), 1); ++j)
    units.push_back(static_cast<int>(std::lower_bound(degree.begin(), degree.end(), j) - degree.begin()));
  for (const int d : degree) {
    seen_columns.push_back(std::min(d + 1, count()) * e);  // no column at all: nothing is seen
    seen_units.push_back(units[static_cast<size_t>(d) + 1]);
  }
  for (int j = 0; j < count(); ++j) {
    units_before.insert(units_before.end(), static_cast<size_t>(r), units[static_cast<size_t>(j)]);
    columns_before.insert(columns_before.end(), static_cast<size_t>(r), e * j);
  }
  const auto between_units = Blocks::staircase(n, seen_units);
  input = {"input", Blocks::staircase(e * count(), seen_columns)};
  for (int i = 0; i < config.layers; ++i) {
    rising.push_back({"block." + std::to_string(i) + ".rising", between_units});
    falling.push_back({"block." + std::to_string(i) + ".falling", between_units});
  }
  context = {"context", Blocks::staircase(n, units_before)};
  skip = {"skip", Blocks::staircase(e * count(), columns_before)};
  std::vector<int> widths;
  for (const Span& s : columns) widths.push_back(s.width);
  head = {"head", Blocks::side_by_side(r, widths)};
}

namespace {

Var through(Recorder& r, const Made& m, const Made::Layer& layer, Var x, Var addend) {
  return block_matmul(BlockMatmul::forward, layer.blocks->table(), x, r(m.network, layer.name + ".weight"), addend);
}
Var through(Recorder& r, const Made& m, const Made::Layer& layer, Var x) {
  return through(r, m, layer, x, r(m.network, layer.name + ".bias"));
}

Var dropped(Recorder& r, const Made& m, Var x, bool dropout) {
  const double keep = 1 - m.config.dropout;
  if (!dropout || keep == 1) return x;
  return x * ((1 / keep) * r.bernoulli("dropout", x.shape(), keep));
}

void own(Recorder& r, const Made& m) {
  r.own(m.network);
  r.plan.tables.push_back(m.spans);
  for (const Made::Layer* layer : {&m.input, &m.context, &m.skip, &m.head}) r.plan.tables.push_back(layer->blocks);
  for (const Made::Layer& layer : m.rising) r.plan.tables.push_back(layer.blocks);
}

// The levels of table rows [batch, columns], among all levels.
Var levels_of(Recorder& r, const Made& m, int64_t table_rows, Var row) {
  const SpanTable& spans = *m.spans->table();
  return gather_rows(spans, table_input(r, spans, table_rows), row).index;
}

// Of the levels in `index` [batch, columns]: their embeddings side by side [batch, columns·embedding_dim].
Var embed(Recorder& r, const Made& m, Var index) {
  const Var one = reshape(index, {index.shape().count(), 1});
  const Var rows = r.emit1(SparseMatmul{m.levels, 1, false}, {one, Var{}, r(m.network, "embedding.weight")});
  return reshape(rows, {index.rows(), m.count() * m.config.embedding_dim});
}

Var logits(Recorder& r, const Made& m, Var x, bool dropout) {
  Var h = through(r, m, m.input, x);
  for (size_t i = 0; i < m.rising.size(); ++i) {
    const Var z = dropped(r, m, silu(through(r, m, m.rising[i], silu(h))), dropout);
    h = h + through(r, m, m.falling[i], z);
  }
  const Var seen = through(r, m, m.context, dropped(r, m, silu(h), dropout));
  return through(r, m, m.head, m.skips() ? through(r, m, m.skip, x, seen) : seen);
}

}  // namespace

Var surprises(Recorder& r, const Made& m, Var index, bool dropout) {
  const Var all = r.name(logits(r, m, embed(r, m, index), dropout), "logits");
  const Var ones = fill(r, index.shape(), 1);
  return r.emit1(SpanReconstruction{m.spans->table()}, {all, index, ones, Var{}});
}

void record_training(Recorder& r, const Made& m, int64_t table_rows, int64_t steps) {
  const MadeConfig& c = m.config;
  own(r, m);
  const Var index = levels_of(r, m, table_rows, draw_rows(r, c.batch, table_rows));
  const Var loss = (1.0 / c.batch) * sum(surprises(r, m, index, true));
  AdamOptions adam{Adam::torch, c.learning_rate, c.beta1, c.beta2, c.adam_eps, c.weight_decay, 1, 0, 0, 0};
  decay_linearly(adam, c.decay_from, steps);
  r.minimise(loss, m.network, adam);
  if (c.average_decay > 0) record_average(r, m.network, c.average_decay, steps);
  report_losses(r, {r.name(loss, "surprise of the batch")});
}

void record_surprise(Recorder& r, const Made& m, int64_t table_rows, int64_t batch) {
  own(r, m);
  const Var row = r.input("row", {batch, 1}, DType::index);
  r.output(sum_cols(surprises(r, m, levels_of(r, m, table_rows, row), false)), "surprise");
}

namespace {

constexpr int64_t kLargestTable = 1 << 18;  // elements

// The columns of a layer's result that still wait for inputs; those that wait for none are taken from the left.
struct Waiting {
  Var sum;  // bias and the inputs so far; none: no column is left
  Var take(int64_t count) {
    const Var taken = slice_cols(sum, 0, count);
    const int64_t left = sum.cols() - count;
    sum = left > 0 ? slice_cols(sum, count, left) : Var{};
    return taken;
  }
};

// Sampling in the columns' order. What a column or a group of units gives to the layers above is added to all that
// waits for it as soon as it is known: products of few rows of the weights and many of their columns.
class Drawing {
 public:
  Drawing(Recorder& r, const Made& m, int64_t batch, const Known& known, bool counts)
      : r_(r), m_(m), known_(known), batch_(batch), counts_(counts) {
    own(r, m);
    r.rows = r.input("rows", {batch, 3}, DType::index);
    noise_ = r.uniform("u", {batch, m.count()});
    if (known.rows > 0) evidence_ = r.input("evidence", {known.rows, m.levels});
    input_.sum = bias(m.input), contexts_.sum = bias(m.context);
    for (const Made::Layer& l : m.rising) rising_.push_back({bias(l)});
    for (const Made::Layer& l : m.falling) falling_.push_back({bias(l)});
  }

  // The level of column j [batch, 1].
  Var draw(int j) {
    const Span& span = m_.columns[static_cast<size_t>(j)];
    const auto one = std::make_shared<const Spans>(std::vector<Spans::Item>{{0, span.width, true, -1}});
    r_.plan.tables.push_back(one);
    Var l = logits(span);
    if (counts_) expected_.push_back(sum_rows(span_softmax(l, one->table())));
    if (evidence_ && (known_.columns.empty() || known_.columns[static_cast<size_t>(j)] != 0)) {
      const Var left = l + slice_cols(evidence_, span.start, span.width);
      const Var likely = log_sum_exp(left, one->table()) - log_sum_exp(l, one->table());
      log_weight_ = log_weight_ ? log_weight_ + likely : likely;
      l = left;
    }
    return r_.emit1(SpanDraw{one->table()}, {l, slice_cols(noise_, j, 1)});
  }
  // How many rows are expected to have each level of the columns drawn so far, [1, levels].
  Var expected() const { return concat_cols(expected_); }
  Var log_weight() const { return log_weight_; }  // of the columns drawn so far; none: nothing is known of them

  // What column j's level adds: its embedding, then the units that waited for it.
  void extend(int j, Var level) {
    const int first = m_.units[static_cast<size_t>(j)], units = m_.units[static_cast<size_t>(j) + 1] - first;
    add_level(m_.input, input_, j, level);
    if (m_.skips()) add_level(m_.skip, contexts_, j, level);
    if (units == 0) return;
    Var h = input_.take(units);
    for (size_t i = 0; i < rising_.size(); ++i) {
      add(m_.rising[i], rising_[i], first, silu(h));
      add(m_.falling[i], falling_[i], first, silu(rising_[i].take(units)));
      h = h + falling_[i].take(units);
    }
    add(m_.context, contexts_, first, silu(h));
  }

 private:
  Var weight(const Made::Layer& layer) { return r_(m_.network, layer.name + ".weight"); }
  Var bias(const Made::Layer& layer) { return r_(m_.network, layer.name + ".bias"); }

  // Rows [first, first + count) of a layer's weight, of the columns that wait.
  Var rows_of(const Made::Layer& layer, const Waiting& waiting, int64_t first, int64_t count) {
    const Var all = weight(layer);
    return slice_cols(slice_rows(all, first, count), all.cols() - waiting.sum.cols(), waiting.sum.cols());
  }
  // Units from `first` on.
  void add(const Made::Layer& layer, Waiting& waiting, int64_t first, Var units) {
    if (waiting.sum) waiting.sum = matmul(units, rows_of(layer, waiting, first, units.cols())) + waiting.sum;
  }
  // The embedding of a level times the weight: a row of their product, which is made once a batch if it is not large.
  void add_level(const Made::Layer& layer, Waiting& waiting, int j, Var level) {
    if (!waiting.sum) return;
    const Span& span = m_.columns[static_cast<size_t>(j)];
    const int64_t e = m_.config.embedding_dim;
    const Var embeddings = slice_rows(r_(m_.network, "embedding.weight"), span.start, span.width);
    const Var to = rows_of(layer, waiting, e * j, e);
    if (span.width * to.cols() <= kLargestTable)
      waiting.sum = r_.emit1(SparseMatmul{span.width, 1, true}, {level, Var{}, matmul(embeddings, to), waiting.sum});
    else
      waiting.sum = matmul(r_.emit1(SparseMatmul{span.width, 1, false}, {level, Var{}, embeddings}), to) + waiting.sum;
  }

  Var logits(const Span& span) {
    const Var seen = contexts_.take(m_.config.context_dim);
    const Var weight = slice_cols(r_(m_.network, "head.weight"), span.start, span.width);
    const Var bias = slice_cols(r_(m_.network, "head.bias"), span.start, span.width);
    return broadcast(matmul(seen, weight) + bias, {batch_, span.width});
  }

  Recorder& r_;
  const Made& m_;
  const Known& known_;
  int64_t batch_;
  bool counts_;
  std::vector<Var> expected_;  // by column
  Var evidence_, log_weight_;
  Waiting input_, contexts_;
  std::vector<Waiting> rising_, falling_;  // of each residual block
  Var noise_;
};

// Rows drawn in the columns' order: their levels, column by column.
std::vector<Var> drawn_levels(const Made& m, Drawing& drawing) {
  std::vector<Var> codes;
  for (int j = 0; j < m.count(); ++j) {
    codes.push_back(drawing.draw(j));
    if (j + 1 < m.count()) drawing.extend(j, codes.back());
  }
  return codes;
}

}  // namespace

void record_sampling(Recorder& r, const Made& m, int64_t batch, const Known& known) {
  Drawing drawing(r, m, batch, known, false);
  r.output(concat_cols(drawn_levels(m, drawing)), "codes");
  r.output(fill(r, {batch, 0}, 0), "alphas");
  if (drawing.log_weight()) r.output(drawing.log_weight(), "log_weight");
}

void record_expected_counts(Recorder& r, const Made& m, int64_t batch) {
  const Known nothing;
  Drawing drawing(r, m, batch, nothing, true);
  (void)drawn_levels(m, drawing);
  r.output(drawing.expected(), "expected");
}

}  // namespace tessera
