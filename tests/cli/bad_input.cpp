// tests/errors.md, row by row, on the command line: the exit code, the message, and that no file is left behind.
#include <sys/wait.h>

#include "cli/program.h"

namespace {

class BadInput : public Cli {
 protected:
  void refused(int code, const std::vector<std::string>& parts, const Line& arguments) {
    const auto before = files();
    const Outcome o = run(arguments);
    EXPECT_EQ(o.code, code) << arguments[0] << ": " << o.err;
    for (const std::string& part : parts) EXPECT_HAS(o.err, part);
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(files(), before);
  }
  // A line for the shell, with $tessera, in the test's folder. Standard error goes to the file "err".
  int shell(const std::string& line) {
    const std::string command =
        "cd " + folder_.string() + " && tessera=" + TESSERA_PROGRAM + " && exec 2> err && " + line;
    return WEXITSTATUS(std::system(("bash -c '" + command + "'").c_str()));
  }
};

struct BadTable {
  const char* what;
  std::string bytes;
  std::vector<std::string> parts;
};

TEST_F(BadInput, RejectsFilesThatAreNotTables) {
  const BadTable tables[] = {
      {"ragged", "a,b\n1,2\n3\n", {"t.csv:3:", "1 field", "--delimiter"}},
      {"quote", "a,b\n1,\"2\n3,4\n", {"t.csv:2:", "\"b\"", "never closed"}},
      {"after quote", "a,b\n1,\"x\" y\n", {"t.csv:2:", "\"b\"", "closing quote"}},
      {"latin1", "a,b\n1,caf\xE9\xC3\xA9\n", {"t.csv:2:", "\"b\"", "0xE9", "iconv"}},
      {"utf-16", std::string("\xFF\xFE\x61\x00\x2C", 5), {"t.csv:", "UTF-16", "byte 4"}},
      {"nul", std::string("a,b\n1,x\0y\n", 10), {"t.csv:2:", "\"b\"", "NUL"}},
      {"empty", "", {"t.csv", "empty"}},
      {"blank", "\n\n \n", {"t.csv", "blank lines"}},
      {"header only", "a,b\n", {"t.csv", "no row of values", "--header no"}},
      {"no name", "a,,c\n1,2,3\n", {"t.csv:1:", "column 2", "no name"}},
      {"infinity", "a,b\n1,2\n3,-inf\n", {"t.csv:3:", "\"b\"", "\"-inf\"", "--missing"}},
      {"too large", "a,b\n1,2\n3,1e999\n", {"t.csv:3:", "\"b\"", "\"1e999\"", "--types b=category"}},
  };
  for (const BadTable& t : tables) {
    SCOPED_TRACE(t.what);
    write("t.csv", t.bytes);
    refused(3, t.parts, "inspect t.csv");
    refused(3, t.parts, "fit t.csv --model m.tessera");
    refused(3, t.parts, "plan t.csv");
  }
}

TEST_F(BadInput, AcceptsSmallTables) {
  const std::string column = "a\n1\n2\n3\n4\n", missing = "a,b\n1,\n2,\n3,\n", row = "a,b\n1,x\n",
                    constant = "c\nk\nk\n";
  for (const std::string& bytes : {column, missing, row, constant}) {
    SCOPED_TRACE(bytes);
    write("t.csv", bytes);
    must("fit t.csv --model m.tessera --epochs 2 --force");
    must("sample m.tessera --rows 7 --output o.csv --force");
    EXPECT_EQ(lines(read("o.csv")), 8);
    EXPECT_EQ(read("o.csv").substr(0, read("o.csv").find('\n')), bytes.substr(0, bytes.find('\n')));
    must("evaluate t.csv o.csv");
  }
  refused(3, {"only constants", "plan"}, "plan t.csv");
}

TEST_F(BadInput, RejectsTypesThatDoNotFitTheTable) {
  write("t.csv", "age,city\n1,x\n2,y\n3,x\n");
  refused(2, {"\"agee\"", "Nearest: \"age\""}, "inspect t.csv --types agee=category");
  refused(2, {"\"float\"", "decimal"}, "inspect t.csv --types age=float");
  refused(3, {"t.csv:2:", "\"city\"", "\"x\"", "--types city=category"}, "inspect t.csv --types city=integer");
}

TEST_F(BadInput, ChecksOptionsBeforeReadingTheTable) {
  // The table does not exist: the message is still about the options.
  const auto fit = [&](int code, const std::string& part, const Line& more) {
    refused(code, {part}, "fit nowhere.csv --model m.tessera" + more);
  };
  fit(2, "--batch-size 55", "--method ctgan --batch-size 55");
  fit(2, "--batch-size 500 is not a multiple of --pac 7", "--pac 7");  // an option of ctgan's own asks for ctgan
  fit(2, "pac 10. 10 is.", "--method ctgan --batch-size 3");
  fit(2, "pac 10. 50 or 60 is.", "--method ctgan --batch-size 55");
  fit(2, "--generator-dim 256-256: it must be the widths of its layers", "--generator-dim 256-256");
  fit(2, "--epochs 1e6: it must be a whole number from 0", "--epochs 1e6");
  for (const char* million : {"1e6", "1,000,000", "1M", "1.5"})
    fit(2, "written with digits only (1000000)", {"--max-rows", million});
  fit(2, "--threads: 4097 is not a whole number from 1 to 4,096", "--threads 4097");
  refused(2, {"--rows: 9223372036854775808 is not a whole number from 0"},
          "sample nowhere.tessera --output - --rows 9223372036854775808");
  refused(2, {"--batch-size: 16777217 is not a whole number from 1 to 16,777,216"},
          "sample nowhere.tessera --output - --rows 1 --batch-size 16777217");
  fit(5, "A memory limit of 1 byte leaves nothing: the program itself takes 16.0 MB", "--memory-limit 1");
  for (const char* seed : {"-1", "18446744073709551616", "1.5", "--json"})
    fit(2, std::string(seed) + " is not a seed: a whole number from 0", {"--seed", seed});
  for (const char* bytes : {"-1", "99999999999999999999", "1.5G", "much"})
    fit(2, std::string(bytes) + " is not a number of bytes", {"--memory-limit", bytes});
  fit(2, "--batch-size 1", "--batch-size 1 --pac 1");
  fit(2, "--learning-rate nan", "--learning-rate nan");
  fit(2, "--generator-dim", "--generator-dim 256,0");
  fit(2, "paper", "--preset worst");
  fit(2, "ctgan", "--method vae");
  fit(2, "gather", "--passes-off nothing");
  fit(2, "off, auto and all", "--recompute some");
  fit(2, "--precision fp8: known are fp32, tf32, bf16, fp16 and auto", "--precision fp8");
  fit(2, "--numbers quantiles: known are modes and bins", "--numbers quantiles");
  fit(2, "--numbers modes: --method made holds numbers as bins", "--method made --numbers modes");
  fit(2, "--numbers bins: --method timegan holds numbers as positions",
      "--method timegan --sequence-length 4 --numbers bins");
  fit(2, "name=value", "--types age");
  fit(2, "name of a file", "--log -");
  fit(4, "mkdir -p", "--log no/losses.csv");
  refused(2, {"--model, --log and --report"}, "fit nowhere.csv --model -");
  refused(2, {"needs a name"}, {"fit", "nowhere.csv", "--model", ""});
  refused(2, {"--passes-off", "nothing"}, "plan nowhere.csv --passes-off nothing");
  refused(2, {"--fusion", "--device cuda"}, "plan nowhere.csv --fusion");
}

TEST_F(BadInput, ConditionErrorsNamePositionAndNearestName) {
  model();
  const auto where = [&](int code, const std::vector<std::string>& parts, const std::string& condition) {
    refused(code, parts, {"sample", "m.tessera", "--rows", "5", "--output", "o.csv", "--where", condition});
    refused(code, parts, {"sample", "m.tessera", "--rows", "5", "--output", "-", "--where", condition});
  };
  where(2, {"position 6", "expected a value", "    age >\n         ^"}, "age >");
  where(2, {"position 12", "expected a column"}, "age = 40 or");
  where(2, {"position 10", "\"and\", \"or\""}, "age = 40 xor age = 50");
  where(7, {"\"agee\"", "Nearest: \"age\""}, "agee > 3");
  where(7, {"\"Northprt\"", "Nearest: \"Northport\"", "8 values"}, "city = 'Northprt'");
  where(7, {"\"age\"", "whole numbers"}, "age > 'x'");
  where(7, {"\"age > 500\"", "\"age\" holds 1", "Nothing was sampled"}, "age > 500 and income > 0");
  where(7, {"both \"age > 50\" and \"age < 30\""}, "age > 50 and age < 30");
  where(2, {"--where", "empty"}, "");
  where(2, {"--where", "empty"}, "  ");
}

TEST_F(BadInput, RejectsForeignModelFiles) {
  model();
  const std::string whole = read("m.tessera");
  const auto model_of = [&](const std::string& what, const std::string& bytes) {
    SCOPED_TRACE(what);
    write("bad.tessera", bytes);
    refused(8, {"bad.tessera"}, "sample bad.tessera --rows 5 --output o.csv");
  };
  const auto with_header = [](const std::string& header) {
    std::string bytes(8, '\0');
    for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> 8 * i & 0xFF);
    return bytes + header;
  };
  model_of("empty", "");
  model_of("text", "age,city\n1,x\n2,y\n");
  for (const size_t size : {size_t{4}, size_t{8}, size_t{100}, whole.size() / 2, whole.size() - 1})
    model_of("cut", whole.substr(0, size));
  model_of("longer", whole + '\0');
  model_of("endless header", std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F{}", 10));
  model_of("nested", with_header(std::string(100'000, '[')));
  model_of("no tensor of ours", with_header("{}"));
  model_of("huge tensor", with_header(R"({"x":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})"));
  model_of("offsets outside", with_header(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"));
  // The metadata of a model of ours, a character changed at a time.
  for (size_t at = 8; at < whole.size() && at < 6000; at += 97) {
    std::string damaged = whole;
    damaged[at] = damaged[at] == '9' ? '8' : '9';
    write("bad.tessera", damaged);
    const Outcome o = run("sample bad.tessera --rows 5 --output - --quiet");
    EXPECT_TRUE(o.code == 0 || o.code == 8 || o.code == 5) << at << ": " << o.code << o.err;
  }
}

TEST_F(BadInput, ReportsUnwritableOutputs) {
  model();
  refused(4, {"people.csv", "the file exists", "--force"}, "sample m.tessera --rows 5 --output people.csv");
  refused(4, {"no directory no", "mkdir -p"}, "sample m.tessera --rows 5 --output no/o.csv");
  refused(4, {"directory"}, "sample m.tessera --rows 5 --output .");
  EXPECT_EQ(shell("ulimit -f 4; trap \"\" XFSZ; $tessera sample m.tessera --rows 20000 --output o.csv --quiet"), 4);
  EXPECT_HAS(read("err"), "allowed size");
  EXPECT_FALSE(exists("o.csv"));
  EXPECT_EQ(shell("$tessera sample m.tessera --rows 5 --output /dev/full --quiet"), 4);
  EXPECT_HAS(read("err"), "disk is full");
  EXPECT_EQ(shell("$tessera inspect people.csv --quiet >&-"), 4);
  EXPECT_HAS(read("err"), "Standard output");
}

// As coreutils do: by the signal where it has its default, which test runners do not always leave it; else by an error.
TEST_F(BadInput, EndsQuietlyWhenTheReaderLeaves) {
  model();
  for (const std::string rows :
       {"$tessera sample m.tessera --rows 200000 --output - --quiet", "$tessera example - --rows 200000 --quiet"}) {
    EXPECT_EQ(shell("env --default-signal=PIPE " + rows + " | head -1 > /dev/null; exit ${PIPESTATUS[0]}"), 141)
        << rows;
    EXPECT_EQ(read("err"), "") << rows;
    EXPECT_EQ(shell("env --ignore-signal=PIPE " + rows + " | head -1 > /dev/null; exit ${PIPESTATUS[0]}"), 4) << rows;
    EXPECT_HAS(read("err"), "went away");
  }
}

TEST_F(BadInput, KeepsTheModelIfTheLogCannotBeWritten) {
  example();
  EXPECT_EQ(run("fit people.csv --model m.tessera --epochs 1 --batch-size 50 --log /dev/full").code, 4);
  must("inspect m.tessera");
}

TEST_F(BadInput, RejectsAnUnsupportedPrecision) {
  model();
  const std::string what = "--precision fp8: known are fp32, tf32, bf16, fp16 and auto";
  refused(2, {what}, "fit people.csv --model new.tessera --precision fp8");
  refused(2, {what}, "plan people.csv --precision fp8");
  EXPECT_FALSE(exists("new.tessera") || exists("o.csv"));
  refused(2, {"--precision half"}, "sample m.tessera --rows 5 --output o.csv --precision half");
  must("sample m.tessera --rows 5 --output o.csv --precision auto");
  for (const char* precision : {"tf32", "bf16", "fp16"}) {
    const std::string plan = must({"plan", "people.csv", "--precision", precision}).out;
    EXPECT_HAS(plan, std::string(precision) + "   product: rounded factors, sums in fp32");
    EXPECT_HAS(plan, "weights, optimizer state");
    must({"plan", "people.csv", "--device", "cuda", "--precision", precision});
  }
}

TEST_F(BadInput, RejectsAnUnsupportedInstructionSet) {
  example();
  EXPECT_EQ(shell("TESSERA_CPU=mmx $tessera plan people.csv --quiet"), 9);
  EXPECT_HAS(read("err"), "Known: amx_bf16, avx512_bf16, avx512, avx2, plain");
  EXPECT_EQ(shell("TESSERA_CPU=plain $tessera plan people.csv --quiet > plan"), 0);
  EXPECT_HAS(read("plan"), "plain kernels");
}

// Limits the address space instead of memory. Sanitizers need far more than this limit.
TEST_F(BadInput, ReportsAMissingAmountOfMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes more address space than this test allows";
#endif
  example(20'000);
  int refusals = 0;
  for (const char* kilobytes : {"30000", "50000", "80000", "120000", "160000"}) {
    const int code = shell(std::string("ulimit -v ") + kilobytes +
                           "; $tessera fit people.csv --model m.tessera --epochs 0 --force --quiet --threads 2");
    if (code == 0) {  // a larger limit may fail again: the allocator reserves more
      std::filesystem::remove(folder_ / "m.tessera");
      continue;
    }
    ++refusals;
    // 127: not even the libraries find room
    EXPECT_TRUE(code == 5 || code == 127) << kilobytes << ": " << code << read("err");
    EXPECT_FALSE(exists("m.tessera"));
  }
  // a stack takes 8 MiB
  EXPECT_EQ(
      shell("ulimit -v 400000; $tessera fit people.csv --model m.tessera --epochs 0 --force --quiet --threads 300"), 5);
  EXPECT_HAS(read("err"), "--threads");
  EXPECT_GE(refusals, 1) << "the smallest limit is too small for any training";
  EXPECT_EQ(files(), (std::vector<std::string>{"err", "people.csv"}));
}

}  // namespace
