// Writes regression factors as an expression, and chooses the column to compute.
#pragma once
#include <string>
#include <vector>

#include "tables/rules/find/search.h"

namespace tessera {

struct Term {
  int column;
  double factor;
  int times = -1;  // of a product: the other column
};

// "3.99 * items + extras - 5", "start + days", "start + 2 / 24", "(end - start) * 24",
// "86400 * (start - '1970-01-01')". `calendar`: the sum is a date or a time.
std::string sum_text(const RuleSearch& search, std::vector<Term> terms, double constant, bool calendar);
// Whether an expression exists for the sum: days are added to a date, two dates subtracted, and numbers count from
// 1970.
bool has_text(const RuleSearch& search, const std::vector<Term>& terms, bool calendar);
// The sum as the rule of the column that is the sum of the others, if there is one, else of the target.
Computed solved(const RuleSearch& search, const std::vector<Term>& terms, int target, double constant);
// The same as the rule of a column of many values, where that one has few; nullopt: it has not.
std::optional<Computed> most_varied(const RuleSearch& search, std::vector<Term> terms, int target, double constant);
// hours = 24 * (end - start) as end = start + hours / 24: a date cannot come out too early.
std::optional<Computed> later_date(const RuleSearch& search, const std::vector<Term>& terms, int target,
                                   double constant);
// at = seconds / 86400 days after 1970, as seconds = 86400 * (at - '1970-01-01'): the time stays a column, with its
// weekdays and its order with other times.
std::optional<Computed> count_of(const RuleSearch& search, const std::vector<Term>& terms, int target, double constant);
// The identity Σ factor·column = 0 as the rule of one of its columns.
Computed solved_for(const RuleSearch& search, const std::vector<Term>& identity, int target);

}  // namespace tessera
