// A column whose missing cells follow from another column: delivered is null exactly where status is 'open'.
#pragma once
#include "tables/rules/rule/rule_of.h"

namespace tessera {

// The condition on the other column: it is missing, or present, or has one of some values; or a number is below a cut,
// or not.
struct MissingWhere {
  enum class Says { missing, present, values, below, from };
  std::string column;
  Says says = Says::missing;
  std::vector<std::string> values;  // of a text column, each with enough rows for a category
  bool or_missing = false;          // values, below, from: or the column is missing
  double cut = 0;                   // below, from

  bool by_cut() const { return says == Says::below || says == Says::from; }
  bool says_number(double x) const { return x != x ? or_missing : says == Says::below ? x < cut : x >= cut; }
};

struct MissingData {
  static constexpr const char* kKind = "missing";
  static constexpr auto kMakes = TableRule::Makes::missing;
  std::string column;
  MissingWhere where;

  static constexpr std::tuple kFields{std::pair{"column", &MissingData::column}, std::pair{"", &MissingData::where}};
};
void write_field(nlohmann::json& out, const char* name, const MissingWhere& where);
void read_field(const Fields& f, const char* name, MissingWhere& where);
RulePtr make_rule(MissingData data);

}  // namespace tessera
