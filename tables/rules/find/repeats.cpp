// Columns of numbers that often equal an earlier column. Numbers that many rows hold, such as 0, are equal by chance
// and are levels of their columns anyway: they do not count where they make up much of the equal rows.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "tables/kinds/kind.h"
#include "tables/rules/find/factors.h"
#include "tables/rules/find/search.h"
#include "tables/rules/kinds/computed.h"
#include "tables/rules/kinds/repeat.h"
#include "tables/rules/rule/columns.h"
#include "tables/sequence/sequences.h"

namespace tessera {
namespace {

constexpr size_t kMaxRepeatColumns = 300;  // the work grows with their square
constexpr double kMinRepeats = 0.02;       // of the rows; rarer copies are not worth a level
constexpr double kOverChance = 4;          // relative to shuffled rows
constexpr double kNear = 2;                // units of the last digit
constexpr double kOfRepeats = 0.1;         // of the repeats, that a number which many rows hold may have

// The next number of two significant digits, away from others.
double outwards(double x, bool up) {
  if (x == 0) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(x))) - 1);
  return (up ? std::ceil(x / unit) : std::floor(x / unit)) * unit;
}

// A column in the rows of a search.
struct SearchedNumbers {
  int column;
  std::vector<double> proposing, testing;
  std::unordered_map<double, size_t> often;  // rows that hold each number, where they are many

  SearchedNumbers(const RuleSearch& search, int j)
      : column(j),
        proposing(numbers_in(search.column(j), search.proposing)),
        testing(numbers_in(search.column(j), search.testing)),
        often(frequent_numbers(proposing)) {}
};

class Repeats {
 public:
  Repeats(const RuleSearch& search, const std::vector<FoundRule>& bounds) : search_(search) {
    for (int j = 0; j < static_cast<int>(search.columns()) && all_.size() < kMaxRepeatColumns; ++j) {
      const Column& c = search.column(j);
      if (!search.usable(j) || !is_ordered(c) || !learned_as(bounds, c.name).empty()) continue;
      all_.emplace_back(search, j);
      c.relax();
    }
    searched_.resize(all_.size());
  }

  // Last columns first: a column is reduced before the columns that it repeats.
  std::vector<FoundRule> find() {
    search_.team.for_each(static_cast<int64_t>(all_.size()), [&](int64_t k) { look(static_cast<size_t>(k)); });
    std::vector<FoundRule> out;
    for (size_t k = all_.size(); k-- > 0;)
      if (const Repeated& r = searched_[k]; r.of >= 0) {
        const Computed repeat{all_[k].column, quoted_name(search_.column(r.of).name)};
        if (auto found = repeated_rule(search_, repeat, {0, r.held_out, r.chance})) out.push_back(std::move(*found));
      }
    return out;
  }

 private:
  struct Repeated {
    int of = -1;  // the earlier column
    double share = 0, chance = 0;
    int64_t held_out = 0;
  };

  // Rows in which x repeats `of` of the row `shift` further on.
  static double equal_rows(const SearchedNumbers& x, const std::vector<double>& numbers, const std::vector<double>& of,
                           size_t shift) {
    size_t rows = 0;
    std::unordered_map<double, size_t> frequent;
    for (size_t i = 0, n = numbers.size(); i < n; ++i) {
      if (numbers[i] != of[(i + shift) % n]) continue;
      ++rows;
      if (x.often.contains(numbers[i])) ++frequent[numbers[i]];
    }
    double out = static_cast<double>(rows);
    for (const auto& [number, times] : frequent)
      if (static_cast<double>(times) > kOfRepeats * static_cast<double>(rows)) out -= static_cast<double>(times);
    return out;
  }

  // Neighbouring numbers are as frequent as equal ones where columns are close to each other.
  double near_rows(const SearchedNumbers& x, const SearchedNumbers& of) const {
    const int digits = digits_of(search_.column(x.column));
    if (digits == kAllDigits) return 0;
    const double reach = (kNear + .5) * std::pow(10.0, -digits);
    double rows = 0;
    for (size_t i = 0; i < x.testing.size(); ++i)
      rows += x.testing[i] != of.testing[i] && std::abs(x.testing[i] - of.testing[i]) < reach;
    return rows;
  }

  // Of the columns before it, the one that it repeats most.
  void look(size_t k) {
    const SearchedNumbers& x = all_[k];
    for (size_t before = 0; before < k; ++before) {
      const SearchedNumbers& of = all_[before];
      if (!comparable(search_.column(x.column), search_.column(of.column))) continue;
      const auto proposing = static_cast<double>(x.proposing.size()), testing = static_cast<double>(x.testing.size());
      if (equal_rows(x, x.proposing, of.proposing, 0) < kMinRepeats * proposing) continue;
      const double equal = equal_rows(x, x.testing, of.testing, 0);
      const double chance = equal_rows(x, x.testing, of.testing, 1) + 1;  // shares of few rows are uncertain
      if (equal < kMinRepeats * testing || equal < kOverChance * chance || equal < near_rows(x, of)) continue;
      if (equal / testing > searched_[k].share)
        searched_[k] = {of.column, equal / testing, chance / testing, static_cast<int64_t>(equal)};
    }
  }

  const RuleSearch& search_;
  std::vector<SearchedNumbers> all_;
  std::vector<Repeated> searched_;  // of each
};

}  // namespace

std::optional<FoundRule> repeated_rule(const RuleSearch& search, const Computed& rule, Evidence evidence) {
  const Column& c = search.column(rule.target);
  const Arithmetic expression = parse_arithmetic(rule.expression, search.table, "a rule");
  std::vector<double> copied;
  bool missing = false;
  for (size_t i = 0; i < c.numbers.size(); ++i) {
    const double given = exact_value(expression, search.table, i, c);
    missing |= c.numbers[i] != c.numbers[i] || given != given;
    if (same_number(c.numbers[i], given, c, rule.rounded)) copied.push_back(c.numbers[i]);
  }
  std::vector<const Column*> columns = search.columns_at(columns_of(expression));
  for (const Column* of : columns) of->relax();
  columns.push_back(&c), c.relax();
  // Means over the min number of rows per stored number, and not to the last digit: other stored numbers are means of
  // some of the same rows.
  const auto some = static_cast<size_t>(search.holders.least(columns));
  if (copied.size() < 2 * some) return {};
  std::sort(copied.begin(), copied.end());
  const auto mean = [&](auto from) {
    double sum = 0;
    for (size_t i = 0; i < some; ++i) sum += *from++;
    return sum / static_cast<double>(some);
  };
  evidence.rows = static_cast<int64_t>(copied.size());
  const double share = static_cast<double>(evidence.rows) / static_cast<double>(search.table.rows);
  const std::string choice = missing ? free_name(search.table, "source of " + c.name) : "";
  return FoundRule{make_rule(RepeatData{head_of(c),
                                        rule.expression,
                                        {rule.rounded},
                                        choice,
                                        share,
                                        outwards(mean(copied.begin()), false),
                                        outwards(mean(copied.rbegin()), true)}),
                   evidence};
}

std::vector<FoundRule> find_repeats(const RuleSearch& search, const std::vector<FoundRule>& bounds) {
  return Repeats(search, bounds).find();
}

}  // namespace tessera
