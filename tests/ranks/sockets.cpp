// Ranks that meet at an address: what they tell one another arrives whatever its size; who contradicts the others, is
// gone or ends the job is named; strangers are not listened to.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/comm/launched.h"
#include "engine/comm/sockets.h"
#include "ranks/parts_in_steps.h"
#include "ranks/world.h"
#include "support/folder.h"
#include "support/thrown.h"

namespace tessera {
namespace {

constexpr double kSeconds = 20;

// Runs `body` as every rank, each with a communicator of its own; what each of them threw, "" if nothing.
std::vector<std::string> meet_as(int size, const std::string& where, const std::function<void(Communicator&)>& body) {
  std::vector<std::string> said(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      try {
        body(*socket_communicator(where, r, size, kSeconds));
      } catch (const Error& e) { said[static_cast<size_t>(r)] = e.what(); }
    });
  for (std::thread& t : threads) t.join();
  return said;
}

class SocketRanks : public testing::TestWithParam<int> {
 protected:
  const test::Folder folder_;
  const std::string where_ = folder_.path("meet");
};
INSTANTIATE_TEST_SUITE_P(Sizes, SocketRanks, testing::Values(2, 3, 5));

TEST_P(SocketRanks, GatherWhatEachHas) {
  const int size = GetParam();
  const auto said = meet_as(size, where_, [&](Communicator& c) {
    // the last is more than a socket holds
    for (const size_t n : {size_t{0}, size_t{1}, size_t{1000}, size_t{1} << 20}) {
      const std::vector<int> mine(n, c.rank());
      std::vector<int> all(n * static_cast<size_t>(size), -1);
      c.all_gather(mine.data(), all.data(), static_cast<int64_t>(n * sizeof(int)));
      for (int r = 0; r < size; ++r)
        for (size_t i = 0; i < n; ++i) ASSERT_EQ(all[static_cast<size_t>(r) * n + i], r);
    }
    std::vector<float> values(7, 1.0f / static_cast<float>(c.rank() + 3)), want(7, 1.0f / 3);
    for (int r = 1; r < size; ++r)
      for (float& w : want) w += 1.0f / static_cast<float>(r + 3);
    c.all_reduce(values);
    EXPECT_EQ(values, want);
    expect_parts(c);
    c.barrier();
  });
  for (const std::string& s : said) EXPECT_EQ(s, "");
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path(""))) << "a socket was left";
}

TEST_P(SocketRanks, AnEndReachesWhoeverWaits) {
  const int last = GetParam() - 1;
  const auto said = meet_as(GetParam(), where_, [&](Communicator& c) {
    if (c.rank() == last) return c.abort(Error(ErrorCode::memory, "the last rank has no memory"));
    c.barrier();
  });
  for (int r = 0; r < last; ++r) EXPECT_EQ(said[static_cast<size_t>(r)], "the last rank has no memory");
}

TEST_P(SocketRanks, WhoLeftOrIsSilentIsNamed) {
  const int last = GetParam() - 1;
  const std::string name = name_of_rank(last, GetParam());
  const auto left = meet_as(GetParam(), where_, [&](Communicator& c) {
    int value = 0;
    if (c.rank() != last) c.receive(last, &value, sizeof value);
  });
  EXPECT_EQ(left[0], name + " has ended; the job ends.");
  const auto silent = meet_as(GetParam(), where_, [&](Communicator& c) {
    int value = 0;
    if (c.rank() == 0) {
      c.patience = 0.05;
      c.receive(last, &value, sizeof value);
    } else if (c.rank() == last) {
      c.receive(0, &value, sizeof value);
    }
  });
  EXPECT_EQ(silent[0], name + " has not answered for 0.05 s; the job ends.");
}

// One process with rank 0, one that says otherwise of itself: both are told the same.
void expect_refused(const std::string& where, int rank, int size, const std::string& message) {
  std::string told;
  std::thread other([&] {
    try {
      socket_communicator(where, rank, size, kSeconds);
    } catch (const Error& e) { told = e.what(); }
  });
  try {
    socket_communicator(where, 0, 2, kSeconds);
    ADD_FAILURE() << "they met";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::usage);
    EXPECT_NE(std::string(e.what()).find(message), std::string::npos) << e.what();
    other.join();
    EXPECT_EQ(told, e.what());
    return;
  }
  other.join();
}

