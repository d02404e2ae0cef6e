// TVAE as a whole: what it stores, a law that is known, conditions over the latent, values that are not finite.
#include <nlohmann/json.hpp>

#include "base/storage/safetensors.h"
#include "models/known_law.h"
#include "models/tables.h"
#include "tables/csv/example.h"

namespace tessera::whole {
namespace {

Model fitted_tvae(uint64_t seed = 3, int threads = 2, const std::string& preset = "best", bool modes = false) {
  FitOptions o = quick_tvae(25, 100, preset);
  if (modes) o.encoder.numbers = EncoderOptions::Numbers::modes;
  o.seed = seed;
  return fit(example_people(600, 5), o, threads);
}

// What sampling needs is kept, and nothing of the rows: no encoder, no posterior, nothing as long as the table.
TEST(Tvae, StoresNoRow) {
  for (const bool modes : {false, true}) {
    const Folder folder;
    fitted_tvae(3, 2, "best", modes).save(folder / "m", false);
    const SafeTensors file = read_safetensors(folder / "m");
    for (const auto& [name, t] : file.tensors) {
      EXPECT_TRUE(name.starts_with("decoder.") || name.starts_with("prior.")) << name;
      for (const int64_t n : t.shape) EXPECT_LT(n, 600) << name;
    }
    EXPECT_EQ(file.tensors.count("prior.mean"), 1u);
    EXPECT_EQ(file.tensors.count("decoder.sigma"), modes ? 1u : 0u);
  }
}

TEST(Tvae, NamesDamagedPriors) {
  const Folder folder;
  fitted_tvae().save(folder / "m", false);
  struct Damage {
    const char* says;
    void (*make)(SafeTensors&, nlohmann::json&);
  };
  const Damage damages[] = {
      {"prior.share",
       [](SafeTensors& f, auto&) {
         const float x = -1;
         std::memcpy(f.tensors.at("prior.share").bytes.data(), &x, 4);
       }},
      {"prior.mean",
       [](SafeTensors& f, auto&) {
         const float x = NAN;
         std::memcpy(f.tensors.at("prior.mean").bytes.data(), &x, 4);
       }},
      {"prior.factor", [](SafeTensors& f, auto&) { f.tensors.erase("prior.factor"); }},
      {"\"active\"", [](SafeTensors&, auto& d) { d["prior"]["active"] = 1000; }},
      {"shape", [](SafeTensors&, auto& d) { d["prior"]["active"] = 1; }},
      {"shape", [](SafeTensors&, auto& d) { d["config"]["prior_components"] = 7; }},
      {"decoder_dim", [](SafeTensors&, auto& d) { d["config"].erase("decoder_dim"); }},
  };
  for (const Damage& d : damages) {
    SafeTensors file = read_safetensors(folder / "m");
    nlohmann::json document = nlohmann::json::parse(file.metadata.at("tessera"));
    d.make(file, document);
    file.metadata["tessera"] = document.dump();
    file.metadata.erase("checksum");
    write_safetensors(folder / "damaged", file, true);
    const Thrown t = thrown([&] { Model::load(folder / "damaged"); });
    EXPECT_EQ(t.code, ErrorCode::format) << d.says;
    EXPECT_TRUE(t.says(d.says) && t.says(folder / "damaged")) << d.says << ": " << t.message;
  }
}

TEST(Tvae, LearnsAKnownLaw) {
  const Table real = known_rows(4000);
  const Table made = sample(fit(real, quick_tvae(30)), 8000);
  EXPECT_LE(distance_from_known(made), 0.06) << "independent columns are at a distance of about .53";
  EXPECT_GT(distance_from_known(sample(fit(real, quick_tvae(0)), 8000)), 0.3) << "an untrained model";
  for (int k = 0; k < 3; ++k) {
    double sum = 0, n = 0;
    for (int64_t i = 0; i < made.rows; ++i)
      if (text(made, "a", i) == "a" + std::to_string(k)) sum += column(made, "x").numbers[static_cast<size_t>(i)], ++n;
    EXPECT_NEAR(sum / n, 10 * k, 1.5) << k;
  }
}

// kind is rare with 1 %; level is 60 … 99 for it, 1 … 40 for the others.
Table two_kinds() {
  constexpr int64_t rows = 4000;
  auto rare = [](int64_t i) { return uniform(i, 1) < 0.01; };
  return table(
      {texts_by("kind", rows, [&](int64_t i) { return rare(i) ? "rare" : "common"; }),
       whole_by("level", rows, [&](int64_t i) { return std::floor((rare(i) ? 60 : 1) + 40 * uniform(i, 2)); })});
}

TEST(Tvae, ReachesRareValuesThroughTheLatent) {
  FitOptions o = quick_tvae(40, 100);
  o.rare_rows = 1;  // a level of the rare kind is one row's
  const Model m = fit(two_kinds(), o);
  SampleReport report;
  const Table t = sample(m, 400, where("kind = 'rare'"), {}, &report);
  EXPECT_EQ(share(t, [&](int64_t i) { return text(t, "kind", i) == "rare"; }), 1.0);
  EXPECT_LT(static_cast<double>(report.candidates) / 400, 30)
      << "a share of 1 % must not cost a hundred candidates a row";
  EXPECT_GT(share(t, [&](int64_t i) { return column(t, "level").numbers[static_cast<size_t>(i)] >= 60; }), 0.3)
      << "what depends on it follows; of all rows 1 % have such levels";
}

// Importance changes how rows are found, not their law: it is that of the free rows that meet the condition.
TEST(Tvae, ConditionedRowsFollowTheConditionalLaw) {
  const Model m = fit(known_rows(4000), quick_tvae(20));
  const Table free = sample(m, 30000), asked = sample(m, 6000, where("b = 'b1'"));
  const double meeting = share(free, [&](int64_t i) { return text(free, "b", i) == "b1"; });
  for (const char* a : {"a0", "a1", "a2"}) {
    const double want =
        share(free, [&](int64_t i) { return text(free, "b", i) == "b1" && text(free, "a", i) == a; }) / meeting;
    EXPECT_NEAR(share(asked, [&](int64_t i) { return text(asked, "a", i) == a; }), want, 0.03) << a;
  }
}

TEST(Tvae, MeetsConditionsOrReportsThemImpossible) {
  const Model m = fitted_tvae();
  EXPECT_EQ(lines(without(sample(m, 300, where("country = 'Freedonia' and age >= 0")), "person_id")),
            lines(without(sample(m, 300), "person_id")))
      << "a condition all rows meet changes none";
  for (const char* condition : {"income is null", "capital_gain = 0", "height > 180.5",
                                "employed = FALSE and children in (0, 1)", "plan is not null and age < 40"}) {
    SampleReport report;
    EXPECT_EQ(sample(m, 100, where(condition, 100000), {}, &report).rows, 100) << condition;
    EXPECT_GE(report.candidates, 100);
  }
  const Thrown t = thrown([&] { sample(m, 10, where("gender = 'male' and age > 1000", 50)); });
  EXPECT_EQ(t.code, ErrorCode::condition);
  EXPECT_TRUE(t.says("no row can satisfy") && t.says("\"age > 1000\"")) << t.message;
}

TEST(Tvae, ReportsLossesOncePerEpoch) {
  FitOptions o = quick_tvae(5, 50);
  std::vector<LossRow> rows;
  o.on_losses = [&](const LossRow& r) { rows.push_back(r); };
  fit(example_people(520, 1), o);
  ASSERT_EQ(rows.size(), 5u);
  for (const LossRow& r : rows) EXPECT_TRUE(r["reconstruction"] > 0 && r["divergence"] > 0);
  EXPECT_LT(rows[4]["reconstruction"], rows[0]["reconstruction"]);
}

TEST(Tvae, NamesNonFiniteLosses) {
  FitOptions o = quick_tvae(20, 50);
  o.as<TvaeConfig>().learning_rate = 1;
  o.as<TvaeConfig>().decay_from = 1;
  o.as<TvaeConfig>().encoder_dim = std::vector<int>(30, 64);
  const Thrown one = thrown([&] { fit(example_people(500, 1), o, 1); }),
               three = thrown([&] { fit(example_people(500, 1), o, 3); });
  EXPECT_EQ(one.code, ErrorCode::numeric);
  EXPECT_TRUE(one.says("made by") && one.says("`learning_rate`")) << one.message;
  EXPECT_EQ(one.message, three.message);
}

}  // namespace
}  // namespace tessera::whole
