#include "tables/rules/kinds/kinds.h"

#include "base/text/json_fields.h"
#include "tables/rules/kinds/band.h"
#include "tables/rules/kinds/bound.h"
#include "tables/rules/kinds/composed.h"
#include "tables/rules/kinds/computed.h"
#include "tables/rules/kinds/cycle.h"
#include "tables/rules/kinds/filled.h"
#include "tables/rules/kinds/form.h"
#include "tables/rules/kinds/function.h"
#include "tables/rules/kinds/grid.h"
#include "tables/rules/kinds/joint.h"
#include "tables/rules/kinds/key.h"
#include "tables/rules/kinds/lookup.h"
#include "tables/rules/kinds/missing.h"
#include "tables/rules/kinds/rate.h"
#include "tables/rules/kinds/repeat.h"
#include "tables/rules/kinds/rising.h"
#include "tables/rules/kinds/running.h"

namespace tessera {
namespace {

struct RuleKind {
  const char* name;
  RulePtr (*read)(const Fields& f);
};
template <class Data>
constexpr RuleKind kKindOf{Data::kKind, read_rule_of<Data>};

constexpr RuleKind kRuleKinds[] = {
    kKindOf<ComputedData>, kKindOf<JointData>,   kKindOf<BoundData>,   kKindOf<LooseBoundData>, kKindOf<BandData>,
    kKindOf<MissingData>,  kKindOf<GridData>,    kKindOf<MonthData>,   kKindOf<RateData>,       kKindOf<RepeatData>,
    kKindOf<CycleData>,    kKindOf<RisingData>,  kKindOf<FallingData>, kKindOf<FormData>,       kKindOf<DigitsData>,
    kKindOf<FunctionData>, kKindOf<SpelledData>, kKindOf<KeyData>,     kKindOf<RunningData>,    kKindOf<ComposedData>,
    kKindOf<FilledData>,   kKindOf<HeldData>,    kKindOf<LookupData>,  kKindOf<FloorData>,      kKindOf<WeekdayData>,
    kKindOf<ElapsedData>,  kKindOf<CarriedData>};

}  // namespace

RulePtr read_rule(const Fields& f) {
  const std::string kind = f.text("kind");
  for (const auto& [name, read] : kRuleKinds)
    if (kind == name) return read(f);
  f.fail("has a rule of the kind \"" + kind + "\", which this version does not know");
}

std::vector<std::string> rule_kinds() {
  std::vector<std::string> out;
  for (const RuleKind& kind : kRuleKinds) out.emplace_back(kind.name);
  return out;
}

}  // namespace tessera
