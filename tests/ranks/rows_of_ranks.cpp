// Rows that ranks make in turn are those of one process, in its order.
#include "models/sampling/rows_of_ranks.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "models/model/model_state.h"
#include "models/sampling/rows_message.h"
#include "ranks/options.h"
#include "ranks/world.h"

namespace tessera::whole {
namespace {

constexpr int64_t kRows = 1500;

std::vector<std::string> lines(const Table& t) {
  std::vector<std::string> out(static_cast<size_t>(t.rows));
  for (int64_t i = 0; i < t.rows; ++i)
    for (const Column& c : t.columns) out[static_cast<size_t>(i)] += cell(c, i) + "|";
  return out;
}

const Model& model() {
  static const Model m = fit(rank_rows(), rank_options("made"));
  return m;
}

// A rank's stream; its monitor and team are the caller's.
std::unique_ptr<RowsOfRanks> stream(Communicator& c, int64_t block, const SampleOptions& o, const std::string& what,
                                    Team& team, const Monitor& monitor) {
  const auto rows = model().state().rows();
  const auto open = [rows, o, &team](int64_t offset, int64_t count, const Monitor& quiet) {
    return open_rows(rows, offset, count, o, team, quiet);
  };
  return std::make_unique<RowsOfRanks>(open, model().schema(), RowsRange{7, kRows, block}, what,
                                       std::shared_ptr<Communicator>(&c, [](Communicator*) {}), monitor);
}

TEST(RowsOfRanks, AreThoseOfOneProcessInItsOrder) {
  for (const SampleOptions& o : {SampleOptions{}, where("age >= 30")}) {
    SampleReport one;
    const std::vector<std::string> expected = lines(sample(model(), kRows, o, {7, 1}, &one));
    for (const auto& [ranks, block] : {std::pair{1, 400}, {2, 1500}, {2, 100}, {3, 512}, {5, 700}})
      as_ranks(ranks, [&](Communicator& c) {
        Team team(1);
        const Monitor monitor;
        const auto rows = stream(c, block, o, "the same", team, monitor);
        const Table all = drain(*rows, model().schema());
        EXPECT_EQ(all.rows, c.rank() == 0 ? kRows : 0);
        if (c.rank() > 0) return;
        EXPECT_TRUE(lines(all) == expected) << ranks << " ranks, blocks of " << block;
        EXPECT_EQ(rows->report().rows, one.rows);
        EXPECT_GE(rows->report().candidates, kRows);
      });
  }
}

// Rank 0 takes its time: a rank then makes no more than two blocks that are not taken.
TEST(RowsOfRanks, ARankIsAheadByTwoBlocks) {
  constexpr int64_t kBlock = 50;
  std::atomic<int64_t> opened = 0;
  as_ranks(2, [&](Communicator& c) {
    Team team(1);
    const Monitor monitor;
    const auto rows = model().state().rows();
    const auto open = [&](int64_t offset, int64_t count, const Monitor& quiet) {
      if (c.rank() == 1) ++opened;
      return open_rows(rows, offset, count, {}, team, quiet);
    };
    RowsOfRanks all(open, model().schema(), {0, 20 * kBlock, kBlock}, "",
                    std::shared_ptr<Communicator>(&c, [](Communicator*) {}), monitor);
    int64_t taken = 0;
    for (Table batch; all.next(batch); taken += batch.rows) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      // of rank 1: those taken whole, one that is being taken, and two ahead
      EXPECT_LE(opened, taken / (2 * kBlock) + 3);
    }
  });
  EXPECT_EQ(opened, 10);
}

TEST(RowsOfRanks, WhoFailsOrDiffersEndsAllOfThem) {
  const Thrown differs = thrown([] {
    as_ranks(3, [](Communicator& c) {
      Team team(1);
      const Monitor monitor;
      (void)stream(c, 100, {}, c.rank() == 2 ? "another" : "the same", team, monitor);
    });
  });
  EXPECT_EQ(differs.code, ErrorCode::usage);
  EXPECT_TRUE(differs.says("rank 2 of 3 samples another model than rank 0")) << differs.message;
  const auto world = ThreadWorld::create(2);
  const auto run = [&](int rank) {
    Team team(1);
    const Monitor monitor;
    const auto rows = model().state().rows();
    const auto open = [&](int64_t offset, int64_t count, const Monitor& quiet) {
      if (rank == 1 && offset > 400) throw Error(ErrorCode::memory, "no room for these rows");
      return open_rows(rows, offset, count, {}, team, quiet);
    };
    RowsOfRanks all(open, model().schema(), {0, kRows, 100}, "", world->communicator(rank), monitor);
    int64_t taken = 0;
    const Thrown t = thrown([&] {
      for (Table batch; all.next(batch);) taken += batch.rows;
    });
    EXPECT_EQ(t.code, ErrorCode::memory);
    EXPECT_TRUE(t.says("no room for these rows")) << t.message;
    EXPECT_EQ(t.says("rank 1 of 2"), rank == 0) << t.message;
    EXPECT_EQ(taken, rank == 0 ? 500 : 0) << "the rows before it";
  };
  std::thread second(run, 1);
  run(0);
  second.join();
}

// Texts that are not the schema's travel with the rows; bytes that are no message are refused.
TEST(RowsMessages, HoldWhatATableHolds) {
  Table schema;
  schema.columns = {texts("id", ColumnType::identifier, {}), texts("kind", ColumnType::category, {"a", "b", "c"})};
  schema.columns[1].codes = {};
  schema.columns.push_back(schema.columns[1]);
  schema.columns[2].name = "x", schema.columns[2].type = ColumnType::decimal, schema.columns[2].values = {};
  Table rows = schema;
  rows.rows = 3;
  rows.columns[0].values = {"k-1", "", "k-3"}, rows.columns[0].codes = {0, 1, 2};
  rows.columns[1].codes = {2, -1, 0};
  rows.columns[2].numbers = {0.25, kMissing, -1};
  std::string bytes;
  append_message(bytes, rows, schema);
  append_message(bytes, schema, schema);
  RowsMessages messages(bytes);
  Table read;
  ASSERT_TRUE(messages.next(read, schema));
  EXPECT_EQ(lines(read), lines(rows));
  EXPECT_EQ(read.columns[1].values, schema.columns[1].values);
  ASSERT_TRUE(messages.next(read, schema));
  EXPECT_EQ(read.rows, 0);
  EXPECT_FALSE(messages.next(read, schema));
  for (const size_t cut : {size_t{1}, size_t{9}, bytes.size() / 2}) {
    const std::string part = bytes.substr(0, cut);
    RowsMessages damaged(part);
    EXPECT_THROW(damaged.next(read, schema), Error) << cut << " bytes";
  }
}

}  // namespace
}  // namespace tessera::whole
