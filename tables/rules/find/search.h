// Shared by the finders of rules. Some rows propose a rule; it must then hold in all rows, and is tested on held-out
// rows, where it would be violated if the columns were independent (evidence_of()).
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tables/expression/arithmetic.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/rules/find/holders.h"
#include "tables/rules/rule/rule_of.h"
#include "tables/rules/rules.h"

namespace tessera {

class RuleSearch {
 public:
  static constexpr int64_t kMinRows = 50;  // with fewer rows, chance explains anything
  // A rule that holds by chance in more of the rows than this restricts too little to be worth its place.
  static constexpr double kMaxChance = 0.98;

  RuleSearch(Table& table, const RuleOptions& options, const Holders& holders, Team& team);

  Table& table;
  const RuleOptions& options;
  const Holders& holders;
  Team& team;
  std::vector<int64_t> proposing, testing;  // rows in random order; no row is in both
  bool usual = false;                       // searches for rules that hold in most rows
  bool complete = false;                    // for rules of columns that are missing in the same rows
  // Whether an expression of these columns may compute this one; empty: always.
  std::function<bool(int target, const std::vector<int>& of)> may_compute;
  bool may_give(int target, const std::vector<int>& of) const { return !may_compute || may_compute(target, of); }
  // Columns that expressions compute.
  std::vector<std::pair<int, std::string>> computed;
  // Columns whose missing cells follow from others, and from which.
  struct MissingBy {
    std::string column, by;
  };
  std::vector<MissingBy> missing_by;
  // By column: whether its missing cells count as 0, as those of discounts that few receipts have; empty: none do.
  std::vector<char> zeros;
  bool blank_is_0(int j) const { return !zeros.empty() && zeros[static_cast<size_t>(j)] != 0; }

  size_t columns() const { return table.columns.size(); }
  const Column& column(int j) const { return table.columns[static_cast<size_t>(j)]; }
  std::vector<const Column*> columns_at(const std::vector<int>& places) const;
  // Whether rules may use a column: neither constant nor regenerated, and not excluded.
  bool usable(int j) const { return in_rules(j) && !kind_of(column(j)).regenerated; }
  bool in_rules(int j) const;  // the same, or regenerated
  // Whether a computed cell may be missing, or be present where an input is missing: for tables of rows. Steps of
  // sequences are not learned beside their inputs.
  bool gaps_may_be() const { return options.by_rejection && !complete; }
  // A search for rules that hold in most rows. Few rows propose, the `draw`-th subset: in some draw no proposing row is
  // an exception.
  RuleSearch of_most_rows(size_t draw) const;
  // A search for sums and products in which a missing number counts as 0, of columns in which enough rows or keys miss
  // one; it computes none of these.
  RuleSearch with_blanks_as_0() const;
  bool lacks(int j, int64_t row) const { return !blank_is_0(j) && column(j).is_missing(row); }
  // Whether a column has few values beside another one, as fees and days of tests have: computed from numbers of many
  // values it would have as many.
  static bool are_few(size_t values, size_t of) { return 10 * values <= of; }
  // Whether a tenth of the proposing rows hold the same number, such as a discount of 0: computed from other numbers,
  // a column would hardly have it again.
  bool has_peak(int j) const;
  // Whether the proposing rows hold enough combinations of these columns for that many numbers of an expression.
  bool has_enough_for(size_t numbers, const std::vector<int>& columns) const;
  // A column as an expression names it: discount, or coalesce(discount, 0).
  std::string name_of(int j) const;
  // Its numbers in these rows; releases its pages.
  std::vector<double> numbers_of(int j, const std::vector<int64_t>& rows) const;
  // Whether some cells of the proposing rows are missing, but fewer than a quarter: finders that read a few complete
  // rows want these there.
  bool misses_few(const Column& column) const;
  // The vote of a row for evidence_of() if the target's cell or an input is missing: −1, ignored; 0, a violation, if
  // only one of them is missing and gaps are not allowed. `own`: both belong to one row, whose gap is recorded.
  int of_missing(bool target, bool given, bool own, bool& gaps) const {
    const bool alone = target != given;
    gaps |= alone && own;
    return alone && !gaps_may_be() ? 0 : -1;
  }
  // How a column with gaps, or one that is `learned` beside its inputs, is learned; else nothing.
  Seen seen_as(const Column& target, bool gaps, bool learned = false) const;
  // The largest number of a column, or the smallest, if that many rows or keys hold it: a limit, such as 100 points.
  double limit_of(const Column& column, bool largest, int64_t least) const;
  // The index of sequences, which other columns may refer to and which no rule changes; −1: none.
  int index() const;
  // The first `limit` of the usable columns that are `wanted`.
  template <class Wanted>
  std::vector<int> usable_columns(size_t limit, Wanted&& wanted) const {
    std::vector<int> out;
    for (int j = 0; j < static_cast<int>(columns()) && out.size() < limit; ++j)
      if (usable(j) && wanted(column(j))) out.push_back(j);
    return out;
  }
  std::vector<int> usable_numbers(size_t limit) const { return usable_columns(limit, is_ordered); }
  std::vector<int> usable_texts() const { return usable_columns(SIZE_MAX, has_texts); }

