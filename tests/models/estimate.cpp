// An estimate matches the memory that a fit takes.
#include "models/plans/estimate.h"

#include <nlohmann/json.hpp>

#include "models/model/model_state.h"
#include "models/tables.h"

namespace tessera::whole {
namespace {

Table people(int64_t rows, int columns) {
  std::vector<Column> all;
  for (int j = 0; j < columns; ++j) {
    const auto stream = static_cast<uint32_t>(3 * j);
    all.push_back(decimals_by("n" + std::to_string(j), rows, 2, [&](int64_t i) { return normal(i, stream); }));
    all.push_back(texts_by("t" + std::to_string(j), rows, [&](int64_t i) {
      return "v" + std::to_string(static_cast<int>(4 * uniform(i, stream + 2)));
    }));
  }
  return table(std::move(all));
}

FitOptions without_recompute(const std::string& method) {
  FitOptions o = quick_of(method, {40, "1", "16", "32"});
  o.recompute = Recompute::off;
  return o;
}

TEST(Estimate, GivesTheSmallestSufficientLimit) {
  for (const std::string method : {"ctgan", "tvae", "made", "timegan"})
    for (const auto& [rows, columns] : {std::pair{300, 1}, {900, 3}, {2000, 8}}) {
      const FitOptions o = without_recompute(method);
      Team team(2);
      const nlohmann::json e = estimate_memory(people(rows, columns), o, team, Monitor{});
      const auto bytes = e["training_bytes"].get<int64_t>();
      const auto fits = [&, rows = rows, columns = columns](int64_t limit) {
        Team bounded(2, std::make_shared<MemoryLimit>(limit));
        try {
          const Model model = Model::fit(people(rows, columns), o, bounded, Monitor{});
          return !model.state().provenance.contains("micro_batch");
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::memory) << error.what();
          return false;
        }
      };
      EXPECT_TRUE(fits(e["limit_bytes"].get<int64_t>())) << method << ", " << rows << " rows " << e.dump();
      EXPECT_FALSE(fits(bytes * 95 / 100)) << method << ", " << rows << " rows";
    }
}

TEST(Estimate, PartsAddUp) {
  Team team(2);
  for (const std::string method : {"ctgan", "tvae", "made", "timegan"}) {
    const nlohmann::json e = estimate_memory(people(600, 2), without_recompute(method), team, Monitor{});
    int64_t most = 0;
    for (const auto& p : e["phases"]) {
      const auto of = [&](const char* key) { return p.at(key).get<int64_t>(); };
      EXPECT_EQ(of("bytes"), of("state_bytes") + of("activation_bytes") + of("scratch_bytes") + of("calls_bytes"))
          << method;
      EXPECT_LE(of("weights_bytes") + of("moments_bytes"), of("state_bytes")) << method;
      most = std::max(most, of("bytes"));
    }
    EXPECT_EQ(most, e["training_bytes"].get<int64_t>()) << method;
    EXPECT_GE(e["limit_bytes"].get<int64_t>(), most) << method;
  }
}

}  // namespace
}  // namespace tessera::whole
