// A number of sequences that changes by others from step to step: balance = balance of the step before + amount. The
// value before the first step is learned, once per sequence (SequenceOptions::firsts); the rest is computed.
#pragma once
#include <string_view>

#include "tables/rules/rule/rule_of.h"

namespace tessera {

struct RunningSteps {
  std::string key, index;  // as previous_rows() has them
  bool windows = false;    // of a table without a key: `key` is in sampled rows alone
  bool late = false;       // a step changes by the amounts of the previous step
};
std::vector<int32_t> steps_before(const Table& rows, const RunningSteps& steps);

struct RunningData {
  static constexpr const char* kKind = "running";
  static constexpr auto kMakes = TableRule::Makes::sums;
  Column target;     // without rows
  std::string name;  // of a column computed by `change` for every row: its change
  RulePtr change;
  RunningSteps steps;

  static constexpr std::tuple kFields{std::pair{"column", &RunningData::target}, std::pair{"name", &RunningData::name},
                                      std::pair{"change", &RunningData::change}, std::pair{"", &RunningData::steps}};
  void check(const Fields& f) const;
};
void write_field(nlohmann::json& out, const char* name, const RulePtr& change);
void read_field(const Fields& f, const char* name, RulePtr& change);
void write_field(nlohmann::json& out, const char* name, const RunningSteps& steps);
void read_field(const Fields& f, const char* name, RunningSteps& steps);
RulePtr make_rule(RunningData data);

// The time, or another number, from the step before to this one (gap), or from the first step to this one: seconds =
// those from the first time. Its first value is learned, once per sequence.
struct ElapsedData {
  static constexpr const char* kKind = "elapsed";
  static constexpr auto kMakes = TableRule::Makes::sums;
  Column target;     // without rows
  std::string of;    // the column that it is counted in
  double units = 1;  // of that one, in one of the target
  std::string unit;  // their name, such as minutes; of numbers none
  bool gap = false;
  RunningSteps steps;

  static constexpr std::tuple kFields{std::pair{"column", &ElapsedData::target}, std::pair{"of", &ElapsedData::of},
                                      std::pair{"units", &ElapsedData::units},   std::pair{"unit", &ElapsedData::unit},
                                      std::pair{"gap", &ElapsedData::gap},       std::pair{"", &ElapsedData::steps}};
  void check(const Fields& f) const;
};
RulePtr make_rule(ElapsedData data);
std::vector<int32_t> first_steps(const std::vector<int32_t>& before);  // of each row the first one of its sequence

// What the step before says: the value that another column had there (or, where it had none, the column's own, if
// that is never missing), or the greatest or least value of one so far. Its first value is learned, once per sequence,
// or is the other column's.
struct CarriedData {
  static constexpr const char* kKind = "carried";
  static constexpr auto kMakes = TableRule::Makes::sums;
  static constexpr std::string_view kHows[] = {"copy", "greatest", "least", "stays"};
  Column target;        // without rows
  std::string of, how;  // how: one of kHows
  bool begins = false;  // with the other column's value
  RunningSteps steps;

  static constexpr std::tuple kFields{std::pair{"column", &CarriedData::target}, std::pair{"of", &CarriedData::of},
                                      std::pair{"how", &CarriedData::how}, std::pair{"begins", &CarriedData::begins},
                                      std::pair{"", &CarriedData::steps}};
  void check(const Fields& f) const;
};
RulePtr make_rule(CarriedData data);

// Amounts by which a balance falls: columns that are never below 0, and that no other rule has read.
struct FloorAmounts {
  std::vector<std::string> names = {};
  bool first = false;    // all sequences begin with one balance: amounts are lowered before it is raised
  bool late = false;     // of the step before
  bool by_kind = false;  // a category says whether the amount is taken or added
};
// A balance that falls but is never below 0: where the steps of a sampled sequence would take it there, it begins
// higher; but if all sequences begin with one balance, the amounts of these steps are lowered. One that is given
// somewhere begins as it is given: its steps are drawn again, and in the end their amounts are lowered.
struct FloorData {
  static constexpr const char* kKind = "floor";
  std::string column, key;  // key: of sampled rows
  FloorAmounts amounts = {};

  static constexpr std::tuple kFields{std::pair{"column", &FloorData::column}, std::pair{"key", &FloorData::key},
                                      std::pair{"", &FloorData::amounts}};
};
void write_field(nlohmann::json& out, const char* name, const FloorAmounts& amounts);
void read_field(const Fields& f, const char* name, FloorAmounts& amounts);
RulePtr make_rule(FloorData data);

}  // namespace tessera
