// What --help shows, and the nearest name where one is misspelled.
#include "cli/program.h"

namespace {

using CliHelp = Cli;

TEST_F(CliHelp, NamesTheNearestOptionOrCommand) {
  const auto says = [&](const Line& arguments, const char* part) {
    const Outcome o = run(arguments);
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_HAS(o.err, part);
  };
  says("fit t.csv --epoch 3", "no option --epoch. Nearest: --epochs.");
  says("fit t.csv --sequence_key=id", "no option --sequence_key. Nearest: --sequence-key.");
  says("sample m --row 3 -o -", "no option --row. Nearest: --rows.");
  says({"fti", "t.csv"}, "no command \"fti\". Nearest: fit.");
  says({"evalaute", "a.csv", "b.csv"}, "Nearest: evaluate.");
  says("info here", "\"here\" is not expected");
  EXPECT_FALSE(has(run("fit t.csv --zzzzzzzz").err, "Nearest"));
  EXPECT_FALSE(has(run({"frobnicate"}).err, "Nearest"));
}

TEST_F(CliHelp, GroupsTrainingOptions) {
  const std::string page = must("fit --help").out;
  size_t at = 0;
  for (const char* group : {"\nTable:", "\nMethod:", "\nTraining:", "\nSequences:", "\nOutput:", "\nAdvanced:"}) {
    ASSERT_NE(page.find(group), std::string::npos) << group;
    EXPECT_GT(page.find(group), at) << group;
    at = page.find(group);
  }
  EXPECT_FALSE(has(page, "--discriminator-dim")) << "options of one method are on its own page";
  EXPECT_HAS(page, "--help all");
}

TEST_F(CliHelp, HasPagesForMethodsAndForAllOptions) {
  const std::string ctgan = must("fit --help ctgan").out;
  EXPECT_HAS(ctgan, "Options of ctgan");
  EXPECT_HAS(ctgan, "--discriminator-dim");
  EXPECT_FALSE(has(ctgan, "--context-dim") || has(ctgan, "made:") || has(ctgan, "--types"));
  const std::string all = must("fit --help all").out;
  for (const char* option : {"--types", "--discriminator-dim", "--context-dim", "--passes-off", "--gamma", "--help"})
    EXPECT_HAS(all, option);
}

TEST_F(CliHelp, InfoReportsWhyADeviceIsMissing) {
  const std::string page = must("info").out;
  for (size_t at = 0; (at = page.find('\n', at)) != std::string::npos; ++at)
    EXPECT_NE(at > 0 ? page[at - 1] : ' ', ' ') << page;
}

}  // namespace
