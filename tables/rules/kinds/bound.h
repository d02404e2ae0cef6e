// A column that is never below others: end >= start; or, of sequences, never above their index: opened <= date.
#pragma once
#include "tables/rules/rule/rule_of.h"

namespace tessera {

// Values that many rows of a later column take regardless of its distance to the others, and frequent days such as the
// last of a month: a distance would not preserve them.
struct FixedDay {
  const char* function;  // of rule/functions.h, which computes the day; a date is on it if it equals the result
  double step;           // days to the next one, at most
};
struct FixedValues {
  std::vector<double> values;         // ascending
  std::vector<const FixedDay*> days;  // a row has the first of them that its date is on
  std::string column;                 // of the choice among them; "": there are none
  double high = kMissing;             // no distance leads beyond it; NaN: wherever

  static std::span<const FixedDay> all_days();
  // The day of its kind that is x, or before or after it in the same month or year, as the kind has it.
  static double day_of(const FixedDay& day, const Column& c, double x);
};

// How the distance is counted.
struct Distance {
  bool down = false;                     // from the smallest of the others, which are above
  std::vector<std::string> strict = {};  // the others that the column never equals
  std::vector<std::string> by_day = {};  // the times of which a date is never before their day
};

// The distance to the largest of them is learned instead, and, in another column, which fixed value the row has.
struct BoundData {
  static constexpr const char* kKind = "bound";
  Column target;                    // without rows
  std::vector<std::string> others;  // the columns it is not below, or above: of its kind, present where it is
  FixedValues fixed = {};
  Distance distance = {};

  static constexpr std::tuple kFields{std::pair{"column", &BoundData::target},
                                      std::pair{"not_below", &BoundData::others}, std::pair{"", &BoundData::fixed},
                                      std::pair{"", &BoundData::distance}};
  void check(const Fields& f) const;
};
// A number of the lower column in the unit of the upper one; `by_day`: the day of a time.
double as_bound(const Column& upper, const Column& lower, double x, bool by_day);
void write_field(nlohmann::json& out, const char* name, const FixedValues& fixed);
void read_field(const Fields& f, const char* name, FixedValues& fixed);
void write_field(nlohmann::json& out, const char* name, const Distance& distance);
void read_field(const Fields& f, const char* name, Distance& distance);
RulePtr make_rule(BoundData data);

// For orders that few rows would violate by chance: the column is learned unchanged, which preserves its dependence on
// others better than a distance, and violating rows are drawn again.
struct LooseBoundData {
  static constexpr const char* kKind = "loose bound";
  Column target;
  std::vector<std::string> others;

  static constexpr std::tuple kFields{std::pair{"column", &LooseBoundData::target},
                                      std::pair{"not_below", &LooseBoundData::others}};
  void check(const Fields& f) const;
};
RulePtr make_rule(LooseBoundData data);

}  // namespace tessera
