// Recomputation in training does not change the model file.
#include "models/tables.h"

namespace tessera::whole {
namespace {

Table people(int64_t rows) {
  return table({whole_by("age", rows, [](int64_t i) { return std::floor(20 + 60 * uniform(i)); }),
                decimals_by("height", rows, 1, [](int64_t i) { return 170 + 10 * normal(i, 1); }),
                texts_by("colour", rows, [](int64_t i) {
                  return std::string(uniform(i, 2) < 0.3 ? "red" : uniform(i, 3) < 0.5 ? "green" : "blue");
                })});
}

FitOptions options_of(const std::string& method) {
  if (method == "ctgan") return quick(2, 100);
  if (method == "tvae") return quick_tvae(2, 100);
  if (method == "made") return quick_made(2);
  FitOptions o;
  o.method = method;
  apply_preset(o);
  o.calibrate = Tier::off;
  o.sequences.length = 70;
  for (const auto& [key, value] : {std::pair{"iterations", "2"}, {"hidden_dim", "12"}, {"batch_size", "20"}})
    set(o, key, value);
  return o;
}

// The notices of a fit about its memory.
struct Fitted {
  std::string bytes;
  std::vector<std::string> notices;
};
Fitted fitted(const std::string& method, Recompute mode, int64_t limit = 0) {
  FitOptions o = options_of(method);
  o.recompute = mode;
  Fitted out;
  Monitor monitor;
  monitor.on_progress = [&](const Progress& p) {
    if (std::string(p.phase) == "notice") out.notices.push_back(p.note);
  };
  Team team(2, limit > 0 ? std::make_shared<MemoryLimit>(limit) : nullptr);
  out.bytes = Model::fit(people(400), o, team, monitor).bytes();
  return out;
}

TEST(Recompute, KeepsModelBits) {
  for (const std::string method : {"ctgan", "tvae", "made", "timegan"}) {
    const Fitted kept = fitted(method, Recompute::off), repeated = fitted(method, Recompute::all);
    EXPECT_TRUE(kept.bytes == repeated.bytes) << method;
    for (const std::string& n : kept.notices) EXPECT_EQ(n.find("recompute"), std::string::npos) << method << ": " << n;
  }
}

TEST(Recompute, MeetsLimitAndReportsIt) {
  const Fitted kept = fitted("timegan", Recompute::automatic);
  EXPECT_TRUE(kept.notices.empty());
  const Fitted repeated = fitted("timegan", Recompute::automatic, 12'000'000);
  EXPECT_TRUE(kept.bytes == repeated.bytes);
  ASSERT_FALSE(repeated.notices.empty());
  EXPECT_NE(repeated.notices[0].find("recomputed"), std::string::npos) << repeated.notices[0];
}

TEST(Recompute, NamesSufficientLimit) {
  for (const std::string method : {"tvae", "timegan"}) {
    const Thrown t = thrown([&] { fitted(method, Recompute::automatic, 300'000); });
    EXPECT_EQ(t.code, ErrorCode::memory);
    ASSERT_TRUE(t.says("`memory_limit=")) << t.message;
    const size_t at = t.message.find("`memory_limit=") + 14;
    const int64_t enough = std::stoll(t.message.substr(at));
    EXPECT_NO_THROW(fitted(method, Recompute::automatic, enough)) << t.message;
  }
}

}  // namespace
}  // namespace tessera::whole
