#include "tables/rules/kinds/repeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/json_fields.h"
#include "tables/expression/arithmetic.h"
#include "tables/rules/rule/columns.h"

namespace tessera {

std::string RepeatRule::text() const {
  return fmt::format("{} = {} in {:.1f} % of the rows", quoted_name(column_), quoted_name(of_), 100 * share_);
}

void RepeatRule::reduce(Table& table, Team&) const {
  const Column& of = numbers_of(table, of_);
  for (size_t i = 0; double& x : numbers_of(table, column_).numbers)
    if (x == of.numbers[i++]) x = kMissing;
}

void RepeatRule::restore(Table& rows) const {
  const Column& of = numbers_of(rows, of_);
  Column& c = numbers_of(rows, column_);
  const int digits = digits_of(c);
  for (size_t i = 0; double& x : c.numbers) {
    const double repeated = of.numbers[i++];
    if (x != x) x = rounded(std::clamp(repeated, low_, high_), digits);
  }
}

nlohmann::json RepeatRule::to_json() const {
  return {{"kind", kind()}, {"column", column_}, {"of", of_}, {"share", share_}, {"low", low_}, {"high", high_}};
}

std::unique_ptr<const TableRule> RepeatRule::read(const Fields& f) {
  const double share = f.number("share"), low = f.number("low"), high = f.number("high");
  f.check(share >= 0 && share <= 1 && low <= high, "has a column that repeats another one in no range");
  std::string column = f.text("column"), of = f.text("of");
  f.check(column != of, "has a column that repeats itself");
  return std::make_unique<RepeatRule>(std::move(column), std::move(of), share, low, high);
}

}  // namespace tessera
