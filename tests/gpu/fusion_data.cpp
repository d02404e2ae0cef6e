// Launches chosen by hand: the bits of the composition, and every fault refused with op, launch and a way out.
#include <gtest/gtest.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "emulation/gpu.h"
#include "engine/schedule/fusion_data.h"
#include "models/plans/describe_launches.h"
#include "models/tables.h"
#include "support/ctgan_training.h"
#include "support/made_training.h"
#include "support/random_plan.h"
#include "support/timegan_training.h"
#include "support/tvae_training.h"
#include "tables/csv/example.h"

extern "C" const tessera::DeviceApi* tessera_device_backend();

namespace tessera::sandbox {
namespace {

using Json = nlohmann::json;

Plan optimized(Plan plan) {
  optimize(plan);
  return plan;
}

Plan using_launches(Plan plan, const Json& fusion) {
  use_fusion(plan, fusion.dump());
  return plan;
}

// Cuts chains in two at places drawn by `seed`; what follows a cut runs in a launch of its own. And puts independent
// steps of chains of columns and elements in another order.
Json cut_at_random(const Json& fusion, uint64_t seed) {
  std::mt19937_64 dice(seed);
  Json launches = Json::array();
  for (Json launch : fusion["launches"]) {
    Json rest{{"chains", Json::array()}, {"alone", launch["alone"]}};
    for (Json& chain : launch["chains"]) {
      Json& ops = chain["ops"];
      const size_t at = ops.size() < 2 ? 0 : dice() % ops.size();
      if (at == 0 || chain["cut"] == "tiles") continue;
      rest["chains"].push_back({{"cut", chain["cut"]}, {"ops", Json(ops.begin() + static_cast<int>(at), ops.end())}});
      ops.erase(ops.begin() + static_cast<int>(at), ops.end());
    }
    launch["alone"] = Json::array();
    launches.push_back(launch);
    launches.push_back(rest);
  }
  return {{"launches", launches}};
}

// Each op by its own call, but for what only launches can do: parts of deep products.
Json all_alone(const Json& fusion) {
  Json launches = Json::array();
  for (const Json& launch : fusion["launches"]) {
    for (const Json& chain : launch["chains"])
      for (const Json& op : chain["ops"]) {
        if (const auto name = op.get<std::string>(); name.ends_with(")"))
          launches.push_back({{"chains", {{{"cut", chain["cut"]}, {"ops", {op}}}}}});
        else launches.push_back({{"chains", Json::array()}, {"alone", {op}}});
      }
    launches.push_back({{"chains", Json::array()}, {"alone", launch["alone"]}});
  }
  return {{"launches", launches}};
}

template <class T>
void any_launches_have_the_bits(const T& t, int64_t steps, uint64_t seed) {
  Device device(*tessera_device_backend(), 0);
  const Plan plan = optimized(t.plan);
  const Json chosen = describe_launches(plan)["fusion"];
  const Values composed = t.run(on_device(device, {"fuse"}, steps));
  emulation::set_schedule(emulation::parse_schedule("random:5"));
  for (const Json& fusion : {chosen, cut_at_random(chosen, seed), all_alone(chosen)}) {
    const Plan by_hand = using_launches(plan, fusion);
    EXPECT_EQ(difference(composed, t.run(by_hand, on_device(device, {}, steps))), 0) << fusion.dump(1);
  }
  emulation::set_schedule({});
}

TEST(FusionData, ChosenLaunchesReadAgainAreTheSame) {
  for (const Plan& recorded : {Training(1, 0.9, Size::wide).plan, Training(1, 0.9, Size::adult, 32561).plan,
                               TvaeTraining().plan, MadeTraining().plan, SequenceTraining({Cell::gru}).plan}) {
    const Plan plan = optimized(recorded);
    const Json chosen = describe_launches(plan);
    EXPECT_EQ(describe_launches(using_launches(plan, chosen["fusion"])), chosen);
  }
}

TEST(FusionData, AnyLaunchesHaveTheBitsOfTheComposition) {
  for (uint64_t seed = 0; seed < 6; ++seed) any_launches_have_the_bits(RandomPlan(seed), 2, seed);
  any_launches_have_the_bits(Training(1), 1, 7);
  any_launches_have_the_bits(Training(1, 0.9, Size::wide), 1, 8);
  any_launches_have_the_bits(TvaeTraining(), 1, 9);
}

// The library's option: the JSON of a plan, changed.
TEST(FusionData, AFitTrainsTheSameModelInThem) {
  Device device(*tessera_device_backend(), 0);
  FitOptions o = whole::quick_tvae(1, 50);
  o.device = std::shared_ptr<Device>(&device, [](Device*) {});
  const auto fitted = [&] {
    emulation::reset_counts();
    return whole::fit(example_people(100, 3), o).bytes();
  };
  const std::string chosen = fitted();
  const int64_t launches = emulation::counts().launches;
  Team team(1);
  o.fusion = all_alone(describe_plan(example_people(100, 3), o, team, {})["cuda"]["fusion"]).dump();
  EXPECT_EQ(fitted() == chosen, true);
  EXPECT_GT(emulation::counts().launches, 4 * launches);
}

// Of a plan with a chain by rows, a product by tiles, and updates; `change` plants a fault.
class FusionFaults : public ::testing::Test {
 protected:
  FusionFaults() : plan_(optimized(Training(1, 0.9, Size::wide).plan)), chosen_(describe_launches(plan_)["fusion"]) {}

