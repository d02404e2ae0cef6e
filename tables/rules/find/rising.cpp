// Columns of sequences that never decrease, or never increase, within a key. By chance, a step goes either way with
// probability 1/2.
#include "tables/rules/kinds/rising.h"

#include <algorithm>

#include "tables/kinds/kind.h"
#include "tables/rules/find/search.h"
#include "tables/rules/rule/columns.h"
#include "tables/sequence/sequences.h"

namespace tessera {
namespace {

std::optional<FoundRule> monotone(const RuleSearch& search, const Column& c, const std::vector<int32_t>& previous,
                                  double sign, bool held) {
  const auto holds = [&](int64_t row, int64_t other) {
    const int32_t before = previous[static_cast<size_t>(row)];
    if (before < 0) return -1;
    const double a = sign * c.numbers[static_cast<size_t>(before)], b = sign * c.numbers[static_cast<size_t>(other)];
    return a == b ? -1 : a < b ? 1 : 0;
  };
  const auto evidence = search.evidence_of(holds, 2 * static_cast<double>(search.columns()));
  if (!evidence) return {};
  const RuleOptions& o = search.options;
  if (held) return FoundRule{make_rule(HeldData{c.name, o.key, o.index}), *evidence};
  if (sign > 0) return FoundRule{make_rule(RisingData{c.name, o.key, o.index}), *evidence};
  return FoundRule{make_rule(FallingData{head_of(c), o.key, o.index}), *evidence};
}

}  // namespace

std::vector<FoundRule> find_rising(const RuleSearch& search, const std::vector<std::string>& beside_index) {
  const RuleOptions& o = search.options;
  if (o.key.empty()) return {};
  const std::vector<int32_t> previous = previous_rows(search.table, o.key, o.index);
  const auto keys = std::count(previous.begin(), previous.end(), -1);
  std::vector<FoundRule> out;
  for (const int j : search.usable_numbers(SIZE_MAX)) {
    const Column& c = search.column(j);
    // The model stores first values per key: with few keys they would disclose single ones.
    if (keys < search.holders.least({&c}) || !is_complete(c)) continue;
    const bool held = std::find(beside_index.begin(), beside_index.end(), c.name) != beside_index.end();
    auto found = monotone(search, c, previous, 1, held);
    if (!found && !is_instant(c)) found = monotone(search, c, previous, -1, false);
    if (found) out.push_back(std::move(*found));
    c.relax();
  }
  return out;
}

}  // namespace tessera
