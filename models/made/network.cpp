#include "models/made/network.h"

#include <algorithm>

#include "engine/ops/span.h"
#include "models/layers/recording.h"

namespace tessera {
namespace {

constexpr int kNarrowContexts = 64;  // columns, beyond which contexts are half as wide

}  // namespace

Made::Made(const RowLayout& layout, const MadeConfig& c, Sees s, int given_columns)
    : config(c), sees(s), given(given_columns), columns(layout.spans), spans(spans_of(layout)) {
  // Most of the weights of a wide table lead to contexts: their number grows with the square of the columns.
  if (count() > kNarrowContexts && given == 0 && !c.alike) config.context_dim = std::max(c.context_dim / 2, 1);
  levels = layout.data_width;
  drawn = spans;
  if (given > 0) {
    given_levels = given < count() ? columns[static_cast<size_t>(given)].start : levels;
    RowLayout last;
    last.spans.assign(columns.begin() + given, columns.end());
    for (Span& span : last.spans) span.start -= static_cast<int>(given_levels);
    drawn = spans_of(last);
  }
  lay_out_masks();
  network.name = sees == Sees::columns_before ? "network" : "any_order";
  network.add("embedding.weight", {levels, c.embedding_dim});
  add(input, true);
  for (size_t i = 0; i < expand.size(); ++i) add(expand[i], true), add(contract[i], true);
  add(context, true);
  if (skips()) add(skip, false);
  add(head, true);
}

void Made::add(const Layer& layer, bool bias) {
  const BlockTable& t = *layer.blocks->table();
  network.add(layer.name + ".weight", {t.rows, t.cols});
  if (bias) network.add(layer.name + ".bias", {1, t.cols});
}

// Unit u of n has degree ⌊u·(columns − 1)/n⌋, or, with g given columns, g − 1 + ⌊u·(columns − g)/n⌋; without an order,
// all have the last one, and contexts see all of them.
void Made::lay_out_masks() {
  const int n = config.hidden, e = config.embedding_dim, r = config.context_dim, most = std::max(count() - 1, 1);
  std::vector<int> degree, seen_columns, seen_units, units_before, columns_before;
  const bool ordered = sees == Sees::columns_before;
  const int lowest = std::max(given - 1, 0), degrees = given > 0 ? drawn_count() : most;
  for (int u = 0; u < n; ++u)
    degree.push_back(ordered ? lowest + static_cast<int>(static_cast<int64_t>(u) * degrees / n) : count() - 1);
  units.push_back(0);
  for (int j = 1; j <= std::max(count(), 1); ++j)
    units.push_back(static_cast<int>(std::lower_bound(degree.begin(), degree.end(), j) - degree.begin()));
  for (const int d : degree) {
    seen_columns.push_back(std::min(d + 1, count()) * e);  // 0 without columns
    seen_units.push_back(units[static_cast<size_t>(d) + 1]);
  }
  for (int j = given; j < count(); ++j) {
    units_before.insert(units_before.end(), static_cast<size_t>(r), ordered ? units[static_cast<size_t>(j)] : n);
    columns_before.insert(columns_before.end(), static_cast<size_t>(r), e * (ordered ? j : count()));
  }
  const auto between_units = Blocks::staircase(n, seen_units);
  input = {"input", Blocks::staircase(e * count(), seen_columns)};
  for (int i = 0; i < config.layers; ++i) {
    expand.push_back({"block." + std::to_string(i) + ".rising", between_units});
    contract.push_back({"block." + std::to_string(i) + ".falling", between_units});
  }
  context = {"context", Blocks::staircase(n, units_before)};
  skip = {"skip", Blocks::staircase(e * count(), columns_before)};
  std::vector<int> widths;
  for (size_t j = static_cast<size_t>(given); j < columns.size(); ++j) widths.push_back(columns[j].width);
  head = {"head", Blocks::side_by_side(r, widths)};
}

void own(Recorder& r, const Made& m) {
  r.own(m.network);
  r.plan.tables.push_back(m.spans);
  if (m.given > 0) r.plan.tables.push_back(m.drawn);
  for (const Made::Layer* layer : {&m.input, &m.context, &m.skip, &m.head}) r.plan.tables.push_back(layer->blocks);
  for (const Made::Layer& layer : m.expand) r.plan.tables.push_back(layer.blocks);
}

Var embed(Recorder& r, const Made& m, Var index, Var shown) {
  const Shape cells{index.shape().count(), 1};
  const Var rows =
      r.emit1(SparseMatmul{m.levels, 1, false},
              {reshape(index, cells), shown ? reshape(shown, cells) : Var{}, r(m.network, "embedding.weight")});
  return reshape(rows, {index.rows(), m.count() * m.config.embedding_dim});
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

// The levels of table rows [batch, columns], numbered over all columns.
Var levels_of(Recorder& r, const Made& m, int64_t table_rows, Var row) {
  const SpanTable& spans = *m.spans->table();
  return gather_rows(spans, table_input(r, spans, table_rows), row).index;
}

Var logits(Recorder& r, const Made& m, Var x, bool dropout) {
  Var h = through(r, m, m.input, x);
  for (size_t i = 0; i < m.expand.size(); ++i) {
    const Var z = dropped(r, m, silu(through(r, m, m.expand[i], silu(h))), dropout);
    h = h + through(r, m, m.contract[i], z);
  }
  const Var seen = through(r, m, m.context, dropped(r, m, silu(h), dropout));
  return through(r, m, m.head, m.skips() ? through(r, m, m.skip, x, seen) : seen);
}

}  // namespace

Var surprises(Recorder& r, const Made& m, Var index, bool dropout) {
  return surprises_beside(r, m, index, {}, dropout);
}

Var surprises_beside(Recorder& r, const Made& m, Var index, Var shown, bool dropout) {
  const Var all = r.name(logits(r, m, embed(r, m, index, shown), dropout), "logits");
  Var level = slice_cols(index, m.given, m.drawn_count());
  if (m.given > 0) level = r.emit1(SparseSlice{m.given_levels, m.drawn_levels()}, {level});
  return r.emit1(SpanReconstruction{m.drawn->table()}, {all, level, fill(r, level.shape(), 1), Var{}});
}

namespace {

// The terms of a loss, row by row and column by column.
Var terms(Recorder& r, const Made& m, Var index) {
  if (m.sees == Sees::columns_before && m.seen.empty()) return surprises(r, m, index, true);
  if (m.sees == Sees::columns_before)
    return surprises_beside(r, m, index, broadcast(r.input("seen", {1, m.count()}), index.shape()), true);
  const Shape cells = index.shape();
  const Var share = (1 - 1.0 / m.count()) * r.uniform("shown_share", {cells.rows, 1});
  const Var shown = step(broadcast(share, cells) - r.uniform("shown", cells));
  return (1 - shown) * surprises_beside(r, m, index, shown, true) / (1 - share);
}

void end_step(Recorder& r, const Made& m, Var loss, int64_t steps) {
  if (m.config.average_decay > 0) record_average(r, m.network, m.config.average_decay, steps);
  report_losses(r, {r.name(loss, "surprise of the batch")});
}

}  // namespace

void record_training(Recorder& r, const Made& m, int64_t table_rows, int64_t steps) {
  const MadeConfig& c = m.config;
  own(r, m);
  const Var index = levels_of(r, m, table_rows, draw_rows(r, c.batch, table_rows));
  const Var each = terms(r, m, index), loss = (1.0 / c.batch) * sum(each);
  const bool all = m.learned.empty();
  r.minimize(all ? loss : (1.0 / c.batch) * sum(each * r.input("learned", {1, m.count()})), m.network,
             adam_of(c, steps));
  end_step(r, m, loss, steps);
}

void record_training(Recorder& r, const Made& m, const PrivateRows& rows, int64_t steps) {
  own(r, m);
  const PrivateRows::Batch batch = rows.draw(r);
  const Var losses = sum_cols(surprises(r, m, levels_of(r, m, rows.table().rows, batch.row), false));
  rows.minimize(r, losses, batch, {&m.network}, adam_of(m.config, steps));
  end_step(r, m, rows.mean(losses, batch), steps);
}

void record_surprise(Recorder& r, const Made& m, int64_t table_rows, int64_t batch) {
  own(r, m);
  const Var row = r.input("row", {batch, 1}, DType::index);
  r.output(sum_cols(surprises(r, m, levels_of(r, m, table_rows, row), false)), "surprise");
}

}  // namespace tessera
