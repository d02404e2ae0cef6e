#include "models/sampling/shown.h"

#include <algorithm>

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
