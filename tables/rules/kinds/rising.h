// A column of a sequence that never decreases from step to step, such as a meter reading; or never increases, such as
// the rest of a budget. It is learned as its first value, once per sequence, and as nonnegative differences
// (SequenceOptions::rising; cut() and decode() convert).
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

// Negated, it never decreases: the negated numbers replace it until rows are restored.
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
