// Tables larger than the memory limit: the same model, bit for bit, as without a limit.
#include <nlohmann/json.hpp>

#include "models/tables.h"
#include "support/folder.h"
#include "tables/arrow/export.h"
#include "tables/arrow/import.h"

namespace tessera::whole {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kManyRows = 30000;

// Numbers with and without missing ones, spikes, dates, categories, rare ones among them, identifiers, a constant.
Table mixed() {
  std::vector<Column> columns;
  columns.push_back(decimals_by("price", kManyRows, 2, [](int64_t i) {
    return uniform(i, 1) < 0.1 ? kMissing : std::round(100 * (10 + 3 * normal(i, 2))) / 100;
  }));
  columns.push_back(whole_by("hours", kManyRows,
                             [](int64_t i) { return uniform(i, 3) < 0.3 ? 40.0 : std::floor(90 * uniform(i, 4)); }));
  columns.push_back(whole_by("few", kManyRows, [](int64_t i) { return std::floor(5 * uniform(i, 5)); }));
  columns.push_back(dates_by("day", kManyRows, [](int64_t i) { return std::floor(18000 + 900 * uniform(i, 6)); }));
  columns.push_back(texts_by("city", kManyRows, [](int64_t i) {
    return i == 77 ? std::string("Nowhere")
                   : "city " + std::to_string(static_cast<int>(40 * uniform(i, 7) * uniform(i, 8)));
  }));
  columns.push_back(texts_by("flag", ColumnType::boolean, kManyRows, [](int64_t i) {
    return uniform(i, 9) < 0.02 ? "" : uniform(i, 10) < 0.4 ? "yes" : "no";
  }));
  columns.push_back(
      texts_by("id", ColumnType::identifier, kManyRows, [](int64_t i) { return "K-" + std::to_string(100000 + i); }));
  columns.push_back(whole_by("same", kManyRows, [](int64_t) { return 3.0; }));
  return table(std::move(columns));
}

// As users do: rows arrive as a stream, and the table is built under the limit.
Model fit_within(const FitOptions& o, const std::shared_ptr<MemoryLimit>& limit, int threads) {
  Team team(threads, limit);
  const Monitor monitor;
  ArrowArrayStream stream{};
  table_export(mixed(), &stream);
  return Model::fit(table_import(&stream, team, monitor), o, team, monitor);
}

class ScratchFit : public test::InFolder, public testing::WithParamInterface<const char*> {
 protected:
  static FitOptions options() {
    FitOptions o = std::string(GetParam()) == "tvae" ? quick_tvae(1, 500) : quick(1, 500);
    o.calibrate = Tier::marginals;
    o.seed = 5;
    o.keep_best = std::string(GetParam()) == "tvae";  // rows are held out from scratch files
    return o;
  }
};
INSTANTIATE_TEST_SUITE_P(Methods, ScratchFit, testing::Values("ctgan", "tvae"),
                         [](const auto& c) { return std::string(c.param); });

TEST_P(ScratchFit, MatchesTheFitInMemory) {
  const std::string whole = fit_within(options(), nullptr, 2).bytes();
  // Everything in scratch; then some of it, where that falls within an array's growth.
  for (const int64_t room : {int64_t{1}, int64_t{1} << 20}) {
    const auto limit = std::make_shared<MemoryLimit>(0, folder_.string());
    const MemoryShare taken(limit, MemoryLimit::kArraysByDefault - room, "other arrays", true);
    EXPECT_TRUE(fit_within(options(), limit, room == 1 ? 1 : 3).bytes() == whole) << room << " bytes in memory";
    EXPECT_TRUE(fs::is_empty(folder_));
    EXPECT_EQ(limit->held(), MemoryLimit::kArraysByDefault - room) << "all is given back";
  }
}

// Runs of steps become shorter if those of a tenth of a second would leave too many encoded rows resident.
TEST_P(ScratchFit, LimitsResidentRows) {
  FitOptions o = options();
  o.keep_best = false;
  constexpr int64_t kRoom = int64_t{256} << 20;
  const auto limit = std::make_shared<MemoryLimit>(kRoom, folder_.string());
  const MemoryShare taken(limit, kRoom / 2, "other arrays", true);
  Team team(1, limit);
  Monitor monitor;
  int64_t reports = 0;
  monitor.on_progress = [&](const Progress& p) { reports += p.phase == std::string("train"); };
  ArrowArrayStream stream{};
  table_export(mixed(), &stream);
  Model::fit(table_import(&stream, team, monitor), o, team, monitor);
  EXPECT_GE(reports, kManyRows / 500) << "a report for each step";
}

TEST_P(ScratchFit, ThrowsAtLimitWithoutFolder) {
  const auto limit = std::make_shared<MemoryLimit>(1 << 20);
  const Thrown error = thrown([&] { fit_within(options(), limit, 1); });
  EXPECT_EQ(static_cast<int>(error.code), static_cast<int>(ErrorCode::memory));
  EXPECT_TRUE(error.says("the table")) << error.message;
}

// Range, spikes and decimals stay exact in columns that are too long to be sorted as a whole.
TEST(LongColumns, KeepExtremesAndSpikesExact) {
  constexpr int64_t kLong = (int64_t{1} << 21) + 500000;
  Table t = table({decimals_by("x", kLong, 2, [](int64_t i) {
    if (i == 1234567) return -5000.5;
    if (i == kLong - 1) return 7000.25;
    return i % 10 == 3 ? 0.5 : std::round(100 * std::sin(static_cast<double>(i)) + 1) / 100;
  })});
  Team team(2);
  const Monitor monitor;
  EncoderOptions o;
  const Encoder e = Encoder::fit(t, o, team, monitor);
  const nlohmann::json column = e.to_json()["columns"][0];
  EXPECT_EQ(column["low"], -5000.5);
  EXPECT_EQ(column["high"], 7000.25);
  EXPECT_EQ(column["round"], 2);
  EXPECT_EQ(std::count(column["spikes"].begin(), column["spikes"].end(), nlohmann::json(0.5)), 1);
}

}  // namespace
}  // namespace tessera::whole
