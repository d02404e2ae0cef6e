#include "tables/types/inspect.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"

namespace tessera {
namespace {

constexpr size_t kTop = 10;

std::vector<double> present(const Column& c) {
  std::vector<double> values;
  for (const double v : c.numbers)
    if (v == v) values.push_back(v);
  return values;
}

nlohmann::json as_shown(double value, const Column& c) {
  if (!is_instant(c.type)) return value;
  std::string text;
  NumberWriter(c).write(value, text);
  return text;
}

void inspect_numbers(const Column& c, nlohmann::json& out) {
  std::vector<double> values = present(c);
  std::sort(values.begin(), values.end());
  out["missing"] = c.size() - static_cast<int64_t>(values.size());
  out["min"] = values.empty() ? nlohmann::json() : as_shown(values.front(), c);
  out["max"] = values.empty() ? nlohmann::json() : as_shown(values.back(), c);
  if (is_quantity(c.type)) {
    double mean = 0;  // a running mean, because a sum of large numbers could overflow
    for (size_t i = 0; i < values.size(); ++i) mean += (values[i] - mean) / static_cast<double>(i + 1);
    out["mean"] = values.empty() ? nlohmann::json() : nlohmann::json(mean);
  }
  out["distinct"] = std::unique(values.begin(), values.end()) - values.begin();
  if (!is_day(c)) out["decimals"] = c.decimals;
  if (!c.format.empty()) out["format"] = c.format;
}

void inspect_codes(const Column& c, nlohmann::json& out) {
  std::vector<int64_t> counts(c.values.size(), 0);
  int64_t missing = 0;
  for (const int32_t code : c.codes) {
    if (code < 0) ++missing;
    else ++counts[static_cast<size_t>(code)];
  }
  std::vector<size_t> order(counts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t shown = std::min(kTop, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](size_t a, size_t b) { return counts[a] != counts[b] ? counts[a] > counts[b] : a < b; });
  out["missing"] = missing;
  out["distinct"] = std::count_if(counts.begin(), counts.end(), [](int64_t n) { return n > 0; });
  nlohmann::json top = nlohmann::json::array();
  for (size_t i = 0; i < shown && counts[order[i]] > 0; ++i)
    top.push_back({{"value", c.values[order[i]]}, {"count", counts[order[i]]}});
  out["top"] = std::move(top);
}

}  // namespace

nlohmann::json inspect(const Table& table) {
  nlohmann::json columns = nlohmann::json::array();
  for (const Column& c : table.columns) {
    nlohmann::json one{{"name", c.name}, {"type", name(c.type)}, {"reason", c.reason}};
    if (has_numbers(c)) inspect_numbers(c, one);
    else inspect_codes(c, one);
    columns.push_back(std::move(one));
  }
  return {{"rows", table.rows}, {"columns", std::move(columns)}};
}

}  // namespace tessera
