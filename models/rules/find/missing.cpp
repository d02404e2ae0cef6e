// Columns that are missing exactly where another one says so.
#include "models/rules/kinds/missing.h"

#include <algorithm>

#include "models/rules/find/search.h"

namespace tessera {
namespace {

constexpr size_t kMostValues = 100;  // of a column that says so

int64_t missing_in(const Column& c) {
  int64_t n = 0;
  for (int64_t i = 0; i < c.size(); ++i) n += c.is_missing(i);
  c.relax();
  return n;
}

// Whether column `target` is missing in `row` if `other` says so by being missing or present.
std::optional<MissingWhere> by_presence(const RuleSearch& search, const Column& target, const Column& other) {
  using Says = MissingWhere::Says;
  const auto always = [&](bool same) {
    return std::all_of(search.proposing.begin(), search.proposing.end(),
                       [&](int64_t row) { return (target.is_missing(row) == other.is_missing(row)) == same; });
  };
  if (always(true)) return MissingWhere{other.name, Says::missing, {}, false};
  if (always(false)) return MissingWhere{other.name, Says::present, {}, false};
  return {};
}

// By the values of a column of texts: each has the target always, or never. Values of fewer rows than a category needs
// are protected and do not enter the rule; they must be few.
std::optional<MissingWhere> by_values(const RuleSearch& search, const Column& target, const Column& other) {
  if (is_numeric(other.type) || other.values.size() > kMostValues) return {};
  std::vector<int64_t> rows(other.values.size() + 1), missing(other.values.size() + 1);
  for (int64_t i = 0; i < search.table.rows; ++i) {
    const int32_t code = other.codes[static_cast<size_t>(i)];
    const size_t v = code < 0 ? other.values.size() : static_cast<size_t>(code);
    ++rows[v];
    missing[v] += target.is_missing(i);
  }
  MissingWhere where{other.name, MissingWhere::Says::values, {}, missing.back() > 0};
  for (size_t v = 0; v < rows.size(); ++v) {
    if (missing[v] != 0 && missing[v] != rows[v]) return {};
    if (rows[v] > 0 && rows[v] < search.options.least_rows) return {};
    if (v < other.values.size() && missing[v] > 0) where.values.push_back(other.values[v]);
  }
  return where;
}

bool says_missing(const MissingWhere& where, const Column& other, int64_t row) {
  const bool none = other.is_missing(row);
  if (where.says != MissingWhere::Says::values) return none == (where.says == MissingWhere::Says::missing);
  if (none) return where.or_missing;
  const std::string& value = other.values[static_cast<size_t>(other.codes[static_cast<size_t>(row)])];
  return std::find(where.values.begin(), where.values.end(), value) != where.values.end();
}

}  // namespace

std::vector<FoundRule> find_missing(const RuleSearch& search) {
  const auto columns = static_cast<int>(search.columns());
  std::vector<int64_t> missing;
  for (int j = 0; j < columns; ++j) missing.push_back(missing_in(search.column(j)));
  std::vector<FoundRule> out;
  std::vector<char> ruled(static_cast<size_t>(columns), 0), asked(static_cast<size_t>(columns), 0);
  const auto tried = static_cast<double>(columns) * static_cast<double>(columns) * 2;
  for (int t = 0; t < columns; ++t) {
    const Column& target = search.column(t);
    const int64_t gaps = missing[static_cast<size_t>(t)];
    // Neither its missing nor its present values may be of single rows.
    if (!search.usable(t) || gaps < search.options.least_rows || target.size() - gaps < search.options.least_rows)
      continue;
    for (int o = 0; o < columns && ruled[static_cast<size_t>(t)] == 0; ++o) {
      // A column that is asked keeps its own missing values, so that rules do not depend on each other.
      if (o == t || !search.usable(o) || ruled[static_cast<size_t>(o)] != 0 || asked[static_cast<size_t>(t)] != 0)
        continue;
      const Column& other = search.column(o);
      auto where = by_presence(search, target, other);
      if (!where) where = by_values(search, target, other);
      other.relax(), target.relax();
      if (!where) continue;
      const auto holds = [&](int64_t row, int64_t in) {
        return says_missing(*where, other, row) == target.is_missing(in);
      };
      const auto evidence = search.evidence_of(holds, tried);
      if (!evidence) continue;
      out.push_back({std::make_shared<MissingRule>(target.name, *where), *evidence, "", target.name});
      ruled[static_cast<size_t>(t)] = asked[static_cast<size_t>(o)] = 1;
    }
  }
  return out;
}

}  // namespace tessera
