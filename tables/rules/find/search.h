// What finders of rules share: which rows propose a rule, which ones test it, and when chance explains it. A rule is
// proposed by some rows of a table, must then hold in all of them, and is tested on rows that did not propose it: it
// would have to be broken there if the columns had nothing to do with each other (evidence_of()).
#pragma once
#include <cstdint>
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
  static constexpr int64_t kLeastRows = 50;  // below, nothing can be told from chance
  // A rule that holds by chance in more of the rows than this restricts too little to be worth its place.
  static constexpr double kMaxChance = 0.98;

  RuleSearch(Table& table, const RuleOptions& options, const Holders& holders, Team& team);

  Table& table;
  const RuleOptions& options;
  const Holders& holders;
  Team& team;
  std::vector<int64_t> proposing, testing;  // rows in random order; no row is in both
  bool usual = false;                       // looks for what most rows keep
  std::vector<std::string> filled;          // columns whose missing cells follow from others

  size_t columns() const { return table.columns.size(); }
  const Column& column(int j) const { return table.columns[static_cast<size_t>(j)]; }
  std::vector<const Column*> columns_at(const std::vector<int>& places) const;
  // Whether rules may use a column: neither constant nor regenerated, and not set apart.
  bool usable(int j) const { return in_rules(j) && !kind_of(column(j)).regenerated; }
  bool in_rules(int j) const;  // the same, or regenerated
  // Whether a computed cell may be missing by itself, or be there where what it follows from is missing: of rows. Steps
  // of sequences are not learned beside what they follow from.
  bool gaps_may_be() const { return options.by_rejection; }
  // The same for what most rows keep. Few rows propose, the `draw`-th of them: some draw has none that breaks it.
  RuleSearch of_most_rows(size_t draw) const;
  // Whether some cells of the proposing rows are missing, but fewer than a quarter: finders that read a few complete
  // rows want these there.
  bool misses_few(const Column& column) const;
  // What a row says in which the target's cell, or what gives it, is missing, for evidence_of(): nothing, or, where one
  // of them is there and may not be, that the rule is broken. `own`: both are of one row, whose gap is noted.
  int of_missing(bool target, bool given, bool own, bool& gaps) const {
    const bool alone = target != given;
    gaps |= alone && own;
    return alone && !gaps_may_be() ? 0 : -1;
  }
  // What a column with gaps, or one that is `learned` beside what gives it, is learned as; nothing otherwise.
  Seen seen_as(const Column& target, bool gaps, bool learned = false) const;
  // The index of sequences, which other columns may be counted from, and which stays as it is; −1: none.
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

  // Rows of the table that keep a rule: holds(row, row) is 1 there. None if one breaks it.
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

  // `holds` of (row, other): 1 if the rule holds in `row` with its column's value of `other`, 0 if not, −1 if the rule
  // does not apply to the row. None if a row breaks it, or if chance explains it, as `tried` rules were tested.
  template <class Holds>
  std::optional<Evidence> evidence_of(Holds&& holds, double tried) const {
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
    if (!beyond_chance(e.held_out, e.chance, tried)) return {};
    const auto rows = kept_rows(holds);
    if (!rows) return {};
    e.rows = *rows;
    return e;
  }

  // Whether this number of rows that keep a rule exceeds what chance gives one of `tried` rules.
  static bool beyond_chance(int64_t rows, double chance, double tried);

 private:
  static constexpr size_t kShifts = 3;  // pairings of the testing rows with each other's values
};

// For people, what is learned in the place of a column by one of these rules; "": the column.
std::string learned_as(const std::vector<FoundRule>& rules, const std::string& column);

// The values of a column in the rows that propose and test, numbered as the proposing rows show them; −1: none does.
struct Labels {
  int column;
  bool text;
  int32_t levels = 0;
  std::vector<int32_t> proposing, testing;
};
Labels labels_of(const RuleSearch& search, int column);

// Without the places of a search by columns at which nothing was found.
std::vector<FoundRule> those_found(std::vector<std::optional<FoundRule>> found);

// The numbers of a column in these rows; releases its pages.
std::vector<double> numbers_in(const Column& c, const std::vector<int64_t>& rows);

// A column and the expression that gives it in every row.
struct Computed {
  int target = -1;
  std::string expression;
  // Numbers of it that were rounded on their own: a row may be off by a half of the last digit for each.
  double rounded = 1;
  bool shares = false;  // of a whole, which is a constant
};

// Rows of a search lie all over a table: a column in scratch is in memory as a whole once they were looked at. Finders
// release the pages of one column before they look at the next.

