// The same seed gives the same bits: model files for any number of threads, rows for any batch size, number of threads
// and slice.
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "models/model/model_state.h"
#include "models/tables.h"
#include "tables/csv/example.h"

namespace tessera::whole {
namespace {

// A category, numbers with modes, a spike and missing values, an identifier, and a category whose rare values are drawn
// row by row.
Table people() {
  Table t = example_people(600, 5);
  t.columns.push_back(
      texts_by("street", t.rows, [](int64_t i) { return "street " + std::to_string(i % 3 == 0 ? i : i % 7); }));
  return t;
}

struct Kind {
  std::string name;
  FitOptions options;

  Model fitted(uint64_t seed = 3, int threads = 2) const {
    FitOptions o = options;
    o.encoder.max_categories = 12;
    o.seed = seed;
    return fit(people(), o, threads);
  }
  const Model& model() const {  // fitted once
    static std::map<std::string, Model> models;
    if (!models.contains(name)) models.emplace(name, fitted());
    return models.at(name);
  }
};

std::vector<Kind> every_kind() {
  std::vector<Kind> all;
  for (const char* preset : {"best", "paper"}) {
    all.push_back({std::string("ctgan, ") + preset, quick(4, 100, preset)});
    all.push_back({std::string("tvae, ") + preset, quick_tvae(10, 100, preset)});
    all.push_back({std::string("made, ") + preset, quick_made(4, preset)});
  }
  all.push_back({"ctgan, two critic steps", quick(2, 100, "paper")});
  all.back().options.as<CtganConfig>().discriminator_steps = 2;
  all.push_back({"made in any order", quick_made(4)});
  all.back().options.as<MadeConfig>().any_order = true;
  return all;
}
const Model& fitted_ctgan() { return every_kind().front().model(); }

TEST(Bits, OfModelFilesAreIndependentOfThreadsAndRuns) {
  for (const Kind& k : every_kind()) {
    const std::string once = file_of(k.model());
    for (const int threads : {1, 2, 3}) EXPECT_EQ(file_of(k.fitted(3, threads)), once) << k.name << ", " << threads;
    EXPECT_NE(file_of(k.fitted(4)), once) << k.name << ", another seed";
  }
}

TEST(Bits, AreThoseOfTheModelThatWasSaved) {
  const SampleOptions men = where("gender = 'male'");
  for (const Kind& k : every_kind()) {
    const Folder folder;
    const Model& m = k.model();
    m.save(folder / "m", false);
    const Model back = Model::load(folder / "m");
    EXPECT_EQ(lines(sample(back, 500)), lines(sample(m, 500))) << k.name;
    EXPECT_EQ(lines(sample(back, 100, men)), lines(sample(m, 100, men))) << k.name;
    for (const char* part : {"config", "encoder"}) EXPECT_EQ(back.describe()[part], m.describe()[part]) << k.name;
    EXPECT_EQ(back.describe()["method"], k.options.method);
    EXPECT_EQ(back.describe()["preset"], k.options.preset);
    EXPECT_EQ(file_of(back), read_bytes(folder / "m")) << k.name;
  }
}

// Products of rounded factors: another file, as reproducible.
TEST(Bits, OfRoundedModelFilesAreIndependentOfThreads) {
  for (const char* method : {"ctgan", "tvae", "made"}) {
    FitOptions o;
    o.method = method;
    apply_preset(o);
    o.calibrate = Tier::off;
    for (const Option& option : o.config->options())
      if (std::string_view(option.key) == "epochs") option.set("2");
    const std::string exact = file_of(fit(example_people(500, 1), o, 1));
    for (const char* precision : {"tf32", "bf16", "fp16"}) {
      o.precision = precision;
      // The density ratio is trained with rounded products too: once, as it takes longer than the rest.
      o.calibrate = method == std::string("tvae") && o.precision == "bf16" ? Tier::full : Tier::off;
      const Model m = fit(example_people(500, 1), o, 1);
      EXPECT_EQ(m.state().provenance.at("run").at("options").at("precision"), precision) << method;
      EXPECT_EQ(file_of(fit(example_people(500, 1), o, 3)), file_of(m)) << method;
      EXPECT_NE(file_of(m), exact) << method;
    }
  }
}

// Callbacks observe the training; they must not influence it.
TEST(Bits, AreIndependentOfCallbacks) {
  FitOptions o = quick(3, 100);
  const std::string once = file_of(fit(example_people(500, 1), o));
  o.on_losses = [](const LossRow&) {};
  Team team(2);
  Monitor monitor;
  monitor.on_progress = [](const Progress&) {};
  EXPECT_EQ(file_of(Model::fit(example_people(500, 1), o, team, monitor)), once);
}

void rows_do_not_depend_on_work(const Model& m, const SampleOptions& options, int64_t rows) {
  const std::vector<std::string> whole = lines(sample(m, rows, options, {0, 1}));
  ASSERT_EQ(whole.size(), static_cast<size_t>(rows));
  for (const int batch : {1, 7, 512, 5000}) {
    SampleOptions o = options;
    o.batch = batch;
    const int64_t count = batch == 1 ? std::min<int64_t>(rows, 40) : rows;
    EXPECT_EQ(lines(sample(m, count, o, {0, 3})), std::vector<std::string>(whole.begin(), whole.begin() + count))
        << "batch " << batch;
  }
  for (const auto& [offset, count] :
       {std::pair<int64_t, int64_t>{0, 1}, {1, 7}, {511, 2}, {rows - 3, 3}, {17, rows - 40}})
    EXPECT_EQ(lines(sample(m, count, options, {offset, 2})),
              std::vector<std::string>(whole.begin() + offset, whole.begin() + offset + count))
        << "rows from " << offset << ", " << count;
  SampleOptions other = options;
  other.seed = options.seed + 1;
  EXPECT_NE(lines(sample(m, 40, other)), std::vector<std::string>(whole.begin(), whole.begin() + 40)) << "another seed";
}

TEST(Bits, OfRowsAreIndependentOfWork) {
  const SampleOptions condition = where("gender = 'male' and age >= 30 and city in ('Northport', 'Weston')");
  for (const Kind& k : every_kind()) {
    SCOPED_TRACE(k.name);
    rows_do_not_depend_on_work(k.model(), {}, k.name == "ctgan, best" || k.name == "tvae, best" ? 5100 : 600);
    rows_do_not_depend_on_work(k.model(), condition, 600);
  }
}
TEST(Bits, OfRowsOfRoundedProductsAreIndependentOfWork) {
  for (const char* precision : {"tf32", "bf16", "fp16"}) {
    SampleOptions o;
    o.precision = precision;
    rows_do_not_depend_on_work(fitted_ctgan(), o, 600);
  }
}
TEST(Bits, OfRowsUnderRejectionAreIndependentOfWork) {
  rows_do_not_depend_on_work(fitted_ctgan(), where("age > 40"), 1100);
}

// Every kind of model, calibrated and not, with numbers that are not rounded, so that a difference in the last bit
// shows.
struct Sampled {
  std::string name;
  std::shared_ptr<const Model> model;
  SampleOptions options;
};

Table unrounded(int64_t rows) {
  return table({decimals_by("x", rows, 15,
                            [](int64_t i) { return std::sin(0.3 * static_cast<double>(i)) + 0.1 * normal(i, 1); }),
                decimals_by("y", rows, 15, [](int64_t i) { return normal(i, 2); }),
                texts_by("c", rows, [](int64_t i) { return "c" + std::to_string(i % 7 % 3); })});
}

std::vector<Sampled> every_model() {
  std::vector<Sampled> all;
  for (FitOptions o : {quick(2, 100), quick_tvae(2, 100)}) {
    o.calibrate = Tier::full;
    const auto m = std::make_shared<const Model>(fit(unrounded(1200), o));
    for (const Tier tier : {Tier::off, Tier::marginals, Tier::full}) {
      if (!m->shared_rows()->calibration.holds(tier)) continue;
      SampleOptions how;
      how.calibrate = tier;
      all.push_back({o.method + ", calibration " + name(tier), m, how});
    }
  }
  for (const Cell cell : {Cell::gru, Cell::gru_reset_before, Cell::lstm}) {
    FitOptions o;
    o.method = "timegan";
    apply_preset(o);
    set(o, "iterations", "3");
    TimeganConfig& c = o.as<TimeganConfig>();
    c.batch = 32, c.hidden = 8, c.layers = 2, c.cell = cell;
    o.sequences.length = 5;
    all.push_back(
        {std::string("timegan of ") + cell_name(cell), std::make_shared<const Model>(fit(unrounded(200), o)), {}});
  }
  return all;
}

TEST(Bits, OfRowsOfEveryModelAreIndependentOfBatchAndOffset) {
  constexpr int64_t kRows = 70;
  for (const Sampled& s : every_model()) {
    const std::vector<std::string> whole = lines(sample(*s.model, kRows, s.options));
    for (const int batch : {1, 7, 16, 33}) {
      SampleOptions o = s.options;
      o.batch = batch;
      EXPECT_EQ(lines(sample(*s.model, kRows, o)), whole) << s.name << ", batches of " << batch;
    }
    std::vector<std::string> pieces;
    for (int64_t at = 0, n = 1; at < kRows; at += n, n = std::min<int64_t>(n + 3, kRows - at)) {
      const auto piece = lines(sample(*s.model, n, s.options, {at, 1}));
      pieces.insert(pieces.end(), piece.begin(), piece.end());
    }
    EXPECT_EQ(pieces, whole) << s.name << ", in pieces";
  }
}

// Row numbers are 64 bits: far rows are as good as near ones, and other ones.
TEST(Bits, DifferForDistantRows) {
  const Model& m = fitted_ctgan();
  const int64_t far = int64_t{1} << 33;
  const auto there = lines(sample(m, 600, {}, {far, 2})), here = lines(sample(m, 600));
  EXPECT_NE(there, here);
  EXPECT_EQ(lines(sample(m, 100, {}, {far + 500, 1})), std::vector<std::string>(there.begin() + 500, there.end()));
  EXPECT_EQ(sample(m, 0).rows, 0);
  EXPECT_EQ(thrown([&] { sample(m, 1, {}, {-1, 1}); }).code, ErrorCode::usage);
  EXPECT_EQ(thrown([&] { sample(m, 2, {}, {INT64_MAX - 1, 1}); }).code, ErrorCode::usage);
}

}  // namespace
}  // namespace tessera::whole
