// Rows made ahead: the same rows in the same order, errors where they belong, and the caller's threads alone hear of
// progress.
#include "models/sampling/rows_ahead.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

// Tables of one row and of a thousand, in turn, each row with its number; what goes wrong at a row goes wrong once.
class Numbers : public RowStream {
 public:
  Numbers(int64_t count, const Monitor& monitor, ErrorCode error, int64_t at)
      : count_(count), monitor_(monitor), error_(error), at_(at) {}
  bool next(Table& batch) override {
    monitor_.report({"sample", static_cast<double>(next_), static_cast<double>(count_), "rows", "", false});
    if (next_ >= at_) {
      at_ = INT64_MAX;
      throw Error(error_, "as asked for");
    }
    if (next_ >= count_) return false;
    batch = {};
    batch.columns.resize(1);
    const int64_t end = std::min(count_, next_ + (next_ % 2 == 0 ? 1 : 1000));
    for (; next_ < end; ++next_) batch.columns[0].numbers.push_back(static_cast<double>(next_)), ++batch.rows;
    report_.rows = next_;
    return true;
  }
  SampleReport report() const override { return report_; }

 private:
  int64_t count_, next_ = 0;
  const Monitor& monitor_;
  ErrorCode error_;
  int64_t at_;
  SampleReport report_;
};

class RowsAheadTest : public testing::Test {
 protected:
  RowsAhead ahead(int64_t count, ErrorCode error = ErrorCode::io, int64_t at = INT64_MAX) {
    return RowsAhead([=](const Monitor& m) { return std::make_unique<Numbers>(count, m, error, at); }, team_, monitor_);
  }
  // The next rows, which must be those after `from`; the end of them.
  static int64_t take(RowsAhead& rows, int64_t from) {
    Table batch;
    EXPECT_TRUE(rows.next(batch));
    for (const double number : batch.columns.at(0).numbers) EXPECT_EQ(number, static_cast<double>(from++));
    EXPECT_EQ(rows.report().rows, from) << "the report is of what was handed out, not of what was made";
    return from;
  }
  static int64_t take_until_error(RowsAhead& rows, ErrorCode error) {
    for (int64_t from = 0;;) try {
        from = take(rows, from);
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), error);
        return from;
      }
  }

  Team team_{2};
  std::atomic<bool> cancel_{false};
  Monitor monitor_{{}, &cancel_, nullptr};
};

TEST_F(RowsAheadTest, ReturnsAllRowsInOrder) {
  for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{100'000}}) {
    RowsAhead rows = ahead(count);
    for (int64_t from = 0; from < count;) from = take(rows, from);
    Table none;
    EXPECT_FALSE(rows.next(none));
    EXPECT_FALSE(rows.next(none));
  }
}

TEST_F(RowsAheadTest, RaisesAnErrorAfterThePrecedingRowsAndContinues) {
  RowsAhead rows = ahead(50'000, ErrorCode::memory, 20'000);
  int64_t from = take_until_error(rows, ErrorCode::memory);
  EXPECT_GE(from, 20'000);
  while (from < 50'000) from = take(rows, from);
}

TEST_F(RowsAheadTest, KeepsAllRowsAfterAResetCancellation) {
  RowsAhead rows = ahead(50'000);
  int64_t from = take(rows, 0);
  cancel_ = true;
  Table batch;
  for (int i = 0; i < 2; ++i) EXPECT_THROW(rows.next(batch), Error);
  cancel_ = false;
  while (from < 50'000) from = take(rows, from);
}

TEST_F(RowsAheadTest, ReportsProgressInTheCallingThread) {
  std::set<std::thread::id> threads;
  double last = -1;
  monitor_.on_progress = [&](const Progress& p) {
    threads.insert(std::this_thread::get_id());
    EXPECT_GE(p.done, last);
    last = p.done;
  };
  RowsAhead rows = ahead(20'000);
  for (int64_t from = 0; from < 20'000;) from = take(rows, from);
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

TEST_F(RowsAheadTest, StopsEarlyWithoutFurtherRows) {
  for (int64_t tables = 0; tables < 3; ++tables) {
    RowsAhead rows = ahead(INT64_MAX);
    for (int64_t i = 0, from = 0; i < tables; ++i) from = take(rows, from);
  }
}

}  // namespace
}  // namespace tessera
