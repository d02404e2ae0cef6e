#include "tables/rules/kinds/kinds.h"

#include "base/text/json_fields.h"
#include "tables/rules/kinds/band.h"
#include "tables/rules/kinds/bound.h"
#include "tables/rules/kinds/computed.h"
#include "tables/rules/kinds/cycle.h"
#include "tables/rules/kinds/form.h"
#include "tables/rules/kinds/function.h"
#include "tables/rules/kinds/grid.h"
#include "tables/rules/kinds/joint.h"
#include "tables/rules/kinds/key.h"
#include "tables/rules/kinds/missing.h"
#include "tables/rules/kinds/rate.h"
#include "tables/rules/kinds/repeat.h"
#include "tables/rules/kinds/rising.h"
#include "tables/rules/kinds/running.h"

namespace tessera {
namespace {

constexpr std::pair<const char*, std::unique_ptr<const TableRule> (*)(const Fields&)> kRuleKinds[] = {
    {"computed", ComputedRule::read}, {"combinations", JointRule::read},
    {"bound", BoundRule::read},       {"loose bound", LooseBoundRule::read},
    {"bands", BandRule::read},        {"missing", MissingRule::read},
    {"grid", GridRule::read},         {"month", MonthRule::read},
    {"rates", RateRule::read},        {"repeat", RepeatRule::read},
    {"cycle", CycleRule::read},       {"rising", RisingRule::read},
    {"falling", FallingRule::read},   {"form", FormRule::read},
    {"function", FunctionRule::read}, {"spelled", SpelledRule::read},
    {"key", KeyRule::read},           {"running", RunningRule::read}};

}  // namespace

std::unique_ptr<const TableRule> read_rule(const Fields& f) {
  const std::string kind = f.text("kind");
  for (const auto& [name, read] : kRuleKinds)
    if (kind == name) return read(f);
  f.fail("has a rule of the kind \"" + kind + "\", which this version does not know");
}

std::vector<std::string> rule_kinds() {
  std::vector<std::string> out;
  for (const auto& [name, read] : kRuleKinds) out.emplace_back(name);
  return out;
}

}  // namespace tessera
