// A column that others are never below, and that is missing in some rows. There the model learns a value within the
// bounds, so that the distance to it remains informative, and, in another column, where it is missing. The value
// depends on the row only, as everything learned of a row must.
#pragma once
#include "tables/rules/rule/rule_of.h"

namespace tessera {

struct FilledData {
  static constexpr const char* kKind = "filled";
  std::string column;
  std::vector<std::string> not_below = {}, not_above = {};  // where they are present
  std::string choice = {};                                  // the column that records where it is missing
  double distance = 0;                                      // from a filled cell to the lowest of those above it
  double otherwise = 0;  // the cell where all of these, and all below it, are missing
  double share = 0;      // of the rows, for people

  static constexpr std::tuple kFields{std::pair{"column", &FilledData::column},
                                      std::pair{"not_below", &FilledData::not_below},
                                      std::pair{"not_above", &FilledData::not_above},
                                      std::pair{"choice", &FilledData::choice}, std::pair{"share", &FilledData::share}};
  void check(const Fields& f) const;
};
RulePtr make_rule(FilledData data);

// The nearest of these columns in a row, as a number of `column`, from above or from below it; NaN where all are
// missing.
double nearest_end(const std::vector<const Column*>& ends, const Column& column, size_t row, bool above);

}  // namespace tessera
