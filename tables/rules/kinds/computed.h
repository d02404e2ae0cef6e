// A column computed by an expression of others: total = items + extras, price = 3.99 * items.
#pragma once
#include "tables/expression/arithmetic.h"
#include "tables/rules/rule/rule_of.h"

namespace tessera {

struct ComputedData {
  static constexpr const char* kKind = "computed";
  static constexpr auto kMakes = TableRule::Makes::values;
  Column target;   // without rows
  std::string is;  // arithmetic (tables/expression/arithmetic.h), or a column of texts
  Rounded rounded = {};
  Seen seen = {};
  // The other shares of a whole: in sampled rows the largest share absorbs the difference of their sum from it; of
  // steps of sequences, which learn the others alone, what they exceed it by.
  std::vector<std::string> shares = {};

  static constexpr std::tuple kFields{std::pair{"column", &ComputedData::target}, std::pair{"is", &ComputedData::is},
                                      std::pair{"rounded", &ComputedData::rounded}, std::pair{"", &ComputedData::seen},
                                      std::pair{"shares", &ComputedData::shares}};
};
RulePtr make_rule(ComputedData data);

// The value of an expression in the column's units, not rounded; NaN if an input is missing.
double exact_value(const Arithmetic& expression, const Table& rows, size_t row, const Column& target);

}  // namespace tessera