  // The number of rows that satisfy the rule: holds(row, row) is 1. nullopt if a row violates it.
  template <class Holds>
  std::optional<int64_t> kept_rows(Holds&& holds) const {
    int64_t rows = 0;
    for (int64_t row = 0; row < table.rows; ++row) {
      const int here = holds(row, row);
      if (here == 0) return {};
      rows += here > 0;
    }
    return rows;
  }

  // holds(row, other): 1 if the rule holds in `row` with the target's value of `other`, 0 if not, −1 if the rule does
  // not apply to the row. nullopt if a held-out row violates the rule, or if chance explains it (corrected for `tried`
  // candidates).
  template <class Holds>
  std::optional<Evidence> evidence_of(Holds&& holds, double tried, double most = kMaxChance) const {
    Evidence e;
    for (const int64_t row : proposing)
      if (holds(row, row) == 0) return {};
    for (const int64_t row : testing) {
      const int said = holds(row, row);
      if (said == 0) return {};
      e.held_out += said > 0;
    }
    double kept = 1, said = 1;  // one row more that keeps it, as shares of few rows are uncertain
    for (size_t shift = 1; shift <= kShifts && shift < testing.size(); ++shift)
      for (size_t i = 0; i < testing.size(); ++i) {
        const int by_chance = holds(testing[i], testing[(i + shift) % testing.size()]);
        kept += by_chance > 0, said += by_chance >= 0;
      }
    e.chance = kept / said;
    if (!beyond_chance(e.held_out, e.chance, tried, most)) return {};
    const auto rows = kept_rows(holds);
    if (!rows) return {};
    e.rows = *rows;
    return e;
  }

  // Whether more rows satisfy the rule than chance would give for one of `tried` candidates; `most`: of the rows, by
  // chance.
  static bool beyond_chance(int64_t rows, double chance, double tried, double most = kMaxChance);

