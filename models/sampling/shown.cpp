#include "models/sampling/shown.h"

#include <algorithm>
#include <cmath>

#include "tables/formats/number_format.h"
#include "tables/kinds/arrow_type.h"
#include "tables/rules/rule/columns.h"

namespace tessera {

bool ShownColumns::decides(int learned, int column) const {
  const std::vector<std::string> shown = model_.rules.shown(learned_.columns[static_cast<size_t>(learned)].name);
  return std::find(shown.begin(), shown.end(), table_.columns[static_cast<size_t>(column)].name) != shown.end();
}

int ShownColumns::source(int column) const {
  for (size_t j = 0; j < learned_.columns.size(); ++j)
    if (decides(static_cast<int>(j), column)) return static_cast<int>(j);
  return -1;
}

bool ShownColumns::shows_itself(int learned) const {
  const std::string& name = learned_.columns[static_cast<size_t>(learned)].name;
  return model_.rules.shown(name) == std::vector{name};
}

Column ShownColumns::ends(int column, int source) const {
  const Encoder::Reach reach = model_.encoder.reach(source);
  Table rows = first_levels(2);
  rows.columns[static_cast<size_t>(source)].numbers = std::vector<double>{reach.low, reach.high};
  restore(rows);
  Column ends = head_of(table_.columns[static_cast<size_t>(column)]);
  ends.numbers = std::vector<double>{reach.low, reach.high};
  const auto take = [&](double x) {
    ends.numbers[0] = std::fmin(ends.numbers[0], x), ends.numbers[1] = std::fmax(ends.numbers[1], x);
  };
  const auto& shown = rows.columns[static_cast<size_t>(column)].numbers;
  for (const double x : {reach.low, reach.high, shown[0], shown[1]}) {
    take(as_written(ends, x));
    // a format may write less than the number holds: months of dates, minutes of times
    std::string text;
    double read = 0;
    if (is_instant(ends) || is_clock_format(ends.format)) NumberWriter(ends).write(x, text);
    if (!text.empty() && kind_of(ends).read(ends, text, read)) take(read);
  }
  // streams round to the type that the fitted table had
  const std::optional<ArrowType> arrow = ArrowType::parse(ends.arrow);
  if (arrow && arrow->kind == ArrowKind::real && arrow->width < 8) {
    const double step = arrow->is_float32() ? 0x1p-23 : 0x1p-10;
    ends.numbers[0] -= step * std::abs(ends.numbers[0]), ends.numbers[1] += step * std::abs(ends.numbers[1]);
  }
  return ends;
}

Table ShownColumns::first_levels(int64_t rows) const {
  const RowLayout& layout = model_.encoder.layout();
  // pointers may be offset into this memory, also without rows
  const std::vector<float> alphas(static_cast<size_t>((rows + 1) * std::max(layout.alphas(), 1)));
  const std::vector<int32_t> codes(static_cast<size_t>((rows + 1) * std::max(layout.codes(), 1)));
  const std::vector<int64_t> ids(static_cast<size_t>(rows), 0);
  return model_.encoder.decode(alphas.data(), codes.data(), ids.data(), rows, 0);
}

Where broken_where(const std::string& rule, const Table& schema) {
  return parse_where("not (" + rule + ")", schema, "Rule");
}

}  // namespace tessera
