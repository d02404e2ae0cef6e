// The same seed gives the same bits: model files for any number of threads, rows for any batch size, number of threads and slice.
#include "models/table/example.h"
#include "models/tables.h"

namespace tessera::whole {
namespace {

std::string file_of(const Model& m) {
  const Folder folder;
  m.save(folder / "model", false);
  return read_bytes(folder / "model");
}

// A category, numbers with modes, a spike and missing values, an identifier, and a category whose rare values are drawn row by row.
Model fitted(uint64_t seed = 3, int threads = 2) {
  Table t = example_people(600, 5);
  t.columns.push_back(texts_by("street", ColumnType::category, t.rows, [](int64_t i) { return "street " + std::to_string(i % 3 == 0 ? i : i % 7); }));
  FitOptions o = quick(4, 100);
  o.encoder.max_categories = 12;
  o.seed = seed;
  return fit(std::move(t), o, threads);
}

TEST(Bits, ModelFilesAreEqualForAnyNumberOfThreadsAndEveryRun) {
  const std::string once = file_of(fitted(3, 2));
  EXPECT_EQ(file_of(fitted(3, 2)), once) << "two runs";
  EXPECT_EQ(file_of(fitted(3, 1)), once) << "1 thread";
  EXPECT_EQ(file_of(fitted(3, 3)), once) << "3 threads";
  EXPECT_NE(file_of(fitted(4, 2)), once) << "another seed";
}

TEST(Bits, PaperPresetModelFilesAreEqualForAnyNumberOfThreads) {
  FitOptions o = quick(3, 100, "paper");
  o.ctgan.discriminator_steps = 2;
  const std::string once = file_of(fit(example_people(500, 1), o, 1));
  EXPECT_EQ(file_of(fit(example_people(500, 1), o, 3)), once);
}

// Callbacks look at the training; they must not steer it.
TEST(Bits, ListeningChangesNothing) {
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
    EXPECT_EQ(lines(sample(m, count, o, {0, 3})), std::vector<std::string>(whole.begin(), whole.begin() + count)) << "batch " << batch;
  }
  for (const auto& [offset, count] : {std::pair<int64_t, int64_t>{0, 1}, {1, 7}, {511, 2}, {rows - 3, 3}, {17, rows - 40}})
    EXPECT_EQ(lines(sample(m, count, options, {offset, 2})), std::vector<std::string>(whole.begin() + offset, whole.begin() + offset + count)) << "rows from " << offset << ", " << count;
  SampleOptions other = options;
  other.seed = options.seed + 1;
  EXPECT_NE(lines(sample(m, 40, other)), std::vector<std::string>(whole.begin(), whole.begin() + 40)) << "another seed";
}

TEST(Bits, RowsAreEqualForAnyBatchThreadsAndSlice) { rows_do_not_depend_on_work(fitted(), {}, 5100); }
TEST(Bits, RowsUnderAConditionAreEqualForAnyBatchThreadsAndSlice) {
  rows_do_not_depend_on_work(fitted(), where("gender = 'male' and age >= 30 and city in ('Northport', 'Weston')"), 1200);
}
TEST(Bits, RowsUnderARejectedConditionAreEqualForAnyBatchThreadsAndSlice) { rows_do_not_depend_on_work(fitted(), where("age > 40"), 1100); }

// Row numbers are 64 bits: far rows are as good as near ones, and other ones.
TEST(Bits, FarRowsAreRowsOfTheirOwn) {
  const Model m = fitted();
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
