#include "tables/rules/find/search.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "tables/formats/number_format.h"
#include "tables/identifiers/permutation.h"
#include "tables/rules/find/factors.h"
#include "tables/rules/rule/columns.h"
#include "tables/sequence/sequences.h"

namespace tessera {
namespace {

constexpr int64_t kProposing = 4096, kTesting = 20'000;  // rows, of a table that has them
// A table is to show a false rule once in a million.
constexpr double kLogTables = 13.8;

// The unit of a number: days, seconds, or its prefix and suffix, such as a currency.
std::string unit_of(const Column& c) {
  if (is_instant(c.type)) return name(c.type);
  if (is_clock_format(c.format)) return "clock";
  NumberFormat format;
  return NumberFormat::parse(c.format, format) ? format.prefix + '\n' + format.suffix : "\n";
}

}  // namespace

RuleSearch::RuleSearch(Table& searched, const RuleOptions& given, const Holders& held, Team& workers)
    : table(searched), options(given), holders(held), team(workers) {
  const Permutation order(static_cast<uint64_t>(std::max<int64_t>(table.rows, 1)), 0);
  const int64_t half = std::min(table.rows / 2, kProposing), end = std::min(table.rows, half + kTesting);
  for (int64_t i = 0; i < end; ++i)
    (i < half ? proposing : testing).push_back(static_cast<int64_t>(order(static_cast<uint64_t>(i))));
}

std::vector<const Column*> RuleSearch::columns_at(const std::vector<int>& places) const {
  std::vector<const Column*> out;
  for (const int j : places) out.push_back(&column(j));
  return out;
}

RuleSearch RuleSearch::of_most_rows(size_t draw) const {
  constexpr size_t kRows = 36;  // all of them keep it with probability .33 where 3 % of the rows do not
  RuleSearch out = *this;
  out.usual = true;
  const size_t first = std::min(draw * kRows, proposing.size()), end = std::min(first + kRows, proposing.size());
  out.proposing.assign(proposing.begin() + static_cast<std::ptrdiff_t>(first),
                       proposing.begin() + static_cast<std::ptrdiff_t>(end));
  return out;
}

RuleSearch RuleSearch::with_blanks_as_0() const {
  constexpr size_t kRows = 512;  // propose: a second search of a table is to cost little
  RuleSearch out = *this;
  out.proposing.resize(std::min(kRows, proposing.size()));
  out.zeros.assign(columns(), 0);
  for (const int j : usable_numbers(SIZE_MAX)) {
    const Column& c = column(j);
    const bool none = std::ranges::none_of(proposing, [&](int64_t row) { return c.is_missing(row); });
    if (none || !is_quantity(c)) continue;
    const int64_t least = holders.least({&c});
    Held blank;
    holders.each([&](int64_t row, int64_t holder) {
      if (blank.holders < least && c.is_missing(row)) blank.add(holder);
    });
    c.relax();
    out.zeros[static_cast<size_t>(j)] = blank.holders >= least ? 1 : 0;
  }
  if (std::ranges::count(out.zeros, 1) == 0) out.zeros.clear();
  out.may_compute = [zeros = out.zeros, any = may_compute](int target, const std::vector<int>& of) {
    return (zeros.empty() || zeros[static_cast<size_t>(target)] == 0) && (!any || any(target, of));
  };
  return out;
}

bool RuleSearch::has_enough_for(size_t numbers, const std::vector<int>& columns) const {
  constexpr size_t kEach = 3;
  std::unordered_set<uint64_t> seen;
  for (const int64_t row : proposing)
    if (seen.insert(combination_key(*this, columns, row)).second && seen.size() == kEach * numbers) return true;
  return false;
}

bool RuleSearch::has_peak(int j) const {
  constexpr double kPeak = 0.1;
  std::vector<double> numbers = numbers_of(j, proposing);
  std::erase_if(numbers, [](double x) { return x != x; });
  const auto often = frequent_numbers(numbers);
  return std::ranges::any_of(often, [&](const auto& held) {
    return static_cast<double>(held.second) >= kPeak * static_cast<double>(numbers.size());
  });
}

std::string RuleSearch::name_of(int j) const {
  const std::string name = quoted_name(column(j).name);
  return blank_is_0(j) ? "coalesce(" + name + ", 0)" : name;
}

std::vector<double> RuleSearch::numbers_of(int j, const std::vector<int64_t>& rows) const {
  std::vector<double> out = numbers_in(column(j), rows);
  if (blank_is_0(j))
    for (double& x : out) x = x == x ? x : 0;
  return out;
}

bool RuleSearch::misses_few(const Column& column) const {
  constexpr double kFew = 0.25;
  const auto missing = std::ranges::count_if(proposing, [&](int64_t row) { return column.is_missing(row); });
  return missing > 0 && static_cast<double>(missing) < kFew * static_cast<double>(proposing.size());
}

Seen RuleSearch::seen_as(const Column& target, bool gaps, bool learned) const {
  return gaps || learned ? Seen{free_name(table, "computed " + target.name), gaps} : Seen{};
}

bool RuleSearch::in_rules(int j) const {
  const Column& c = column(j);
  return kind_of(c).varies &&
         std::find(options.excluded.begin(), options.excluded.end(), c.name) == options.excluded.end();
}

double RuleSearch::limit_of(const Column& column, bool largest, int64_t least) const {
  double end = largest ? -INFINITY : INFINITY;
  Held held;
  holders.each([&](int64_t row, int64_t holder) {
    const double x = column.numbers[static_cast<size_t>(row)];
    if (largest ? x > end : x < end) end = x, held = {};
    if (x == end) held.add(holder);
  });
  return held.holders >= least ? end : kMissing;
}

int RuleSearch::index() const {
  const int at = options.index.empty() ? -1 : place_of(table, options.index);
  return at >= 0 && is_ordered(column(at)) ? at : -1;
}

bool RuleSearch::beyond_chance(int64_t rows, double chance, double tried, double most) {
  return chance <= most && static_cast<double>(rows) * -std::log(chance) >= kLogTables + std::log(std::max(tried, 1.0));
}

std::string learned_as(const std::vector<FoundRule>& rules, const std::string& column) {
  for (const FoundRule& f : rules)
    if (f.rule->column() == column && !f.rule->learned_as().empty()) return f.rule->learned_as();
  return "";
}

std::vector<FoundRule> those_found(std::vector<std::optional<FoundRule>> found) {
  std::vector<FoundRule> out;
  for (auto& f : found)
    if (f) out.push_back(std::move(*f));
  return out;
}

std::vector<double> numbers_in(const Column& c, const std::vector<int64_t>& rows) {
  std::vector<double> out;
  for (const int64_t row : rows) out.push_back(c.numbers[static_cast<size_t>(row)]);
  c.relax();
  return out;
}

bool comparable(const Column& a, const Column& b) { return is_ordered(a) && is_ordered(b) && unit_of(a) == unit_of(b); }

bool have_order(const Column& a, const Column& b) { return comparable(a, b) || (is_instant(a) && is_instant(b)); }

}  // namespace tessera
