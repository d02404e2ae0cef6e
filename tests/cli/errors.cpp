// What goes wrong on a command line: the exit code, a message with a place and a way out, and nothing left behind.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "cli/program.h"

namespace {

class CliErrors : public Cli {
 protected:
  void expect(int code, const std::string& part, const Line& arguments, const std::string& input = "") {
    const auto before = files();
    const Outcome o = run(arguments, input);
    EXPECT_EQ(o.code, code) << o.err;
    EXPECT_HAS(o.err, part);
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(files(), before) << "nothing is left behind";
  }
};

TEST_F(CliErrors, RejectsWrongUsage) {
  example();
  expect(2, "no command given", {});
  expect(2, "frobnicate", {"frobnicate"});
  expect(2, "--model", "fit -");
  expect(2, "--epochs", "fit people.csv --model m.tessera --epochs many");
  expect(2, "--epochs", "fit people.csv --model m.tessera --epochs -4");
  expect(2, "not a multiple of --pac 10", "fit people.csv --model m.tessera --method ctgan --batch-size 55");
  expect(2, "--learning-rate 7", "fit people.csv --model m.tessera --learning-rate 7");
  expect(2, "best", "fit people.csv --model m.tessera --preset worst");
  expect(2, "--delimiter", "inspect people.csv --delimiter ab");
  expect(2, "name=value", "inspect people.csv --types age");
  expect(2, "standard output", "sample m.tessera --rows 5 --output - --json");
  expect(2, "--threads", "info --threads 0");
}

// 0 leaves the default in the C interface; on the command line, who wants it omits the option (docs/use/limits.md).
TEST_F(CliErrors, ZeroIsNotADefault) {
  model();
  for (const char* option : {"--threads", "--batch-size", "--max-tries"})
    expect(2, option, {"sample", "m.tessera", "--rows", "3", "--output", "-", option, "0"});
  for (const char* option : {"--threads", "--virtual-shards", "--layers"})
    expect(2, option, {"plan", "people.csv", option, "0"});
  must("plan people.csv --method timegan --sequence-length 4 --layers 0");
}

TEST_F(CliErrors, ReportsMissingInput) {
  expect(4, "nowhere.csv", "inspect nowhere.csv");
  expect(4, "nowhere.csv", "fit nowhere.csv --model m.tessera");
  expect(4, "nowhere.tessera", "sample nowhere.tessera --rows 5 --output o.csv");
  expect(4, "directory", "inspect .");
}

TEST_F(CliErrors, ChecksOutputsBeforeTheWork) {
  write("m.tessera", "old");
  // The data do not exist either: that the output is named shows that it was looked at first.
  expect(4, "--force", "fit nowhere.csv --model m.tessera");
  expect(4, "mkdir -p", "fit nowhere.csv --model no/m.tessera");
  expect(4, "directory", "fit nowhere.csv --model .");
  expect(4, "--force", "fit nowhere.csv --model n.tessera --log m.tessera");
  expect(4, "--force", "sample nowhere.tessera --rows 5 --output m.tessera");
  EXPECT_EQ(read("m.tessera"), "old");
}

TEST_F(CliErrors, ForceReplaces) {
  example();
  write("m.tessera", "old");
  must("fit people.csv --model m.tessera --force --epochs 0");
  write("o.csv", "old");
  must("sample m.tessera --rows 3 --output o.csv --force");
  EXPECT_EQ(lines(read("o.csv")), 4);
}

TEST_F(CliErrors, RejectsFilesThatAreNotModels) {
  model();
  const std::string whole = read("m.tessera");
  write("text.tessera", "this is not a model");
  write("empty.tessera", "");
  write("cut.tessera", whole.substr(0, whole.size() / 2));
  write("longer.tessera", whole + "x");
  write("foreign.tessera", std::string("\x02\0\0\0\0\0\0\0{}", 10));
  for (const char* name : {"text", "empty", "cut", "longer", "foreign"})
    expect(8, name, {"sample", std::string(name) + ".tessera", "--rows", "5", "--output", "o.csv"});
  expect(8, "foreign", "inspect foreign.tessera");
}

TEST_F(CliErrors, RejectsImpossibleConditions) {
  model();
  expect(7, "kindergarten", {"sample", "m.tessera", "--rows", "5", "--output", "o.csv", "--where", "kindergarten = 1"});
  expect(2, "^", {"sample", "m.tessera", "--rows", "5", "--output", "o.csv", "--where", "= = ="});
}

TEST_F(CliErrors, RejectsTablesWithDifferentColumns) {
  write("a.csv", "x,y\n1,u\n2,v\n3,w\n");
  write("b.csv", "x,z\n1,u\n2,v\n3,w\n");
  const Outcome o = run("evaluate a.csv b.csv");
  EXPECT_EQ(o.code, 3) << o.err;
  EXPECT_HAS(o.err, "\"y\"");
}

TEST_F(CliErrors, RejectsUnpredictableTargets) {
  example();
  expect(2, "--holdout", "evaluate people.csv people.csv --target gender");
  expect(2, "--without-utility",
         "evaluate people.csv people.csv --holdout people.csv --target gender --without-utility");
  for (const char* none : {"kindergarten", "person_id"}) {
    const Outcome o = run({"evaluate", "people.csv", "people.csv", "--holdout", "people.csv", "--target", none});
    EXPECT_EQ(o.code, 3) << o.err;
    EXPECT_HAS(o.err, none);
    EXPECT_HAS(o.err, "gender");  // one of those there are
  }
}

TEST_F(CliErrors, ReportsAFullStandardOutput) {
  const std::string command = std::string(TESSERA_PROGRAM) + " info > /dev/full 2> " + (folder_ / "err").string();
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 4);
  EXPECT_HAS(read("err"), "Standard output");
}

