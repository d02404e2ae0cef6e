// Ranks and parts on the command line: what N ranks write is what one writes, and what cannot be shared is refused
// before any work.
#include "cli/program.h"

namespace {

class CliRanks : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    example(200);
  }
  Outcome refused(const Line& more, int code) {
    const Outcome out = run("fit people.csv --model m --epochs 1" + more);
    EXPECT_EQ(out.code, code) << out.err;
    EXPECT_FALSE(exists("m"));
    return out;
  }
};

TEST_F(CliRanks, TwoRanksWriteTheModelOfOne) {
  for (const char* devices : {"1", "2"})
    must({"fit", "people.csv", "--model", devices, "--epochs", "2", "--batch-size", "64", "--calibrate", "off",
          "--devices", devices, "--virtual-shards", "2"});
  EXPECT_TRUE(read("1") == read("2"));
}

TEST_F(CliRanks, ColumnParallelRanksWriteTheModelOfOne) {
  for (const char* devices : {"1", "2"})
    must({"fit", "people.csv", "--model", devices, "--method", "tvae", "--epochs", "2", "--batch-size", "64",
          "--calibrate", "off", "--devices", devices, "--virtual-shards", "2", "--parallel", "model"});
  EXPECT_TRUE(read("1") == read("2"));
  EXPECT_HAS(refused("--method made --devices 2 --parallel model", 9).err, "--parallel data");
  EXPECT_HAS(refused("--method tvae --devices 2 --parallel columns", 2).err, "--parallel");
}

TEST_F(CliRanks, RejectsUnsupportedParallelFits) {
  EXPECT_HAS(refused("--devices 3 --virtual-shards 4", 2).err, "3 ranks cannot divide them evenly");
  EXPECT_HAS(refused("--devices some", 2).err, "--devices some");
  EXPECT_HAS(refused("--method ctgan --batch-size 40 --pac 10 --devices 8", 2).err,
             "has 4 parts that can be computed separately");
}

TEST_F(CliRanks, PartsTogetherEqualTheSample) {
  must("fit people.csv --model m --epochs 1 --calibrate off");
  must("sample m --rows 100 --output whole.csv");
  std::string together;
  for (const char* part : {"0", "1", "2"}) {
    must({"sample", "m", "--rows", "100", "--output", "rows.csv", "--part", std::string(part) + "/3"});
    const std::string rows = read("rows-0000" + std::string(part) + ".csv");
    together += together.empty() ? rows : rows.substr(rows.find('\n') + 1);
  }
  EXPECT_EQ(together, read("whole.csv"));
  must("sample m --rows 100 --output rows.csv.gz --part 1/3");
  EXPECT_FALSE(read("rows-00001.csv.gz").empty());
  for (const char* wrong : {"3/3", "-1/3", "1", "1/", "a/b", "0/0"}) {
    const Outcome out = run({"sample", "m", "--rows", "9", "--output", "x.csv", std::string("--part=") + wrong});
    EXPECT_EQ(out.code, 2) << wrong;
    EXPECT_HAS(out.err, "it must be I/N");
  }
  EXPECT_EQ(run("sample m --rows 9 --output - --part 0/2").code, 2);
}

}  // namespace
