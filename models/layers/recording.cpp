#include "models/layers/recording.h"

#include <algorithm>

namespace tessera {

std::shared_ptr<const Spans> spans_of(const RowLayout& layout) {
  std::vector<Spans::Item> items;
  for (const Span& s : layout.spans) items.push_back({s.start, s.width, s.part != Span::Part::alpha, s.cond_start});
  return std::make_shared<const Spans>(items);
}

Var draw_rows(Recorder& r, int64_t batch, int64_t table_rows) {
  return r.emit(DrawConditions{r.next_purpose(), batch, 0, table_rows}, {Var{}, Var{}, Var{}, Var{}, r.rows})[1];
}

void decay_linearly(AdamOptions& adam, double from, int64_t steps) {
  if (from >= 1) return;
  adam.decay_from = static_cast<int64_t>(from * static_cast<double>(steps));
  adam.decay_steps = std::max<int64_t>(steps - adam.decay_from, 1);
}

void record_average(Recorder& r, const ParameterSet& set, double decay, int64_t steps) {
  const Var average = r.state("average." + set.name, {1, set.size});
  // The initial weights must have left the average by the end: in a short run it looks back over a tenth of the steps.
  r.advance(average,
            r.emit1(Average{std::clamp(1 - 10.0 / static_cast<double>(steps), 0.0, decay)}, {average, r.flat(set)}));
}

}  // namespace tessera