TEST(SocketMeetings, RanksThatContradictEachOtherAreTold) {
  const test::Folder folder;
  expect_refused(folder.path("meet"), 1, 3, "counts 3 ranks, rank 0 counts 2");
  expect_refused(folder.path("meet"), 2, 2, "rank 2 of 2 came twice");
}

TEST(SocketMeetings, StrangersAreNotListenedTo) {
  const test::Folder folder;
  const std::string where = folder.path("meet");
  std::thread stranger([&] {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strncpy(at.sun_path, where.c_str(), sizeof at.sun_path - 1);
    const int s = ::socket(AF_UNIX, SOCK_STREAM, 0);
    while (::connect(s, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) std::this_thread::yield();
    const std::string noise(4096, 'x');
    (void)::send(s, noise.data(), noise.size(), MSG_NOSIGNAL);
    ::close(s);
  });
  // rank 1 comes after the stranger
  std::thread second([&] {
    stranger.join();
    EXPECT_NO_THROW(socket_communicator(where, 1, 2, kSeconds));
  });
  EXPECT_NO_THROW(socket_communicator(where, 0, 2, kSeconds));
  second.join();
}

TEST(SocketMeetings, AnAddressThatIsNoneOrTakenIsTold) {
  const test::Folder folder;
  const auto code_of = [](const std::string& where) {
    try {
      socket_communicator(where, 0, 2, 0.05);
    } catch (const Error& e) { return e.code(); }
    return ErrorCode::internal;
  };
  for (const std::string where :
       {"", "localhost", "localhost:", ":80", "localhost:port", "localhost:0", "localhost:99999", "localhost:80x"})
    EXPECT_EQ(code_of(where), ErrorCode::usage) << where;
  EXPECT_EQ(code_of("/" + std::string(200, 'x')), ErrorCode::usage);
  EXPECT_EQ(code_of(folder.path("no/such/folder")), ErrorCode::io);
  std::ofstream(folder.path("file")) << "kept";
  EXPECT_EQ(code_of(folder.path("file")), ErrorCode::io);
  EXPECT_EQ(std::filesystem::file_size(folder.path("file")), 4u) << "a file that is no socket was replaced";
  EXPECT_EQ(code_of(folder.path("alone")), ErrorCode::io);  // nobody comes
}

// A socket that listens at a path.
class BoundSocket {
 public:
  explicit BoundSocket(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(::listen(socket_, 5), 0);
  }
  ~BoundSocket() { ::close(socket_); }
  BoundSocket(const BoundSocket&) = delete;

 private:
  int socket_;
};

TEST(SocketMeetings, TheSocketOfARunningProgramIsKept) {
  const test::Folder folder;
  const std::string where = folder.path("other");
  const BoundSocket other(where);
  test::expect_error(ErrorCode::io, {}, [&] { socket_communicator(where, 0, 2, kSeconds); });
  EXPECT_TRUE(std::filesystem::exists(where));
}

TEST(SocketMeetings, TheSocketOfAKilledJobIsReplaced) {
  const test::Folder folder;
  const std::string where = folder.path("left");
  { const BoundSocket left(where); }
  for (const std::string& said : meet_as(2, where, [](Communicator& c) { c.barrier(); })) EXPECT_EQ(said, "");
}

// One after another, these would take longer than the ranks wait.
TEST(SocketMeetings, SilentConnectionsHoldNobodyUp) {
  const test::Folder folder;
  const std::string where = folder.path("meet");
  std::vector<int> idle;
  std::thread first([&] {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, where.c_str(), where.size() + 1);
    while (idle.size() < 12) {
      const int s = ::socket(AF_UNIX, SOCK_STREAM, 0);
      if (::connect(s, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) idle.push_back(s);
      else ::close(s), std::this_thread::yield();
    }
    EXPECT_NO_THROW(socket_communicator(where, 1, 2, kSeconds));
  });
  EXPECT_NO_THROW(socket_communicator(where, 0, 2, kSeconds));
  first.join();
  for (const int s : idle) ::close(s);
}

TEST(SocketMeetings, WhoLeavesDoesNotWaitForWhoGoesOnSending) {
  const test::Folder folder;
  const auto said = meet_as(2, folder.path("meet"), [](Communicator& c) {
    std::vector<char> block(1 << 16);
    if (c.rank() == 0) {
      c.receive(1, block.data(), static_cast<int64_t>(block.size()));
      return c.give_up();
    }
    for (;;) c.send(0, block.data(), static_cast<int64_t>(block.size()));
  });
  EXPECT_EQ(said[0], "");
  EXPECT_NE(said[1].find("has ended"), std::string::npos) << said[1];
}

// The variables of launchers, as long as the test runs.
class Launchers : public testing::Test {
 protected:
  void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  void TearDown() override {
    for (const std::string& n : names_) ::unsetenv(n.c_str());
  }

 private:
  std::vector<std::string> names_;
};

TEST_F(Launchers, TellThePlaceOfAProcess) {
  EXPECT_FALSE(launched().any());
  set("RANK", "3"), set("WORLD_SIZE", "8"), set("LOCAL_RANK", "1"), set("MASTER_ADDR", "node1");
  EXPECT_EQ(launched().fault, "WORLD_SIZE is set and MASTER_PORT is not");
  set("MASTER_PORT", "29500");
  Launched here = launched();
  EXPECT_EQ(here.rank, 3);
  EXPECT_EQ(here.size, 8);
  EXPECT_EQ(here.local, 1);
  EXPECT_EQ(here.meeting, "node1:29500");
  set("TORCHELASTIC_USE_AGENT_STORE", "True");
  EXPECT_EQ(launched().meeting, "node1:29501");
  set("TESSERA_RENDEZVOUS", "./meet"), set("TESSERA_RANK", "1"), set("TESSERA_WORLD_SIZE", "2");
  here = launched();
  EXPECT_EQ(here.rank, 1);
  EXPECT_EQ(here.size, 2);
  EXPECT_EQ(here.local, 1);
  EXPECT_EQ(here.meeting, "./meet");
}

TEST_F(Launchers, RefuseATimeoutThatIsNoNumber) {
  const test::Folder folder;
  set("TESSERA_RENDEZVOUS", folder.path("meet")), set("TESSERA_RANK", "0"), set("TESSERA_WORLD_SIZE", "2");
  for (const char* text : {"abc", "-5", "1e9", "0"}) {
    set("TESSERA_RANK_TIMEOUT", text);
    test::expect_error(ErrorCode::usage, {"TESSERA_RANK_TIMEOUT"}, [&] { (void)launched_communicator(); });
  }
}

TEST_F(Launchers, ThatAreIncompleteAreAFault) {
  set("TESSERA_RENDEZVOUS", "./meet"), set("TESSERA_WORLD_SIZE", "2");
  EXPECT_EQ(launched().fault, "TESSERA_RANK is \"\", which is no whole number from 0");
  set("TESSERA_RANK", "2");
  EXPECT_EQ(launched().fault, "TESSERA_RANK is 2 and TESSERA_WORLD_SIZE is 2: ranks count from 0");
  set("TESSERA_RANK", "1x");
  EXPECT_NE(launched().fault, "");
  EXPECT_FALSE(launched().any());
}

TEST_F(Launchers, WithoutAMeetingAreAFault) {
  set("TESSERA_RANK", "1");
  EXPECT_EQ(launched().fault, "TESSERA_RANK is set and TESSERA_RENDEZVOUS is not");
  EXPECT_THROW((void)sound_launch(), Error);
}

TEST_F(Launchers, OfOtherProgramsAreNoFault) {
  set("WORLD_SIZE", "2");
  EXPECT_EQ(launched().fault, "");
  set("WORLD_SIZE", "1"), set("RANK", "0");
  EXPECT_EQ(launched().fault, "") << "one process is all of them";
  set("WORLD_SIZE", "2");
  EXPECT_EQ(launched().fault, "WORLD_SIZE is set and MASTER_ADDR is not");
}

}  // namespace
}  // namespace tessera