TEST_F(CliErrors, ReportsAFullDisk) {
  example();
  const std::string in = "cd " + folder_.string() + " && ", limit = "ulimit -f 1; trap '' XFSZ; ";
  // Blocks of 512 or 1024 bytes: more than one is needed either way.
  EXPECT_EQ(WEXITSTATUS(std::system(
                (in + "bash -c \"" + limit + TESSERA_PROGRAM + " example big.csv --rows 20000 2> err\"").c_str())),
            4);
  EXPECT_FALSE(exists("big.csv"));
  EXPECT_HAS(read("err"), "big.csv");
  EXPECT_EQ(files(), (std::vector<std::string>{"err", "people.csv"}));
}

TEST_F(CliErrors, SignalsLeaveNoPartialFile) {
  example();
  for (const int number : {SIGINT, SIGTERM}) {
    Running fit(folder_, "fit people.csv --model m.tessera --method tvae --epochs 1000000 --log losses.csv --force",
                "");
    ASSERT_TRUE(fit.wait_for_error_text("train")) << "a line of progress comes within seconds";
    fit.signal(number);
    const Outcome o = fit.wait();
    EXPECT_EQ(o.code, 128 + number) << o.err;
    EXPECT_HAS(o.err, "stopped by");
    EXPECT_EQ(files(), (std::vector<std::string>{"losses.csv", "m.tessera.checkpoint", "people.csv"}));
  }
}

TEST_F(CliErrors, SignalsInterruptAWaitingRead) {
  std::filesystem::path pipe = folder_ / "pipe";
  const std::string command = "mkfifo " + pipe.string() + " && (sleep 30 > " + pipe.string() + " & echo $! > " +
                              (folder_ / "sleeper").string() + "; timeout --signal=INT --preserve-status 1 " +
                              TESSERA_PROGRAM + " inspect - < " + pipe.string() + " 2> " + (folder_ / "err").string() +
                              "; code=$?; kill $(cat " + (folder_ / "sleeper").string() + "); exit $code)";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 130);
  EXPECT_HAS(read("err"), "stopped by Ctrl-C");
}

}  // namespace
