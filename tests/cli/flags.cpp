// What the library calls `batch_size` is --batch-size on the command line.
#include "terminal/flags.h"

#include <gtest/gtest.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace {

struct Options {
  CLI::App app{"program"};
  std::string text;
  bool flag = false;
  Options() {
    CLI::App* fit = app.add_subcommand("fit", "");
    for (const char* name : {"--batch-size", "--device", "--types", "--memory-limit", "--seed", "--max-tries"})
      fit->add_option(name, text);
    fit->add_flag("--force", flag), fit->add_flag("--resume", flag);
    know_flags(app);
  }
};

TEST(Flags, SpellOptionsOfTheCommandLine) {
  const Options program;
  EXPECT_EQ(as_typed("A smaller `batch_size`."), "A smaller --batch-size.");
  EXPECT_EQ(as_typed("`device=cpu`: no, `device=cuda:1`"), "--device cpu: no, --device cuda:1");
  EXPECT_EQ(as_typed("`types=age=category`, `types=\"zip code=category\"`"),
            "--types age=category, --types \"zip code=category\"");
  EXPECT_EQ(as_typed(R"(`types="\"a,`b\"=date"`)"), R"(--types "\"a,`b\"=date")");
  EXPECT_EQ(as_typed("`memory_limit=180000000`, `memory_limit=180000001`"),
            "--memory-limit 180MB, --memory-limit 180000001");
  EXPECT_EQ(flag_of("batch_size"), "--batch-size");
}

TEST(Flags, UseTheNamesAndArityOfTheCommandLine) {
  const Options program;
  EXPECT_EQ(as_typed("omit `resume`, or give `overwrite=yes`"), "omit --resume, or give --force");
  EXPECT_EQ(as_typed("more `max_candidates`"), "more --max-tries");
}

TEST(Flags, KeepTextsThatAreNotOptions) {
  const Options program;
  for (const char* text : {"`settings`", "`no_option=3`", "`seed", "`seed=", "`seed=3", "`seed =3`", "`seed=3 or 4`",
                           "``", "`", "`=`", "`seed=`", "`seed=\"3`", "`seed=\"3\\`"})
    EXPECT_EQ(as_typed(text), text);
}

// Names of columns, values and conditions stand in double quotes.
TEST(Flags, KeepTheTextsOfATable) {
  const Options program;
  EXPECT_EQ(as_typed("column \"`seed`\" holds \"`device=cpu`\", see `seed`"),
            "column \"`seed`\" holds \"`device=cpu`\", see --seed");
  EXPECT_EQ(as_typed("a quote \" that is not closed `seed`\n  see `seed`"),
            "a quote \" that is not closed `seed`\n  see --seed");
}

}  // namespace
