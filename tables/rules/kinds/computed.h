// A column that an expression of the others gives: total = items + extras, price = 3.99 * items.
#pragma once
#include "tables/expression/arithmetic.h"
#include "tables/rules/rule/rule_of.h"

namespace tessera {

// Whether cells are missing where the expression has a value, or the other way round.
struct Gaps {
  bool any = false;
};
inline void write_field(nlohmann::json& out, const char* name, Gaps gaps) {
  if (gaps.any) out[name] = true;
}
inline void read_field(const Fields& f, const char* name, Gaps& gaps) { gaps.any = f.has(name) && f.flag(name); }

struct ComputedData {
  static constexpr const char* kKind = "computed";
  static constexpr auto kMakes = TableRule::Makes::values;
  Column target;   // without rows
  std::string is;  // arithmetic (tables/expression/arithmetic.h), or a column of texts
  Rounded rounded = {};
  // A column that is learned of the values, so that columns after them are drawn given them; "": none.
  std::string seen = {};
  // The other shares of a whole: the largest of all gives or takes what drawn ones differ from it.
  std::vector<std::string> shares = {};
  // Cells are missing where `seen` is, and have its value where nothing is computed.
  Gaps gaps = {};

  static constexpr std::tuple kFields{
      std::pair{"column", &ComputedData::target},   std::pair{"is", &ComputedData::is},
      std::pair{"rounded", &ComputedData::rounded}, std::pair{"seen", &ComputedData::seen},
      std::pair{"shares", &ComputedData::shares},   std::pair{"gaps", &ComputedData::gaps}};
  void check(const Fields& f) const;
};
RulePtr make_rule(ComputedData data);

// The value that an expression gives a column: in its units, not rounded; NaN where something is missing.
double exact_value(const Arithmetic& expression, const Table& rows, size_t row, const Column& target);

}  // namespace tessera
