#include "models/rules/kinds/kinds.h"

#include "engine/text/json_fields.h"
#include "models/rules/kinds/band.h"
#include "models/rules/kinds/bound.h"
#include "models/rules/kinds/computed.h"
#include "models/rules/kinds/cycle.h"
#include "models/rules/kinds/form.h"
#include "models/rules/kinds/function.h"
#include "models/rules/kinds/grid.h"
#include "models/rules/kinds/joint.h"
#include "models/rules/kinds/key.h"
#include "models/rules/kinds/missing.h"
#include "models/rules/kinds/rate.h"
#include "models/rules/kinds/repeat.h"
#include "models/rules/kinds/rising.h"
#include "models/rules/kinds/running.h"

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