  Json& launch(size_t l) { return chosen_["launches"][l]; }
  // The first chain with that cut, and that many steps.
  Json& chain(const std::string& cut, size_t steps) {
    for (Json& l : chosen_["launches"])
      for (Json& c : l["chains"])
        if (c["cut"] == cut && c["ops"].size() >= steps) return c;
    throw std::runtime_error("no chain by " + cut);
  }
  void refused(const std::string& what, const std::string& remedy) {
    try {
      (void)using_launches(plan_, chosen_);
      ADD_FAILURE() << "accepted; expected: " << what;
    } catch (const Error& e) {
      const std::string said = e.what();
      EXPECT_EQ(e.code(), ErrorCode::usage);
      EXPECT_NE(said.find(what), std::string::npos) << said;
      EXPECT_NE(said.find("\n  "), std::string::npos) << said;
      EXPECT_NE(said.find(remedy), std::string::npos) << said;
    }
  }
  static Json taken(Json& list, size_t i) {
    Json value = list[i];
    list.erase(i);
    return value;
  }
  static Json alone(const Json& op) { return {{"chains", Json::array()}, {"alone", {op}}}; }

  Plan plan_;
  Json chosen_;
};

TEST_F(FusionFaults, AnOpIsMissing) {
  const std::string name = taken(chain("rows", 3)["ops"], 1).get<std::string>();
  refused(name + ": it is in no launch", "Add it to one, by rows");
}
TEST_F(FusionFaults, AnOpStandsTwice) {
  Json& ops = chain("rows", 2)["ops"];
  ops.push_back(ops[0]);
  refused(ops[0].get<std::string>() + ": it is also in launch 1", "Every op runs once");
}
TEST_F(FusionFaults, AnOpIsUnknown) {
  chain("rows", 2)["ops"].push_back("tanh_99999");
  refused("launch 1: the step has no op \"tanh_99999\"", "the table and options");
}
TEST_F(FusionFaults, AnOpReadsALaterLaunch) {
  Json last = chosen_["launches"].back();
  chosen_["launches"].erase(chosen_["launches"].size() - 1);
  chosen_["launches"].insert(chosen_["launches"].begin(), last);
  refused("Fusion: launch 1, chain 1", "Put");
}
TEST_F(FusionFaults, AnOpReadsAnotherChainOfItsLaunch) {
  Json& first = chain("rows", 3);
  Json rest = {{"cut", "rows"}, {"ops", Json(first["ops"].begin() + 1, first["ops"].end())}};
  first["ops"].erase(first["ops"].begin() + 1, first["ops"].end());
  launch(0)["chains"].push_back(rest);
  refused("of this launch computes", "Put both into one chain. Or: Put it into launch 2 or later");
}
TEST_F(FusionFaults, AStepComesBeforeItsInput) {
  Json& ops = chain("rows", 3)["ops"];
  std::reverse(ops.begin(), ops.end());
  refused("which comes after it", "Put it behind that op");
}
TEST_F(FusionFaults, AChainCannotComputeAnOp) {
  chain("rows", 2)["cut"] = "elements";
  refused("a chain by elements cannot begin with it", "Put it elsewhere, by");
}
TEST_F(FusionFaults, ABlockDoesNotHaveWhatAnOpReads) {
  for (Json& l : chosen_["launches"])  // two chains by rows and by columns of one launch, as one by rows
    for (Json& c : l["chains"])
      if (c["cut"] == "columns" && c["ops"].size() > 1) c["cut"] = "rows";
  refused("a chain by rows cannot", "Put it elsewhere, by columns");
}
TEST_F(FusionFaults, AnUpdateOverwritesWhatIsStillRead) {
  Json& launches = chosen_["launches"];
  Json update;
  for (Json& l : launches)
    for (Json& c : l["chains"])
      for (size_t i = 0; i < c["ops"].size() && update.is_null(); ++i)
        if (c["ops"][i].get<std::string>().starts_with("adam")) update = taken(c["ops"], i);
  launches.insert(launches.begin(), alone(update));
  refused("launch 1, " + update.get<std::string>() + ": it must wait for launch", "or later");
}
TEST_F(FusionFaults, WidthsOfAChainDiffer) {
  Json& launches = chosen_["launches"];
  for (Json& l : launches) {
    Json* first = nullptr;
    for (Json& c : l["chains"]) {
      if (c["cut"] != "columns" || c["ops"].empty()) continue;
      if (first == nullptr) {
        first = &c;
        continue;
      }
      for (const Json& op : c["ops"]) (*first)["ops"].push_back(op);
      c["ops"].clear();
    }
  }
  refused("columns, its chain", "Give it another chain");
}
// Slices of a deep product, and their sum.
TEST_F(FusionFaults, SlicesAndTheirSum) {
  const Json chosen = chosen_;
  std::string name;
  size_t at = 0, of_chain = 0;
  for (size_t l = 0; l < chosen["launches"].size(); ++l)
    for (size_t c = 0; c < launch(l)["chains"].size(); ++c)
      if (const auto op = launch(l)["chains"][c]["ops"][0].get<std::string>(); op.ends_with(" (slices)"))
        name = op.substr(0, op.find(' ')), at = l, of_chain = c;
  ASSERT_FALSE(name.empty()) << chosen_.dump(1);
  const Json slices = taken(launch(at)["chains"], of_chain);
  refused(name + ": its slices are not computed before their sum", "earlier launch");
  chosen_["launches"].push_back(Json{{"chains", Json::array({slices})}});
  refused(name + ": its slices are not computed before their sum", "earlier launch");
  chosen_ = chosen;
  launch(at + 1)["chains"].push_back(slices);
  refused(name + ": its slices are computed twice", "out of one");
  chosen_ = chosen;
  launch(at)["chains"][of_chain]["ops"].push_back(launch(at)["chains"][of_chain]["ops"][0]);
  refused(name + ": its slices share a chain", "of their own");
  chosen_ = chosen;
  const Json early{{"chains", Json::array({taken(launch(at)["chains"], of_chain)})}};
  chosen_["launches"].insert(chosen_["launches"].begin(), early);
  refused("launch 1, " + name + ": its slices read", "Put it into launch");
}
TEST_F(FusionFaults, TheFileIsNoFusion) {
  chosen_ = Json::array();
  refused("there is no list \"launches\"", "of a plan has one");
  chosen_ = {{"launches", {{{"chains", {{{"cut", "blocks"}, {"ops", Json::array()}}}}}}}};
  refused("launch 1: \"cut\": \"blocks\"", "Known are rows, columns, elements, tiles");
}

}  // namespace
}  // namespace tessera::sandbox
