#include "models/layers/recording.h"

#include <algorithm>

#include "engine/ops/span.h"

namespace tessera {

std::shared_ptr<const Spans> spans_of(const RowLayout& layout) {
  std::vector<Spans::Item> items;
  for (const Span& s : layout.spans) items.push_back({s.start, s.width, s.part != Span::Part::alpha, s.cond_start});
  return std::make_shared<const Spans>(items);
}

Var draw_rows(Recorder& r, int64_t batch, int64_t table_rows) {
  return r.emit(DrawConditions{r.next_purpose(), batch, 0, table_rows}, {Var{}, Var{}, Var{}, Var{}, r.rows})[1];
}

TableInput table_input(Recorder& r, const SpanTable& spans, int64_t table_rows) {
  const Var codes = r.input("codes", {table_rows, spans.softmaxes}, DType::index);
  return {codes, r.input("alphas", {table_rows, spans.tanhs})};
}

SparseRows gather_rows(const SpanTable& spans, const TableInput& table, Var row) {
  const auto entries = row.r->emit(GatherRows{&spans}, {table.codes, table.alphas, row});
  return {entries[0], entries[1]};
}

Var dense(const SpanTable& spans, const SparseRows& rows) {
  return sparse_dense(rows.index, rows.value, spans.width, spans.count);
}

DrawnCells draw_cells(Recorder& r, const SpanTable& spans, Var logits) {
  const auto drawn = r.emit(SpanSample{&spans, kLowUniform, kHighUniform}, {logits, r.uniform("u", logits.shape())});
  return {drawn[0], drawn[1]};
}

Var log_sum_exp(Var x, const SpanTable* spans) {
  const Var top = span_max(x, spans);
  return top + log(span_sum(exp(x - span_spread(top, spans)), spans));
}

void report_losses(Recorder& r, std::vector<Var> losses) {
  const Var ring = r.state("losses", {kLossSlots, static_cast<int64_t>(losses.size())});
  losses.insert(losses.begin(), ring);
  r.advance(ring, r.emit1(Report{kLossSlots}, losses));
}

void decay_linearly(AdamOptions& adam, double from, int64_t steps) {
  if (from >= 1) return;
  adam.decay_from = static_cast<int64_t>(from * static_cast<double>(steps));
  adam.decay_steps = std::max<int64_t>(steps - adam.decay_from, 1);
}

void record_average(Recorder& r, const ParameterSet& set, double decay, int64_t steps) {
  const Var average = r.state("average." + set.name, {1, set.size});
  // The initial weights must not influence the average at the end: in a short run it spans a tenth of the steps.
  r.advance(average,
            r.emit1(Average{std::clamp(1 - 10.0 / static_cast<double>(steps), 0.0, decay)}, {average, r.flat(set)}));
}

}  // namespace tessera
