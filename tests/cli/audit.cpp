// tessera audit: what it says of copies and of a model, and how it ends.
#include "cli/program.h"

namespace {

class CliAudit : public Cli {
 protected:
  void people() {
    must("example people.csv --rows 200 --seed 1");
    must("example unseen.csv --rows 200 --seed 2");
  }
};

TEST_F(CliAudit, CopiesAreFoundAndAModelIsAttackedWithItsFile) {
  people();
  const Outcome copies = must("audit people.csv --synthetic people.csv --holdout unseen.csv");
  EXPECT_HAS(copies.out, "✗ Training rows are given away");
  EXPECT_HAS(copies.out, "near copies");
  EXPECT_HAS(copies.out, "Right about 100.0 % of training rows and 0.0 % of unseen ones");
  must("fit people.csv --model m.tessera --epochs 2 --quiet");
  const Json report =
      Json::parse(must("audit people.csv --model m.tessera --holdout unseen.csv --rows 300 --json").out);
  EXPECT_EQ(report["rows"]["synthetic"], 300);
  EXPECT_TRUE(std::any_of(report["attacks"].begin(), report["attacks"].end(),
                          [](const Json& a) { return a["name"] == "likelihood"; }));
  const Outcome page =
      must("evaluate people.csv people.csv --holdout unseen.csv --model m.tessera --report page.html --without-c2st");
  EXPECT_HAS(page.out, "attribute inference");
  EXPECT_HAS(page.out, "likelihood");
  EXPECT_HAS(read("page.html"), "Training rows are given away");
}

TEST_F(CliAudit, MistakesEndWithAWayOut) {
  people();
  const auto expect = [&](int code, const char* said, const Line& arguments) {
    const Outcome o = run(arguments);
    EXPECT_EQ(o.code, code) << o.err;
    EXPECT_HAS(o.err, said);
  };
  expect(2, "--model FILE", "audit people.csv");
  expect(2, "--holdout FILE", "audit people.csv --synthetic people.csv");
  expect(2, "standard input", "audit - --synthetic - --holdout unseen.csv");
  expect(2, "--shadows", "audit people.csv --synthetic people.csv --holdout unseen.csv --shadows 2");
  must("example few.csv --rows 20");
  expect(3, "40 or more", "audit people.csv --synthetic people.csv --holdout few.csv");
}

}  // namespace
