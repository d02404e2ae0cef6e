// What ranks tell one another arrives, whatever the sizes; sums are in the order of ranks; a rank that is gone, silent
// or ends the job is named.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "engine/comm/process_window.h"
#include "ranks/parts_in_steps.h"
#include "ranks/world.h"
#include "support/thrown.h"

namespace tessera {
namespace {

// A number of its own for each rank and place, with sums that depend on their order.
float number(int rank, size_t i) { return 1.0f / static_cast<float>(3 + rank * 7 + static_cast<int>(i % 101)); }

class Ranks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Ranks, testing::Values(1, 2, 3, 4, 8));

TEST_P(Ranks, GatherWhatEachHas) {
  const int size = GetParam();
  as_ranks(size, [&](Communicator& c) {
    ASSERT_EQ(c.size(), size);
    for (const size_t n : {size_t{0}, size_t{1}, size_t{1000}, size_t{100000}}) {
      std::vector<float> mine(n), all(n * static_cast<size_t>(size));
      for (size_t i = 0; i < n; ++i) mine[i] = number(c.rank(), i);
      c.all_gather(mine.data(), all.data(), static_cast<int64_t>(n * sizeof(float)));
      for (int r = 0; r < size; ++r)
        for (size_t i = 0; i < n; ++i) ASSERT_EQ(all[static_cast<size_t>(r) * n + i], number(r, i));
    }
    std::vector<std::string> names;
    for (int r = 0; r < size; ++r) names.push_back(std::string(static_cast<size_t>(r * 10), 'a'));
    EXPECT_EQ(c.gather(names[static_cast<size_t>(c.rank())]), names);
  });
}

TEST_P(Ranks, BroadcastFromEveryRoot) {
  as_ranks(GetParam(), [](Communicator& c) {
    for (int root = 0; root < c.size(); ++root) {
      std::vector<int> values(500, c.rank());
      c.broadcast(values.data(), static_cast<int64_t>(values.size() * sizeof(int)), root);
      EXPECT_EQ(values, std::vector<int>(500, root));
    }
  });
}

TEST_P(Ranks, ShareOutWhatAStepSends) { as_ranks(GetParam(), expect_parts); }

// Of processes, which threads of one are as well: each rank's memory is mapped by the others.
TEST_P(Ranks, OpenOneAnothersMemory) {
  as_ranks(GetParam(), [](Communicator& c) {
    const auto window = window_of_processes(c, 128);
    ASSERT_NE(window, nullptr);
    for (int turn = 0; turn < 5; ++turn) {
      std::memset(window->begin(), c.rank() * 10 + turn, 128);
      window->post();
      for (int r = 0; r < c.size(); ++r) {
        while (!window->posted(r)) std::this_thread::yield();
        EXPECT_EQ(std::string(window->sent_by(r), 128), std::string(128, static_cast<char>(r * 10 + turn)));
      }
    }
  });
}

TEST_P(Ranks, SumInTheirOrder) {
  const int size = GetParam();
  as_ranks(size, [&](Communicator& c) {
    for (const size_t n : {size_t{1}, size_t{7}, size_t{1024}}) {
      std::vector<float> values(n), want(n);
      for (size_t i = 0; i < n; ++i) {
        values[i] = number(c.rank(), i);
        want[i] = number(0, i);
        for (int r = 1; r < size; ++r) want[i] += number(r, i);
      }
      c.all_reduce(values);
      EXPECT_EQ(values, want);
    }
  });
}

TEST_P(Ranks, SendAndReceiveInARing) {
  as_ranks(GetParam(), [](Communicator& c) {
    if (c.size() == 1) return;
    const int next = (c.rank() + 1) % c.size(), before = (c.rank() + c.size() - 1) % c.size();
    int got = -1;
    const int mine = c.rank();
    if (c.rank() % 2 == 0 && !(c.size() % 2 == 1 && c.rank() + 1 == c.size())) {
      c.send(next, &mine, sizeof mine);
      c.receive(before, &got, sizeof got);
    } else {
      c.receive(before, &got, sizeof got);
      c.send(next, &mine, sizeof mine);
    }
    EXPECT_EQ(got, before);
    c.barrier();
  });
}

TEST(RankFaults, ASilentRankIsNamed) {
  as_ranks(3, [](Communicator& c) {
    if (c.rank() == 2) return;  // it never answers
    c.patience = 0.05;
    test::expect_error(ErrorCode::io, {"of 3 has not answered for 0.05 s"}, [&] { c.barrier(); });
  });
}

TEST(RankFaults, AnAbortReachesWhoeverWaits) {
  as_ranks(4, [](Communicator& c) {
    c.patience = Communicator::kForever;
    if (c.rank() == 3) return c.abort(Error(ErrorCode::memory, "rank 3 of 4: no memory"));
    try {
      c.barrier();
      FAIL() << "the job has ended";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::memory);
      EXPECT_STREQ(e.what(), "rank 3 of 4: no memory");
    }
  });
}

// Within a step nothing throws: the first failure stays, and what follows does nothing.
TEST(RankFaults, AStepKeepsItsFirstFailure) {
  as_ranks(2, [](Communicator& c) {
    if (c.rank() == 1) return;
    c.patience = 0.02;
    float mine = 1, all[2] = {};
    const Wires& w = *c.wires();
    EXPECT_FALSE(w.all_gather(w.communicator, &mine, all, sizeof mine, sizeof mine, nullptr));
    EXPECT_TRUE(c.failed());
    EXPECT_FALSE(w.all_gather(w.communicator, &mine, all, sizeof mine, sizeof mine, nullptr));
    EXPECT_THROW(c.check(), Error);
  });
}

TEST(RankFaults, ANumberThatIsNotFiniteIsTracedToItsRank) {
  as_ranks(4, [](Communicator& c) {
    c.look_for_bad(true);
    const float mine[2] = {1, c.rank() == 2 ? INFINITY : 0};
    float all[8];
    const Wires& w = *c.wires();
    EXPECT_TRUE(w.all_gather(w.communicator, mine, all, sizeof mine, sizeof mine, nullptr));
    EXPECT_EQ(c.first_of(c.bad_exchange()), 2);
  });
}

}  // namespace
}  // namespace tessera
