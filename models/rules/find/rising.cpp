// Columns of sequences that never fall within a key. A step that rises is one of two that could have been seen: rows
// whose values had nothing to do with the step before would fall in half of the steps.
#include "models/rules/kinds/rising.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/text/json_fields.h"
#include "models/data/sequence/sequences.h"
#include "models/expression/arithmetic.h"
#include "models/rules/find/search.h"
#include "models/rules/rule/columns.h"

namespace tessera {
std::string RisingRule::text() const {
  return fmt::format("{} never falls within a {}", quoted_name(column_), quoted_name(key_));
}

std::vector<char> RisingRule::broken(const Table& rows, const Table&) const {
  const Column& c = numbers_of(rows, column_);
  const std::vector<int32_t> previous = previous_rows(rows, key_, index_);
  std::vector<char> out(c.numbers.size());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = previous[i] >= 0 && c.numbers[i] < c.numbers[static_cast<size_t>(previous[i])] ? 1 : 0;
  return out;
}

void RisingRule::restore(Table& rows) const { (void)numbers_of(rows, column_); }

nlohmann::json RisingRule::to_json() const {
  return {{"kind", kind()}, {"column", column_}, {"key", key_}, {"index", index_}};
}

std::unique_ptr<const TableRule> RisingRule::read(const Fields& f) {
  return std::make_unique<RisingRule>(f.text("column"), f.text("key"), f.text("index"));
}

std::vector<FoundRule> find_rising(const RuleSearch& search) {
  const RuleOptions& o = search.options;
  if (o.key.empty()) return {};
  const std::vector<int32_t> previous = previous_rows(search.table, o.key, o.index);
  // Each key has a first value, which a model holds: of fewer keys they would tell of single ones.
  if (std::count(previous.begin(), previous.end(), -1) < o.least_rows) return {};
  std::vector<FoundRule> out;
  for (int j = 0; j < static_cast<int>(search.columns()); ++j) {
    const Column& c = search.column(j);
    if (!search.usable(j) || !is_numeric(c.type) || !is_complete(c)) continue;
    const auto holds = [&](int64_t row, int64_t other) {
      const int32_t before = previous[static_cast<size_t>(row)];
      if (before < 0) return -1;
      const double a = c.numbers[static_cast<size_t>(before)], b = c.numbers[static_cast<size_t>(other)];
      return a == b ? -1 : a < b ? 1 : 0;
    };
    const bool proposed = std::all_of(search.proposing.begin(), search.proposing.end(),
                                      [&](int64_t row) { return holds(row, row) != 0; });
    if (proposed)
      if (const auto evidence = search.evidence_of(holds, static_cast<double>(search.columns())))
        out.push_back({std::make_shared<RisingRule>(c.name, o.key, o.index), *evidence});
    c.relax();
  }
  return out;
}

}  // namespace tessera
