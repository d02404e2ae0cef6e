// A column of a sequence that never falls from one step to the next: the reading of a meter; or that never rises: what
// is left of a budget. It is learned as its first value, once per sequence, and as differences of 0 or more, as
// SequenceOptions::rising says to cut() and decode().
#pragma once
#include "tables/rules/rule/rule_of.h"

namespace tessera {

struct RisingData {
  static constexpr const char* kKind = "rising";
  static constexpr auto kMakes = TableRule::Makes::steps;
  std::string column, key, index;  // no index: rows are in the order of the file

  static constexpr std::tuple kFields{std::pair{"column", &RisingData::column}, std::pair{"key", &RisingData::key},
                                      std::pair{"index", &RisingData::index}};
};
RulePtr make_rule(RisingData data);

// The same of a column that is learned as its distance to the index: it takes the value of the step before where its
// own would be below it.
struct HeldData {
  static constexpr const char* kKind = "held";
  std::string column, key, index;

  static constexpr std::tuple kFields{std::pair{"column", &HeldData::column}, std::pair{"key", &HeldData::key},
                                      std::pair{"index", &HeldData::index}};
};
RulePtr make_rule(HeldData data);

// Its negative numbers never fall: they stand in its place until rows are restored.
struct FallingData {
  static constexpr const char* kKind = "falling";
  static constexpr auto kMakes = TableRule::Makes::steps;
  Column target;  // without rows
  std::string key, index;

  static constexpr std::tuple kFields{std::pair{"column", &FallingData::target}, std::pair{"key", &FallingData::key},
                                      std::pair{"index", &FallingData::index}};
  void check(const Fields& f) const;
};
RulePtr make_rule(FallingData data);

}  // namespace tessera
