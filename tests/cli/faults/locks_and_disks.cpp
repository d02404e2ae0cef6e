// Two fits of one model, disks that fail, tables larger than their memory: on the real program.
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "cli/program.h"

namespace {

class CliDisks : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    example(400);
  }
  static Line fit(const std::string& model, const Line& more = {}) {
    return Line{"fit", "people.csv", "--model", model, "--method", "tvae", "--epochs", "8"} +
           "--batch-size 50 --calibrate off --encoder-dim 32 --decoder-dim 32 --checkpoint-every 1epochs" + more;
  }
  static Line endless(const std::string& model, const Line& more = {}) {
    Line line = fit(model, more);
    line[7] = "100000000";
    return line;
  }
  // The line under a failing disk: what is done to files of `where` fails.
  int failing(const std::filesystem::path& where, const char* call, int error, const Line& line) const {
    std::string command = "cd '" + folder_.string() + "' && FAIL_FOLDER='" + where.string() + "' FAIL_CALL=" + call +
                          " FAIL_ERROR=" + std::to_string(error) + " LD_PRELOAD=" + TESSERA_FAILING_DISK + " " +
                          TESSERA_PROGRAM;
    for (const std::string& word : line) command += " '" + word + "'";
    const int status = std::system((command + " > out 2> err").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void drop(const std::string& name) const { std::filesystem::remove_all(folder_ / name); }
};

TEST_F(CliDisks, RejectsASecondFitOfOneModel) {
  Running first(folder_, endless("m.tessera"), "");
  ASSERT_TRUE(first.wait_for_error_text("train"));
  for (const Line& more : {Line{}, Line("--resume"), Line("--force")}) {
    const Outcome o = run(fit("m.tessera", more));
    EXPECT_EQ(o.code, 4);
    EXPECT_HAS(o.err, "m.tessera: another tessera fit (process ");
    EXPECT_HAS(o.err, "another --model");
  }
  must(fit("other.tessera"));
  first.signal(SIGKILL);
  EXPECT_EQ(first.wait().code, 128 + SIGKILL);
  EXPECT_TRUE(exists("m.tessera.lock")) << "a kill leaves the file, not the lock";
  must(fit("m.tessera", "--force"));
  EXPECT_EQ(files(), (Line("m.tessera other.tessera people.csv")));
}

TEST_F(CliDisks, FailingDiskLosesNoTraining) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's library must come first";
#endif
  must(fit("m.tessera"));
  const std::string bytes = read("m.tessera");
  drop("m.tessera");
  for (const auto& [call, error, said] : {std::tuple{"write", EIO, "Input/output error"},
                                          {"write", ENOSPC, "the disk is full"},
                                          {"fsync", EIO, "Input/output error"}}) {
    EXPECT_EQ(failing(folder_, call, error, fit("m.tessera")), 4) << read("err");
    const std::string err = read("err");
    EXPECT_HAS(err, said);
    EXPECT_HAS(err, "Training continues");
    const size_t at = err.find("saved in ") + 9;
    const std::filesystem::path elsewhere = err.substr(at, err.find(" instead") - at);
    ASSERT_TRUE(std::filesystem::exists(elsewhere)) << err;
    EXPECT_EQ(std::filesystem::status(elsewhere).permissions() & std::filesystem::perms(077),
              std::filesystem::perms::none)
        << "the folder is shared";
    std::filesystem::rename(elsewhere, folder_ / "found.tessera");
    EXPECT_TRUE(read("found.tessera") == bytes) << call;
    for (const char* name : {"found.tessera", "out", "err"}) drop(name);
    EXPECT_EQ(files(), (Line("people.csv"))) << "nothing half-written";
  }
}

TEST_F(CliDisks, KeepsTheCheckpointOfAnUnreadableModel) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's library must come first";
#endif
  must(fit("m.tessera"));
  const std::string bytes = read("m.tessera");
  drop("m.tessera");
  EXPECT_EQ(failing(folder_, "damage", 0, fit("m.tessera")), 8);
  const std::string err = read("err");
  EXPECT_HAS(err, "cannot be opened");
  EXPECT_HAS(err, "The training is saved in m.tessera.checkpoint");
  EXPECT_TRUE(exists("m.tessera.checkpoint"));
  must(fit("m.tessera", "--resume --force"));
  EXPECT_TRUE(read("m.tessera") == bytes);
  EXPECT_FALSE(exists("m.tessera.checkpoint"));
}

TEST_F(CliDisks, LeavesNoFileIfRowsCannotBeWritten) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's library must come first";
#endif
  must(fit("m.tessera"));
  for (const int error : {EIO, ENOSPC})
    EXPECT_EQ(failing(folder_, "write", error, "sample m.tessera --rows 50 --output s.csv"), 4) << read("err");
  EXPECT_FALSE(exists("s.csv"));
}

// The arrays of this table do not fit into half of the limit; networks and activations fit into all of it.
TEST_F(CliDisks, FitsALargeTableInLittleMemory) {
  drop("people.csv");
  example(40000);
  const auto line = [](const Line& more) {
    return "fit people.csv --model m.tessera --method ctgan --epochs 1 --batch-size 500 --preset paper --generator-dim "
           "16 "
           "--discriminator-dim 16 --force --threads 2" +
           more;
  };
  must(line({}));
  const std::string whole = read("m.tessera");
  drop("m.tessera");
  Outcome o = run(line("--memory-limit 22MB --scratch off"));
  EXPECT_EQ(o.code, 5) << o.err;
  EXPECT_HAS(o.err, "--memory-limit");
  std::filesystem::create_directory(folder_ / "scratch");
  must(line("--memory-limit 22MB --scratch scratch"));
  EXPECT_TRUE(read("m.tessera") == whole);
  must(line("--memory-limit 22MB"));
  EXPECT_TRUE(read("m.tessera") == whole);
  drop("m.tessera");

  o = run(line("--memory-limit 22MB --scratch nowhere"));
  EXPECT_EQ(o.code, 4);
  EXPECT_HAS(o.err, "nowhere: no scratch file can be created in this folder: there is no such folder");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_EQ(failing(folder_ / "scratch", "posix_fallocate", ENOSPC, line("--memory-limit 22MB --scratch scratch")), 4);
  EXPECT_HAS(read("err"), "the disk is full");
  EXPECT_HAS(read("err"), "--scratch");
#endif
  EXPECT_FALSE(exists("m.tessera"));
  Line forever = line("--memory-limit 22MB --scratch scratch");
  forever[7] = "1000000";
  for (const int number : {SIGKILL, SIGTERM}) {
    Running begun(folder_, forever, "");
    ASSERT_TRUE(begun.wait_for_error_text("train"));
    begun.signal(number);
    EXPECT_EQ(begun.wait().code, 128 + number);
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "scratch"));
  }
}

}  // namespace