// One of each kind, as the table shows them: those that take a column away return at the first one, so that the next is
// looked for in what is left.
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
std::optional<FoundRule> find_rates(const RuleSearch& search);        // a = b·c0 or b + c0, with a c0 of each category
std::optional<FoundRule> find_bands(const RuleSearch& search);        // a by the band that b lies in
// Of a column of numbers that a rule is to compute: the categories that its bands give, but for those that the rule
// needs.
std::vector<FoundRule> find_bands_of(const RuleSearch& search, const TableRule& computes);
// Of a column that others give but for rounding, as tax = 0.19·amount: a sum that it is part of and that holds to the
// last digit, as total = amount + tax. Without the column, total = 1.19·amount would be all that is left.
std::optional<FoundRule> find_total(const RuleSearch& search, const FoundRule& given);
// Of a number that a rule is to compute: the columns that it gives alone, as age = 2024 - born, where born is the year
// of a date.
std::vector<FoundRule> find_lines_of(const RuleSearch& search, const TableRule& computes);
// Of a sum whose column is a product of other columns too: the last of its parts as what is left of the sum, as
// interest = paid - amount, where paid = payment * months. Computed from its parts, the sum would not be looked at any
// more.
std::optional<FoundRule> find_part(const RuleSearch& search, const FoundRule& sum);
bool is_product_of_others(const RuleSearch& search, int column, const std::vector<int>& but);
std::vector<FoundRule> find_missing(const RuleSearch& search);       // missing exactly where
std::vector<FoundRule> find_combinations(const RuleSearch& search);  // few combinations of levels
// A column that counts the rows of each value of another one: the lines of orders.
std::optional<FoundRule> find_keys(const RuleSearch& search);
// That no pair of these occurs twice. Error(data) where one does, or where a model may not know enough values.
FoundRule key_rule(const RuleSearch& search, int outer, int inner);
// The rule that these columns occur in fixed combinations, whatever chance says; none where these are too many, or too
// many rows would lose theirs to protection.
std::optional<FoundRule> joint_rule(const RuleSearch& search, std::vector<int> columns);
// a >= b, the upper columns first, as reduce() needs them; `given`: those that need no evidence
// Unless `fresh` is empty, only those with a column of that name.
struct GivenBound {
  int lower, upper;
  bool strict = false;  // a > b
};
std::vector<FoundRule> find_bounds(const RuleSearch& search, const std::vector<GivenBound>& given,
                                   const std::vector<std::string>& fresh = {});
std::vector<std::string> in_order_with_index(const RuleSearch& search);  // those that find_bounds() would find
// Dates that are all the first, or all the last, of a month.
std::vector<FoundRule> find_months(const RuleSearch& search);
// Dates that are more frequent on some weekdays; or times, in some hours.
std::vector<FoundRule> find_cycles(const RuleSearch& search, bool times);
std::vector<FoundRule> find_remainders(const RuleSearch& search);  // of whole numbers, which tell another column
// a = b in many rows, but not in all; columns that `bounds` put distances in the place of have none. In the order in
// which they reduce.
std::vector<FoundRule> find_repeats(const RuleSearch& search, const std::vector<FoundRule>& bounds);
// Columns of sequences that change by others from step to step.
std::vector<FoundRule> find_running(const RuleSearch& search);
// Columns that never fall within the key of sequences; none without a key. `beside_index`: those that are learned as
// their distance to the index.
std::vector<FoundRule> find_rising(const RuleSearch& search, const std::vector<std::string>& beside_index);
// Multiples; of distances that `bounds` put in the place of columns too.
std::vector<FoundRule> find_grids(const RuleSearch& search, const std::vector<FoundRule>& bounds);

// The rule that a column is what the expression says, if it is in every row, or, in a search for such, in most of them;
// `given`: chance does not matter.
std::optional<FoundRule> computed_rule(const RuleSearch& search, const Computed& rule, double tried,
                                       bool given = false);

// The rule that a column is what the expression says in the rows where it is, of which there must be enough; with the
// number of them as its evidence.
std::optional<FoundRule> usual_rule(const RuleSearch& search, const Computed& rule, double tried);  // in most rows
std::optional<FoundRule> repeated_rule(const RuleSearch& search, const Computed& rule, Evidence evidence);

// Columns of numbers in the same units: numbers, dates, or times.
bool comparable(const Column& a, const Column& b);
bool have_order(const Column& a, const Column& b);  // comparable, or points in time

}  // namespace tessera
