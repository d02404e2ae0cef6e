// tessera score: likelihoods and predictions as files, and how it ends.
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace {

using CliScore = Cli;

TEST_F(CliScore, UnlikelyRowsAreShownAndScoresAreWritten) {
  must("example people.csv --rows 300 --seed 1");
  must("fit people.csv --model m.tessera --epochs 2 --quiet");
  EXPECT_HAS(must("score people.csv --model m.tessera").out, "least likely in it");
  must("score people.csv --model m.tessera --output s.csv --cells");
  EXPECT_EQ(lines(read("s.csv")), 301);
  EXPECT_HAS(read("s.csv"), "log_probability,unknown,least_likely");
  EXPECT_HAS(read("s.csv"), "log_probability of height");
  must("score people.csv --model m.tessera --predict education --output p.csv");
  EXPECT_HAS(read("p.csv"), "education,p(");
  EXPECT_EQ(nlohmann::json::parse(must("score people.csv --model m.tessera --json").out)["rows"], 300);
}

TEST_F(CliScore, MistakesEndWithAWayOut) {
  must("example people.csv --rows 200");
  must("fit people.csv --model t.tessera --method tvae --epochs 0 --quiet");
  const auto expect = [&](const char* said, const Line& arguments) {
    const Outcome o = run(arguments);
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_HAS(o.err, said);
  };
  expect("method made", "score people.csv --model t.tessera");
  expect("--output FILE", "score people.csv --model t.tessera --predict age");
  expect("--output FILE", "score people.csv --model t.tessera --cells");
}

}  // namespace
