// Every k-th allocation of a process fails: it ends with an exit code that is documented, and no file is lost or half
// written.
#include <sys/wait.h>

#include <csignal>

#include "cli/program.h"

namespace {

class CliFailingMemory : public Cli {
 protected:
  int failing(int each, const Line& line) const {
    std::string command = "cd '" + folder_.string() + "' && FAIL_AT=" + std::to_string(each) +
                          " LD_PRELOAD=" + TESSERA_FAILING_MEMORY + " " + TESSERA_PROGRAM;
    for (const std::string& word : line) command += " '" + word + "'";
    const int status = std::system((command + " > .out 2> .err").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // Some failures can be done without: then the command succeeds. The destructors of JSON values need memory: one that
  // gets none ends the process.
  static constexpr int kAborted = 128 + SIGABRT;
  static bool is_documented(int code) { return code == 0 || code == 5 || code == kAborted; }
  void expect_only(const Line& names) const {
    Line all;
    for (const std::string& name : files())
      if (name != ".out" && name != ".err") all.push_back(name);
    EXPECT_EQ(all, names);
  }
  static std::vector<int> periods() {
    std::vector<int> all;
    for (int k = 50; k < 1000; k += 95) all.push_back(k);
    for (int k = 1000; k < 300'000; k = k * 3 / 2) all.push_back(k);
    return all;
  }
};

TEST_F(CliFailingMemory, OfFitLeavesAWholeModelOrNone) {
  example(200);
  const Line fit =
      "fit people.csv --model m.tessera --method tvae --preset paper --epochs 2 --quiet --threads 2 --force";
  int failed = 0;
  for (const int k : periods()) {
    const int code = failing(k, fit);
    EXPECT_TRUE(is_documented(code)) << "every " << k << "-th allocation: " << code << " " << read(".err");
    failed += code == 5 ? 1 : 0;
    EXPECT_TRUE(code != 5 || has(read(".err"), "memory")) << read(".err");
    EXPECT_TRUE(code != 0 || exists("m.tessera"));
    if (exists("m.tessera")) {
      must("sample m.tessera --rows 3 --output s.csv --force --quiet");
      std::filesystem::remove(folder_ / "s.csv");
    }
    if (code == kAborted) std::filesystem::remove(folder_ / "m.tessera.lock");  // as of a kill
    for (const char* name : {"m.tessera", "m.tessera.checkpoint", "m.tessera.checkpoint.previous"})
      std::filesystem::remove(folder_ / name);
    expect_only({"people.csv"});
  }
  EXPECT_GT(failed, 5);
}

TEST_F(CliFailingMemory, OfSampleLeavesTheOldFileOrTheNewOne) {
  model();
  const Line sample = "sample m.tessera --rows 500 --output s.csv --force --quiet";
  must(sample);
  const std::string whole = read("s.csv"), bytes = read("m.tessera");
  write("s.csv", "old");
  for (const int k : periods()) {
    const int code = failing(k, sample);
    EXPECT_TRUE(is_documented(code)) << "every " << k << "-th allocation: " << code << " " << read(".err");
    const std::string rows = read("s.csv");
    EXPECT_TRUE(rows == whole || (code != 0 && rows == "old")) << k;
    EXPECT_EQ(read("m.tessera"), bytes);
    write("s.csv", "old");
  }
}

}  // namespace
