// Every exit code that docs/use/errors.md lists for the program is reached by a command line.
#include <csignal>
#include <cstdlib>
#include <set>
#include <sstream>

#include "cli/program.h"

namespace {

// The codes of the first table; a cell may hold two.
std::set<int> documented() {
  std::ifstream page(TESSERA_SOURCE_DIR "/docs/use/errors.md");
  std::set<int> codes;
  for (std::string line; std::getline(page, line) && line.rfind("## ", 0) != 0;) {
    std::istringstream cell(line.rfind("| ", 0) == 0 ? line.substr(2, line.find(" |", 2) - 2) : "");
    for (std::string number; std::getline(cell, number, ',');)
      if (const int code = std::atoi(number.c_str()); code > 0 || number == "0") codes.insert(code);
  }
  return codes;
}

class ExitCodes : public Cli {};

TEST_F(ExitCodes, EachIsReached) {
  std::set<int> reached;
  const auto code = [&](int expected, const Line& line) {
    const Outcome o = run(line);
    EXPECT_EQ(o.code, expected) << o.err;
    reached.insert(o.code);
  };
  model();
  write("ragged.csv", "a,b\n1\n");
  code(0, {"info"});
  code(2, {"fit"});
  code(3, "inspect ragged.csv");
  code(4, "inspect nowhere.csv");
  code(5, "fit people.csv --model n --memory-limit 10kB --scratch off");
  code(6, "fit people.csv --model n --method tvae --learning-rate 1 --epochs 20 --batch-size 50");
  code(7, {"sample", "m.tessera", "--rows", "5", "--output", "-", "--where", "kindergarten = 1"});
  code(8, "sample people.csv --rows 5 --output -");
  code(9, "fit people.csv --model n --device cuda:99");
  for (const int number : {SIGINT, SIGTERM}) {
    Running fit(folder_, "fit people.csv --model n --method tvae --epochs 1000000 --force", "");
    ASSERT_TRUE(fit.wait_for_error_text("train"));
    fit.signal(number);
    reached.insert(fit.wait().code);
  }
  std::set<int> all = documented();
  EXPECT_EQ(all.erase(10) + all.erase(70), 2u)
      << "of the embedding program, and of a broken invariant: no command line ends so";
  EXPECT_EQ(reached, all);
}

}  // namespace
