// TVAE as a whole: bits, files, edge-case tables, a known law, conditions through the latent, non-finite values.
#include <nlohmann/json.hpp>

#include "base/storage/safetensors.h"
#include "models/tables.h"
#include "tables/csv/example.h"

namespace tessera::whole {
namespace {

Model fitted(uint64_t seed = 3, int threads = 2, const std::string& preset = "best", bool modes = false) {
  FitOptions o = quick_tvae(25, 100, preset);
  if (modes) o.encoder.numbers = EncoderOptions::Numbers::modes;
  o.seed = seed;
  return fit(example_people(600, 5), o, threads);
}

TEST(Tvae, ModelFilesAreIndependentOfThreads) {
  for (const char* preset : {"best", "paper"}) {
    const std::string once = file_of(fitted(3, 2, preset));
    for (const int threads : {1, 2, 3})
      EXPECT_EQ(file_of(fitted(3, threads, preset)), once) << preset << ", " << threads << " threads";
    EXPECT_NE(file_of(fitted(4, 2, preset)), once) << "another seed";
  }
}

void rows_do_not_depend_on_work(const Model& m, const SampleOptions& options, int64_t rows) {
  const std::vector<std::string> whole = lines(sample(m, rows, options, {0, 1}));
  for (const int batch : {1, 7, 512, 5000}) {
    SampleOptions o = options;
    o.batch = batch;
    const int64_t count = batch == 1 ? std::min<int64_t>(rows, 40) : rows;
    EXPECT_EQ(lines(sample(m, count, o, {0, 3})), std::vector<std::string>(whole.begin(), whole.begin() + count))
        << "batch " << batch;
  }
  for (const auto& [offset, count] : {std::pair<int64_t, int64_t>{0, 1}, {511, 2}, {17, rows - 40}})
    EXPECT_EQ(lines(sample(m, count, options, {offset, 2})),
              std::vector<std::string>(whole.begin() + offset, whole.begin() + offset + count))
        << "rows from " << offset << ", " << count;
}

TEST(Tvae, RowsAreIndependentOfWork) {
  rows_do_not_depend_on_work(fitted(), {}, 4500);
  rows_do_not_depend_on_work(fitted(), where("gender = 'male' and age >= 30 and city in ('Northport', 'Weston')"),
                             1100);
}

TEST(Tvae, RoundTrips) {
  for (const char* preset : {"best", "paper"}) {
    const Folder folder;
    const Model m = fitted(3, 2, preset);
    m.save(folder / "m", false);
    const Model back = Model::load(folder / "m");
    EXPECT_EQ(lines(sample(back, 500)), lines(sample(m, 500)));
    EXPECT_EQ(lines(sample(back, 100, where("gender = 'male'"))), lines(sample(m, 100, where("gender = 'male'"))));
    EXPECT_EQ(back.describe()["method"], "tvae");
    EXPECT_EQ(back.describe()["config"], m.describe()["config"]);
    back.save(folder / "again", false);
    EXPECT_EQ(read_bytes(folder / "again"), read_bytes(folder / "m"));
  }
}

// The file holds only what sampling needs: no encoder, no posterior, nothing whose length is that of the table.
TEST(Tvae, StoresNoRow) {
  for (const bool modes : {false, true}) {
    const Folder folder;
    fitted(3, 2, "best", modes).save(folder / "m", false);
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
  fitted().save(folder / "m", false);
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
    write_safetensors(folder / "damaged", file, true);
    const Thrown t = thrown([&] { Model::load(folder / "damaged"); });
    EXPECT_EQ(t.code, ErrorCode::format) << d.says;
    EXPECT_TRUE(t.says(d.says) && t.says(folder / "damaged")) << d.says << ": " << t.message;
  }
}

Column letters(const std::string& name, int64_t rows, int kinds) {
  return texts_by(name, ColumnType::category, rows,
                  [&](int64_t i) { return std::string(1, static_cast<char>('a' + i % kinds)); });
}
Column reals(const std::string& name, int64_t rows, uint32_t stream) {
  return numbers_by(
      name, ColumnType::decimal, rows, [&](int64_t i) { return std::nearbyint(100 * normal(i, stream)) / 100; }, 2);
}

TEST(Tvae, FitsEdgeCaseTables) {
  FitOptions published;
  published.method = "tvae";
  apply_preset(published);
  published.as<TvaeConfig>().epochs = 2;
  for (const char* preset : {"best", "paper"}) {
    const FitOptions o = quick_tvae(3, 200, preset);
    for (const Table& t :
         {table({letters("x", 300, 3), letters("y", 300, 5)}), table({reals("x", 300, 1), reals("y", 300, 2)}),
          table({letters("x", 100, 4)}), table({reals("x", 100, 1)}), example_people(1, 1), example_people(20, 1)})
      for (const FitOptions& options : {o, published}) {
        const Model m = fit(t, options);
        const Table made = sample(m, 300);
        EXPECT_EQ(made.rows, 300);
        for (size_t c = 0; c < t.columns.size(); ++c)
          for (int64_t i = 0; i < made.rows && is_numeric(t.columns[c].type); ++i)
            EXPECT_TRUE(made.columns[c].is_missing(i) || std::isfinite(made.columns[c].numbers[static_cast<size_t>(i)]))
                << t.columns[c].name;
      }
    const Table constant = table({texts("c", ColumnType::constant, std::vector<std::string>(6, "same")),
                                  numbers("n", ColumnType::integer, std::vector<double>(6, 7))});
    EXPECT_EQ(sample(fit(constant, o), 20, where("n = 7")).rows, 20);
    EXPECT_EQ(sample(fit(example_people(300, 1), quick_tvae(0, 200, preset)), 100).rows, 100) << "untrained";
  }
}

// P(a) = .5, .3, .2; b = a with .9, else the next one; x normal about 10·a.
struct Known {
  static int a(int64_t i) {
    const double u = uniform(i, 1);
    return u < 0.5 ? 0 : u < 0.8 ? 1 : 2;
  }
  static int b(int64_t i) { return uniform(i, 2) < 0.9 ? a(i) : (a(i) + 1) % 3; }
  static Table rows(int64_t n) {
    return table({texts_by("a", ColumnType::category, n, [](int64_t i) { return "a" + std::to_string(a(i)); }),
                  texts_by("b", ColumnType::category, n, [](int64_t i) { return "b" + std::to_string(b(i)); }),
                  numbers_by(
                      "x", ColumnType::decimal, n,
                      [](int64_t i) { return std::nearbyint(100 * (10 * a(i) + normal(i, 3))) / 100; }, 2)});
  }
};
std::string text(const Table& t, const char* c, int64_t i) { return cell(column(t, c), i); }

double distance_from_known(const Table& made) {
  const double of_a[] = {0.5, 0.3, 0.2};
  double distance = 0;
  for (int x = 0; x < 3; ++x)
    for (int y = 0; y < 3; ++y) {
      const double want = of_a[x] * (y == x ? 0.9 : y == (x + 1) % 3 ? 0.1 : 0);
      distance += std::fabs(share(made,
                                  [&](int64_t i) {
                                    return text(made, "a", i) == "a" + std::to_string(x) &&
                                           text(made, "b", i) == "b" + std::to_string(y);
                                  }) -
                            want) /
                  2;
    }
  return distance;
}

TEST(Tvae, LearnsAKnownLaw) {
  const Table real = Known::rows(4000);
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
  return table({texts_by("kind", ColumnType::category, rows, [&](int64_t i) { return rare(i) ? "rare" : "common"; }),
                numbers_by("level", ColumnType::integer, rows,
                           [&](int64_t i) { return std::floor((rare(i) ? 60 : 1) + 40 * uniform(i, 2)); })});
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

// Importance sampling changes how rows are found, not their law: that of free rows that meet the condition.
TEST(Tvae, ConditionedRowsFollowTheConditionalLaw) {
  const Model m = fit(Known::rows(4000), quick_tvae(20));
  const Table free = sample(m, 30000), asked = sample(m, 6000, where("b = 'b1'"));
  const double meeting = share(free, [&](int64_t i) { return text(free, "b", i) == "b1"; });
  for (const char* a : {"a0", "a1", "a2"}) {
    const double want =
        share(free, [&](int64_t i) { return text(free, "b", i) == "b1" && text(free, "a", i) == a; }) / meeting;
    EXPECT_NEAR(share(asked, [&](int64_t i) { return text(asked, "a", i) == a; }), want, 0.03) << a;
  }
}

TEST(Tvae, MeetsConditionsOrReportsThemImpossible) {
  const Model m = fitted();
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

TEST(Tvae, RejectsInvalidOptions) {
  struct Mistake {
    const char* option;
    void (*make)(TvaeConfig&);
  };
  for (const Mistake& k : {Mistake{"`epochs=-1`", [](TvaeConfig& c) { c.epochs = -1; }},
                           Mistake{"`batch_size=1`", [](TvaeConfig& c) { c.batch = 1; }},
                           Mistake{"`embedding_dim=0`", [](TvaeConfig& c) { c.embedding_dim = 0; }},
                           Mistake{"`loss_factor=0`", [](TvaeConfig& c) { c.loss_factor = 0; }},
                           Mistake{"`encoder_dim", [](TvaeConfig& c) { c.encoder_dim = {}; }},
                           Mistake{"`decoder_dim", [](TvaeConfig& c) { c.decoder_dim = {0}; }},
                           Mistake{"`learning_rate=2`", [](TvaeConfig& c) { c.learning_rate = 2; }}}) {
    FitOptions o = quick_tvae(1);
    k.make(o.as<TvaeConfig>());
    const Thrown t = thrown([&] { fit(example_people(50, 1), o); });
    EXPECT_EQ(t.code, ErrorCode::usage) << k.option;
    EXPECT_TRUE(t.says(k.option)) << k.option << ": " << t.message;
  }
}

}  // namespace
}  // namespace tessera::whole