 private:
  static constexpr size_t kShifts = 3;  // pairings of the testing rows with each other's values
};

// For messages: what is learned in place of a column by one of these rules; "": the column.
std::string learned_as(const std::vector<FoundRule>& rules, const std::string& column);

// Codes of a column in the proposing and testing rows, numbered by the proposing rows; −1: missing or unseen.
struct Labels {
  int column;
  bool text;
  int32_t levels = 0;
  int32_t blank = -1;  // that of missing cells; −1: proposing rows have none
  std::vector<int32_t> proposing, testing;
};
inline constexpr size_t kMaxDistinctNumbers = 1000;  // of a column that combinations are of
// Of a column of more than `most` numbers, the labels of the first rows.
Labels labels_of(const RuleSearch& search, int column, size_t most = kMaxDistinctNumbers);
// Equal for rows with the same cells in these columns.
uint64_t combination_key(const RuleSearch& search, const std::vector<int>& columns, int64_t row);

// The rules that were found, without the empty entries.
std::vector<FoundRule> those_found(std::vector<std::optional<FoundRule>> found);

// The numbers of a column in these rows; releases its pages.
std::vector<double> numbers_in(const Column& c, const std::vector<int64_t>& rows);

// A column and the expression that computes it.
struct Computed {
  int target = -1;
  std::string expression;
  // How many of its numbers were rounded separately: a row may be off by half a unit of the last digit for each.
  double rounded = 1;
  bool shares = false;  // of a whole, which is a constant
};

// Random row access pulls a spilled column fully into memory; finders evict one column before reading the next.

// Finders by kind of rule. Those that remove a column return the first rule found, because the next search runs on the
// reduced table.
std::optional<FoundRule> find_copy(const RuleSearch& search);         // a = b, of texts
std::optional<FoundRule> find_composed(const RuleSearch& search);     // a = b || ' ' || c, of texts and whole numbers
std::optional<FoundRule> find_multiple(const RuleSearch& search);     // a = c·b, or another power of b
std::optional<FoundRule> find_sum(const RuleSearch& search);          // a = c0 + c1·b + …, a = b among them
std::optional<FoundRule> find_curve(const RuleSearch& search);        // a = c0 + c1·f(b), f one of four functions
std::optional<FoundRule> find_extremes(const RuleSearch& search);     // a = greatest(b, c, …), or the least of them
std::vector<FoundRule> find_usual_sums(const RuleSearch& search);     // the same, in most rows
std::optional<FoundRule> find_product_sum(const RuleSearch& search);  // a = c0 + c1·b·c + c2·d + …
std::optional<FoundRule> find_product(const RuleSearch& search);      // a = c0·b·c, a = c0·b·(1 − c)/d²
std::optional<FoundRule> find_functions(const RuleSearch& search);    // a is the month of b, or another function of it
std::optional<FoundRule> find_between(const RuleSearch& search);      // a is the whole days from b to c
std::vector<FoundRule> find_spelled(const RuleSearch& search);        // numbers that spell dates or times: 1730
// a is b and some calendar months: a number, or as a category says
std::optional<FoundRule> find_added_months(const RuleSearch& search);
std::optional<FoundRule> find_rates(const RuleSearch& search);     // a = b·c0 or b + c0, with a c0 of each category
std::optional<FoundRule> find_bands(const RuleSearch& search);     // a follows from the band of b
std::optional<FoundRule> find_compared(const RuleSearch& search);  // a of two values follows from b - c, or b / c
// Before a rule computes a numeric column: the categories that follow from its bands, except inputs of the rule.
std::vector<FoundRule> find_bands_of(const RuleSearch& search, const TableRule& computes);
// For a column computed up to rounding, such as tax = 0.19·amount: an exact sum that contains it, such as total =
// amount + tax. Without the column only total = 1.19·amount could be found.
std::optional<FoundRule> find_total(const RuleSearch& search, const FoundRule& given);
// Before a rule computes a number: columns that follow from it alone, such as age = 2024 - born, where born is the year
// of a date.
std::vector<FoundRule> find_lines_of(const RuleSearch& search, const TableRule& computes);
// For a sum that is also a product: computes its last term instead, such as interest = paid - amount, where paid =
// payment * months. If the sum were computed from its terms, the product would not be found.
std::optional<FoundRule> find_part(const RuleSearch& search, const FoundRule& sum);
bool is_product_of_others(const RuleSearch& search, int column, const std::vector<int>& but);
std::vector<FoundRule> find_missing(const RuleSearch& search);       // missing exactly where
std::vector<FoundRule> find_combinations(const RuleSearch& search);  // few combinations of levels
// One value of each combination of two columns; none of columns in `but`.
std::vector<FoundRule> find_lookups(const RuleSearch& search, const std::vector<std::string>& but);
// Columns with the same values that are never equal, as expressions to check, unless a combination has both.
std::vector<std::string> find_unequal(const RuleSearch& search, const std::vector<FoundRule>& combinations);
// A column that counts the rows of each value of another one: the lines of orders.
std::optional<FoundRule> find_keys(const RuleSearch& search);
// That no pair of these occurs twice. Error(data) where one does, or where a model may not know enough values.
FoundRule key_rule(const RuleSearch& search, int outer, int inner);
// The rule that these columns occur in fixed combinations, regardless of chance; nullopt if there are too many
// combinations, or protection would change too many rows.
std::optional<FoundRule> joint_rule(const RuleSearch& search, std::vector<int> columns);
// a >= b, the upper columns first, as reduce() needs them; `given`: those that need no evidence
// Unless `fresh` is empty, only those with a column of that name.
struct GivenBound {
  int lower, upper;
  bool strict = false;  // a > b
};
std::vector<FoundRule> find_bounds(const RuleSearch& search, const std::vector<GivenBound>& given,
                                   const std::vector<std::string>& fresh = {});
// Pairs of which the first column is never above the second one, but for those that two others imply.
std::vector<std::pair<int, int>> find_orders(const RuleSearch& search);
std::vector<std::string> in_order_with_index(
    const RuleSearch& search);  // columns for which find_bounds() finds an order with the index
// Dates that are all the first, or all the last, of a month.
std::vector<FoundRule> find_months(const RuleSearch& search);
// Dates and times that are never on some weekdays.
std::vector<FoundRule> find_weekdays(const RuleSearch& search);
// Dates that are more frequent on some weekdays; or times, in some hours.
std::vector<FoundRule> find_cycles(const RuleSearch& search, bool times);
// The same of times in opening hours that their distance to the columns below them in these orders would not keep.
std::vector<FoundRule> find_hours(const RuleSearch& search, const std::vector<std::pair<int, int>>& orders);
std::vector<FoundRule> find_remainders(
    const RuleSearch& search);  // of whole numbers, if informative about another column
// a = b in many rows, but not in all; columns that `bounds` put distances in the place of have none. In the order in
// which they reduce.
std::vector<FoundRule> find_repeats(const RuleSearch& search, const std::vector<FoundRule>& bounds);
// Columns of sequences that change by others from step to step.
std::vector<FoundRule> find_running(const RuleSearch& search);
// Columns that never decrease within the key of sequences; none without a key. `beside_index`: columns learned as their
// distance to the index.
std::vector<FoundRule> find_rising(const RuleSearch& search, const std::vector<std::string>& beside_index);
// Numbers whose decimals a category decides.
std::vector<FoundRule> find_digits(const RuleSearch& search);
// Multiples; of distances that `bounds` put in the place of columns too.
std::vector<FoundRule> find_grids(const RuleSearch& search, const std::vector<FoundRule>& bounds);

// The rule that the expression computes the column, if it does in every row, or, in a search for rules of most rows, in
// most; `given`: chance is ignored.
std::optional<FoundRule> computed_rule(const RuleSearch& search, const Computed& rule, double tried,
                                       bool given = false);

// The rule that the expression computes the column in many rows, with their number as evidence; nullopt if there are
// too few.
std::optional<FoundRule> usual_rule(const RuleSearch& search, const Computed& rule, double tried);  // in most rows
std::optional<FoundRule> repeated_rule(const RuleSearch& search, const Computed& rule, Evidence evidence);

// Columns of numbers in the same units: numbers, dates, or times.
bool comparable(const Column& a, const Column& b);
bool have_order(const Column& a, const Column& b);  // comparable, or points in time

}  // namespace tessera
