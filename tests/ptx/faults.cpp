// What the PTX machine must find: each of these programs is right but for one thing.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "emulation/machine.h"
#include "emulation/memory.h"
#include "ptx/machine/launch.h"
#include "ptx/read/mutant.h"

namespace tessera::ptx {
namespace {

const char* const kHead = ".version 8.0\n.target sm_90\n.address_size 64\n";
const char* const kRegisters = ".reg .pred %p<9>;\n.reg .b32 %r<19>;\n.reg .f32 %f<9>;\n.reg .b64 %rd<9>;\n";

// A kernel of one pointer, %rd1, with the thread's number in %r1 and the address of its word in %rd2.
std::string kernel(const std::string& body, const std::string& arrays = "") {
  return std::string(kHead) + ".visible .entry k(\n.param .u64 k_param_0\n)\n.maxntid 128, 1, 1\n{\n" + kRegisters +
         arrays +
         "ld.param.u64 %rd1, [k_param_0];\ncvta.to.global.u64 %rd1, %rd1;\nmov.u32 %r1, %tid.x;\n"
         "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd2, %rd1, %rd2;\n" +
         body + "\nret;\n}\n";
}

class Ptx : public testing::Test {
 protected:
  Ptx() : words_(static_cast<uint32_t*>(emulation::allocate_device(kWords * 4))) {
    for (uint32_t k = 0; k < kWords; ++k) words_[k] = k;
  }
  ~Ptx() override {
    emulation::free_device(words_);
    emulation::set_schedule({});
  }
  void launch(const std::string& text, unsigned threads = 64, uint32_t dynamic_shared = 0) {
    const Module m = read_module(text);
    run(m, m.functions.at("k"),
        {{cluster_, 1, 1},
         {threads, 1, 1},
         dynamic_shared,
         reinterpret_cast<const char*>(&words_),
         true,
         early_,
         cluster_});
  }
  // What the message contains; empty: there is no fault.
  std::string fault(const std::string& text, unsigned threads = 64) {
    try {
      launch(text, threads);
    } catch (const std::exception& e) { return e.what(); }
    return "";
  }
  static constexpr uint32_t kWords = 64;
  uint32_t* words_;
  bool early_ = false;
  unsigned cluster_ = 1;  // its blocks are the grid
};

void expect_says(const std::string& text, const std::string& what) {
  EXPECT_NE(text.find(what), std::string::npos) << "says: " << text;
}

TEST_F(Ptx, AnUnknownOpcodeIsNamedWithItsLine) {
  expect_says(fault(kernel("frobnicate.u32 %r2, %r1;")), "PTX line 18: an unknown opcode frobnicate.u32");
  expect_says(fault(kernel("add.u32 %r2, %r1, %q7;")), "an unknown operand %q7");
  expect_says(fault(kernel("bra $nowhere;")), "no such label");
  expect_says(fault(kernel("bar.sync 1;")), "a barrier of a part of the block");
}

TEST_F(Ptx, LanesThatPartMeetAgain) {
  // Odd threads add 1000, one lane of each warp goes round a loop, and all of them vote afterwards.
  launch(
      kernel("and.b32 %r2, %r1, 1;\nsetp.eq.s32 %p1, %r2, 0;\nmov.u32 %r3, %r1;\n@%p1 bra $even;\n"
             "add.s32 %r3, %r3, 1000;\n$even:\nand.b32 %r4, %r1, 31;\nsetp.ne.s32 %p2, %r4, 5;\n@%p2 bra $done;\n"
             "mov.u32 %r5, 0;\n$again:\nadd.s32 %r3, %r3, 1;\nadd.s32 %r5, %r5, 1;\nsetp.lt.s32 %p3, %r5, 7;\n"
             "@%p3 bra $again;\n$done:\nvote.sync.ballot.b32 %r6, %p1, -1;\nadd.s32 %r3, %r3, %r6;\n"
             "st.global.u32 [%rd2], %r3;"));
  for (uint32_t t = 0; t < kWords; ++t)
    EXPECT_EQ(words_[t], t + (t % 2 == 1 ? 1000 : 0) + (t % 32 == 5 ? 7 : 0) + 0x55555555u) << "thread " << t;
}

TEST_F(Ptx, EveryAccessIsAligned) {
  EXPECT_EQ(fault(kernel("shl.b32 %r2, %r1, 2;\nld.global.v2.u32 {%r3, %r4}, [%rd1+8];")), "");
  expect_says(fault(kernel("ld.global.v2.u32 {%r3, %r4}, [%rd2];")), "8 bytes at an address that is not a multiple");
  expect_says(fault(kernel("ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd1+8];")), "16 bytes at an address");
  expect_says(fault(kernel("ld.shared.u32 %r3, [room+2];", ".shared .align 4 .b8 room[16];\n")), "not a multiple");
}

TEST_F(Ptx, MemoryEndsWhereItEnds) {
  EXPECT_EQ(fault(kernel("ld.global.u32 %r3, [%rd1+252];")), "");
  expect_says(fault(kernel("ld.global.u32 %r3, [%rd1+256];")), "PTX line 18: 4 bytes");
  expect_says(fault(kernel("st.global.u32 [%rd2+4], %r1;")), "thread 63");
  expect_says(fault(kernel("ld.global.u32 %r3, [%rd1+-4];")), "beyond its end");
  const std::string room = ".shared .align 4 .b8 room[16];\n.shared .align 4 .b8 other[16];\n";
  EXPECT_EQ(fault(kernel("st.shared.u32 [room+12], %r1;\nst.shared.u32 [other], %r1;", room)), "");
  expect_says(fault(kernel("st.shared.u32 [room+16], %r1;", room)), "beyond its end");
  expect_says(fault(kernel("ld.param.u64 %rd3, [k_param_0+8];")), "beyond its end");
}

TEST_F(Ptx, LimitsOfALaunchAreChecked) {
  EXPECT_EQ(fault(kernel(""), 128), "");
  expect_says(fault(kernel(""), 129), "a block of 129 threads; its launch bounds allow 128");
  expect_says(fault(kernel("st.shared.u32 [room], %r1;", ".shared .align 4 .b8 room[49156];\n")),
              "49156 bytes of static shared memory; 49152 is the limit");
}

TEST_F(Ptx, BarriersAndMasksAreForThoseWhoAreThere) {
  expect_says(fault(kernel("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra $out;\nbar.sync 0;\n$out:")), "32 have returned");
  expect_says(fault(kernel("shfl.sync.bfly.b32 %r2, %r1, 1, 31, 1;")), "a lane is not in the mask that it gives");
  expect_says(fault(kernel("setp.lt.u32 %p1, %r1, 3;\n@%p1 bra $out;\nbar.warp.sync -1;\n$out:")), "waits for lanes");
  expect_says(fault(kernel("cp.async.ca.shared.global [room], [%rd1], 4, 4;\ncp.async.commit_group;",
                           ".shared .align 4 .b8 room[16];\n")),
              "a wait is missing");
}

TEST_F(Ptx, AnEarlyLaunchWaitsBeforeItReachesGlobalMemory) {
  const std::string
      waits = "griddepcontrol.wait;\ngriddepcontrol.launch_dependents;\n",
      copies = "cp.async.ca.shared.global [room], [%rd1], 4, 4;\ncp.async.commit_group;\ncp.async.wait_group 0;\n";
  const struct {
    std::string body, says;
  } cases[] = {
      {waits + "st.global.u32 [%rd2], %r1;", ""},
      {"st.shared.u32 [room], %r1;\n" + waits + copies, ""},
      {"ld.global.u32 %r2, [%rd2];\n" + waits, "thread 0, PTX line 19: global memory before griddepcontrol.wait"},
      {"st.u32 [%rd2], %r1;\n" + waits, "global memory before griddepcontrol.wait"},
      {copies + waits, "global memory before griddepcontrol.wait"},
      {"setp.ne.u32 %p1, %r1, 40;\n@%p1 griddepcontrol.wait;\nld.global.u32 %r2, [%rd1];",
       "thread 40, PTX line 21: global memory before griddepcontrol.wait"},
      {"griddepcontrol.launch_dependents;\ngriddepcontrol.wait;", "before it waited for the one before"},
      {"setp.lt.u32 %p1, %r1, 63;\n@%p1 bra $out;\n" + waits + "$out:", "thread 0, PTX line 24: ended without"},
      {"", "ended without griddepcontrol.wait"},
      {"ld.volatile.global.u32 %r2, [%rd1];\n" + waits, ""}};
  for (const auto& c : cases) {
    const std::string text = kernel(c.body, ".shared .align 16 .b8 room[16];\n");
    early_ = true;
    const std::string found = fault(text);
    EXPECT_EQ(found.empty(), c.says.empty()) << c.body;
    expect_says(found, c.says);
    early_ = false;
    EXPECT_EQ(fault(text), "") << "it begins when all before it has ended:\n" << c.body;
  }
}

// What comes before the wait runs before the launch before, whose threads write 100 and more to their words.
TEST_F(Ptx, AnEarlyLaunchRunsUntilItsWaitBeforeTheOneBefore) {
  const std::string
      waits = "griddepcontrol.wait;\ngriddepcontrol.launch_dependents;\n",
      room = ".shared .align 4 .b8 room[256];\n", first = kernel("add.u32 %r2, %r1, 100;\nst.global.u32 [%rd2], %r2;"),
      load = "ld.volatile.global.u32 %r3, [%rd2];\n", save = "st.global.u32 [%rd2], %r3;",
      exchange =
          "mov.u32 %r4, room;\nshl.b32 %r5, %r1, 2;\nadd.u32 %r6, %r4, %r5;\nst.shared.u32 [%r6], %r1;\nbar.sync 0;\n"
          "xor.b32 %r5, %r5, 128;\nadd.u32 %r6, %r5, %r4;\n",
      some_wait = "setp.lt.u32 %p1, %r1, 40;\n@%p1 bra $other;\n" + load + waits + "bra.uni $both;\n$other:\n" + waits +
                  load + "$both:\nbar.sync 0;\n" + save;
  const struct {
    const char* what;
    std::string body;
    uint32_t (*expected)(uint32_t thread);
  } cases[] = {
      {"after its wait it sees what the one before wrote", waits + load + save, [](uint32_t t) { return t + 100; }},
      {"a wait that comes too late", load + waits + save, [](uint32_t t) { return t; }},
      {"registers and shared memory stay, and barriers hold on both sides",
       exchange + waits +
           "ld.shared.u32 %r3, [%r6];\nld.global.u32 %r2, [%rd2];\nbar.sync 0;\nadd.u32 %r3, %r3, %r2;\n" + save,
       [](uint32_t t) { return (t ^ 32u) + t + 100; }},
      {"lanes of one warp wait at two places", some_wait, [](uint32_t t) { return t < 40 ? t + 100 : t; }},
      {"some wait before a barrier at which others stand",
       "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra $later;\n" + waits + "$later:\nbar.sync 0;\n@%p1 griddepcontrol.wait;\n" +
           load + save,
       [](uint32_t t) { return t + 100; }}};
  const Module before = read_module(first);
  for (const auto& c : cases) {
    for (uint32_t k = 0; k < kWords; ++k) words_[k] = k;
    const Module m = read_module(kernel(c.body, room));
    Launch early(m, m.functions.at("k"),
                 {{1, 1, 1}, {kWords, 1, 1}, 0, reinterpret_cast<const char*>(&words_), true, true});
    early.begin();
    run(before, before.functions.at("k"), {{1, 1, 1}, {kWords, 1, 1}, 0, reinterpret_cast<const char*>(&words_), true});
    early.run();
    for (uint32_t t = 0; t < kWords; ++t) ASSERT_EQ(words_[t], c.expected(t)) << c.what << ", thread " << t;
  }
}

// Two blocks of 32 threads: each writes its words, 100 more in the second block, and reads those of the other.
TEST_F(Ptx, BlocksOfAClusterReachEachOther) {
  cluster_ = 2;
  const std::string
      meet = "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n",
      place =
          "mov.u32 %r2, room;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r4, %r2, %r3;\nmov.u32 %r5, %cluster_ctarank;\n"
          "mad.lo.u32 %r6, %r5, 100, %r1;\nxor.b32 %r7, %r5, 1;\nshl.b32 %r9, %r5, 7;\ncvt.u64.u32 %rd3, %r9;\n"
          "add.u64 %rd2, %rd2, %rd3;\n",
      own = "st.shared.u32 [%r4], %r6;\n", other = "mapa.shared::cluster.u32 %r8, %r4, %r7;\n",
      load = "ld.shared::cluster.u32 %r6, [%r8];\n", save = "st.global.u32 [%rd2], %r6;\n",
      first = "setp.eq.u32 %p1, %r5, 0;\n", room = ".shared .align 4 .b8 room[128];\n";
  for (const emulation::Schedule::Order order :
       {emulation::Schedule::sequential, emulation::Schedule::reverse, emulation::Schedule::random}) {
    emulation::set_schedule({order, 1, 0});
    launch(kernel(place + own + meet + other + load + meet + save, room), 32);
    for (uint32_t t = 0; t < kWords; ++t) ASSERT_EQ(words_[t], t % 32 + (t < 32 ? 100 : 0)) << "it reads, word " << t;
    launch(kernel(place + meet + other + "st.shared::cluster.u32 [%r8], %r6;\n" + meet + "ld.shared.u32 %r6, [%r4];\n" +
                      save,
                  room),
           32);
    for (uint32_t t = 0; t < kWords; ++t) ASSERT_EQ(words_[t], t % 32 + (t < 32 ? 100 : 0)) << "it writes, word " << t;
    const struct {
      std::string body, says;
    } cases[] = {
        {place + own + other + load + meet + save, "before the first barrier of the cluster"},
        {place + own + meet + other + load + save, "end"},
        {place + own + meet + other + first + "@%p1 " + load + save, "end"},
        {place + own + meet + other + "ld.shared::cluster.u32 %r6, [%r8+128];\n" + meet, "in no memory that is there"},
        {place + "mapa.shared::cluster.u32 %r8, %r4, 2;\n", "names block 2 of a cluster of 2"},
        {place + first + "@%p1 bra $out;\n" + meet + "$out:\n", "wait for their cluster, of which 1 have ended"},
        {"setp.lt.u32 %p1, %r1, 5;\n@%p1 bra $out;\n" + meet + "$out:\n", "have returned"},
        {"barrier.cluster.wait.acquire.aligned;\n", "without having arrived"},
        {"barrier.cluster.arrive.release.aligned;\n", "and did not wait"},
        {"barrier.cluster.arrive.release.aligned;\n" + meet, "arrives twice"},
        {"barrier.cluster.arrive.aligned;\n", "an unknown opcode"}};
    for (const auto& c : cases) expect_says(fault(kernel(c.body, room), 32), c.says);
  }
  cluster_ = 9;
  expect_says(fault(kernel(""), 32), "8 fit on any GPU");
}

TEST_F(Ptx, MatricesComeFromTheLinesThatLanesName) {
  const std::string room = ".shared .align 16 .b8 room[512];\n";
  const auto loads = [&](const std::string& address) {  // line l: the numbers 8·l, 8·l + 1, …
    return kernel(
        "mov.u32 %r2, room;\nshl.b32 %r3, %r1, 4;\nadd.u32 %r4, %r2, %r3;\nshl.b32 %r5, %r1, 3;\n"
        "mad.lo.u32 %r5, %r5, 65537, 65536;\nst.shared.u32 [%r4], %r5;\nadd.u32 %r6, %r5, 131074;\n"
        "st.shared.u32 [%r4+4], %r6;\nadd.u32 %r6, %r6, 131074;\nst.shared.u32 [%r4+8], %r6;\n"
        "add.u32 %r6, %r6, 131074;\nst.shared.u32 [%r4+12], %r6;\nbar.sync 0;\n"
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r7, %r8, %r9, %r10}, [" +
            address +
            "];\n"
            "st.global.u32 [%rd2], %r9;",
        room);
  };
  launch(loads("%r4"), 32);
  for (uint32_t t = 0; t < 32; ++t) {
    const uint32_t first = 8 * (16 + t / 4) + 2 * (t % 4);
    EXPECT_EQ(words_[t], first | (first + 1) << 16) << "line t / 4 of the third matrix";
  }
  expect_says(fault(loads("%r4+8"), 32), "16 bytes at an address that is not a multiple");
  expect_says(fault(loads("%r4+512"), 32), "in no memory that is there");
  expect_says(fault(loads("%r4"), 31), "names lanes that are not there");
  expect_says(fault(kernel("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r7, %r8}, [room];", room)), "an unknown opcode");
}

// Each thread writes a word and reads the one of a thread in another warp.
std::string exchange() {
  return kernel(
      "mov.u32 %r2, room;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r4, %r2, %r3;\nst.shared.u32 [%r4], %r1;\n"
      "bar.sync 0;\nxor.b32 %r5, %r3, 128;\nadd.u32 %r5, %r5, %r2;\nld.shared.u32 %r6, [%r5];\n"
      "st.global.u32 [%rd2], %r6;",
      ".shared .align 4 .b8 room[256];\n");
}

std::string with_bug(const char* bug, const std::string& text) {
  setenv("TESSERA_PTX_BUG", bug, 1);
  const std::string changed = mutated(text);
  unsetenv("TESSERA_PTX_BUG");
  return changed;
}

TEST_F(Ptx, ABarrierThatIsTakenOutChangesWhatIsRead) {
  for (const emulation::Schedule::Order order : {emulation::Schedule::sequential, emulation::Schedule::reverse}) {
    emulation::set_schedule({order, 0, 0});
    launch(exchange());
    for (uint32_t t = 0; t < kWords; ++t) EXPECT_EQ(words_[t], t ^ 32u);
  }
  launch(with_bug("k:bar.sync:0", exchange()));
  uint32_t wrong = 0;
  for (uint32_t t = 0; t < kWords; ++t) wrong += words_[t] != (t ^ 32u) ? 1 : 0;
  EXPECT_EQ(wrong, 32u) << "shared memory that nobody has written to is NaN";
}

TEST_F(Ptx, ABugIsPlantedInOneInstructionOfOneKernel) {
  launch(with_bug("k:xor.b32:0:and.b32", exchange()));
  for (uint32_t t = 0; t < kWords; ++t) EXPECT_EQ(words_[t], t & 32u) << "the second operand is 128, a bit of t * 4";
  const std::string turned = with_bug("k:add.u32:1:sub.u32", exchange());
  EXPECT_NE(turned.find("add.u32 %r4, %r2, %r3;"), std::string::npos) << "the first one stays";
  EXPECT_NE(turned.find("sub.u32 %r5, %r5, %r2;"), std::string::npos);
  for (const char* nowhere : {"k:xor.b32:1:and.b32", "other:xor.b32:0:and.b32"})
    EXPECT_EQ(with_bug(nowhere, exchange()), exchange()) << nowhere;
}

TEST_F(Ptx, CallsAndTheirParametersAndLocalMemory) {
  const std::string function =
      ".func (.param .b32 func_retval0) twice(\n.param .b32 twice_param_0,\n.param .b64 twice_param_1\n)\n{\n" +
      std::string(kRegisters) +
      "ld.param.u32 %r1, [twice_param_0];\nld.param.u64 %rd1, [twice_param_1];\nld.u32 %r2, [%rd1];\n"
      "add.s32 %r1, %r1, %r2;\nst.param.b32 [func_retval0+0], %r1;\nret;\n}\n";
  const std::string caller = kernel(
      "mov.u64 %rd3, depot;\ncvta.local.u64 %rd4, %rd3;\nst.local.u32 [%rd3+4], %r1;\nadd.u64 %rd4, %rd4, 4;\n"
      "{\n.param .b32 param0;\nst.param.b32 [param0+0], %r1;\n.param .b64 param1;\nst.param.b64 [param1+0], %rd4;\n"
      ".param .b32 retval0;\ncall.uni (retval0),\ntwice,\n(\nparam0,\nparam1\n);\nld.param.b32 %r5, [retval0+0];\n}\n"
      "st.global.u32 [%rd2], %r5;",
      ".local .align 8 .b8 depot[8];\n");
  launch(std::string(kHead) + function + caller.substr(std::strlen(kHead)));
  for (uint32_t t = 0; t < kWords; ++t) EXPECT_EQ(words_[t], 2 * t);
}

}  // namespace
}  // namespace tessera::ptx
