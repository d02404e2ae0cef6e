// Columns with the same values that never agree in a row: home and away, origin and destination.
#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "tables/expression/arithmetic.h"
#include "tables/rules/find/search.h"

namespace tessera {
namespace {

constexpr size_t kMaxUnequalColumns = 100;                          // the work grows with their square
constexpr size_t kMinShared = 3, kMaxShared = kMaxDistinctNumbers;  // values; two of them are a yes and a no
constexpr double kMinSharedRows = 0.8;  // of either column, with a value that the other one has too
// Of many places, a flight seldom ends where it began by chance either, but that it never does is true.
constexpr double kMaxUnequalByChance = 0.999;

// A column's values as numbers that are the same in all columns.
struct Vocabulary {
  const Column* column;
  std::vector<double> of_code;  // of texts
  std::unordered_set<double> values;

  double at(int64_t row) const {
    const auto i = static_cast<size_t>(row);
    if (!has_texts(*column)) return column->numbers[i];
    return column->codes[i] < 0 ? kMissing : of_code[static_cast<size_t>(column->codes[i])];
  }
};

std::vector<Vocabulary> vocabularies(const RuleSearch& search) {
  std::unordered_map<std::string, double> texts;
  std::vector<Vocabulary> out;
  for (const int j : search.usable_columns(kMaxUnequalColumns, [](const Column& c) {
         return has_texts(c) ? c.values.size() <= kMaxShared : digits_of(c) != kAllDigits && !has_fractions(c);
       })) {
    Vocabulary v{&search.column(j), {}, {}};
    for (const std::string& text : v.column->values)
      v.of_code.push_back(texts.try_emplace(text, static_cast<double>(texts.size())).first->second);
    for (const int64_t row : search.proposing)
      if (const double x = v.at(row); x == x && v.values.size() <= kMaxShared) v.values.insert(x);
    if (v.values.size() >= kMinShared && v.values.size() <= kMaxShared) out.push_back(std::move(v));
  }
  return out;
}

// An order of two numbers is a rule of its own, so each of them must be above the other one in some row.
bool may_be_unequal(const RuleSearch& search, const Vocabulary& a, const Vocabulary& b) {
  const bool texts = has_texts(*a.column);
  if (texts != has_texts(*b.column) || (!texts && !comparable(*a.column, *b.column))) return false;
  bool above = texts, below = texts;
  double rows = 0, first = 0, second = 0;
  for (const int64_t row : search.proposing) {
    const double x = a.at(row), y = b.at(row);
    if (x == y) return false;
    if (x != x || y != y) continue;
    above |= x > y, below |= x < y;
    ++rows, first += b.values.contains(x), second += a.values.contains(y);
  }
  return above && below && std::min(first, second) >= kMinSharedRows * rows;
}

}  // namespace

std::vector<std::string> find_unequal(const RuleSearch& search, const std::vector<FoundRule>& combinations) {
  const std::vector<Vocabulary> all = vocabularies(search);
  RuleSearch rows = search;  // nothing of such a rule is taken from the proposing rows: they are evidence as well
  rows.testing.insert(rows.testing.end(), rows.proposing.begin(), rows.proposing.end());
  rows.proposing.clear();
  const auto tried = static_cast<double>(all.size() * all.size());
  std::vector<std::vector<std::string>> together;
  for (const FoundRule& f : combinations) together.push_back(f.rule->columns(search.table));
  std::vector<std::string> out;
  for (auto a = all.begin(); a != all.end(); ++a)
    for (auto b = std::next(a); b != all.end(); ++b) {
      const auto has_both = [&](const std::vector<std::string>& names) {
        const auto has = [&](const Vocabulary& v) { return std::ranges::count(names, v.column->name) > 0; };
        return has(*a) && has(*b);
      };
      if (!may_be_unequal(search, *a, *b) || std::ranges::any_of(together, has_both)) continue;
      const auto holds = [&](int64_t row, int64_t other) {
        const double x = a->at(row), y = b->at(other);
        return x != x || y != y ? -1 : x != y ? 1 : 0;
      };
      if (rows.evidence_of(holds, tried, kMaxUnequalByChance))
        out.push_back(fmt::format("{} != {}", quoted_name(a->column->name), quoted_name(b->column->name)));
    }
  search.table.relax();
  return out;
}

}  // namespace tessera
