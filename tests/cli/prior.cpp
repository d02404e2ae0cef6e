// `tessera prior` as a process: what it writes, what it says, what it refuses.
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace {

class CliPrior : public Cli {};

TEST_F(CliPrior, PartsWriteTheFilesOfTheWhole) {
  const Line few = "prior --tables 5 --rows 50 --features 2..4 --format csv";
  must(few + "--output whole");
  must(few + "--output parts --part 1/2");
  const Outcome rest = must(few + "--output parts --json");
  EXPECT_EQ(2, nlohmann::json::parse(rest.out)["kept"]);
  for (int i = 1; i <= 5; ++i) {
    const std::string name = "/episode_00000" + std::to_string(i) + ".csv";
    EXPECT_EQ(read("whole" + name), read("parts" + name)) << name;
  }
}

TEST_F(CliPrior, InspectDescribesWithoutFiles) {
  const Outcome said = must("prior --tables 20 --rows 60 --features 2..5 --inspect");
  EXPECT_NE(std::string::npos, said.out.find("20 tables drawn")) << said.out;
  EXPECT_NE(std::string::npos, said.out.find("largest class to smallest")) << said.out;
  must("prior --tables 20 --rows 60 --features 2..5 --inspect --report page.html");
  const std::string page = read("page.html");
  size_t plots = 0;
  for (size_t at = 0; (at = page.find("<svg", at)) != page.npos; ++at) ++plots;
  EXPECT_EQ(12u, plots) << "one of each of the first tables";
}

TEST_F(CliPrior, RejectsInvalidOptions) {
  const auto refused = [&](const Line& more, const std::string& message) {
    const Outcome o = run("prior --tables 2 --rows 50 --quiet" + more);
    EXPECT_EQ(2, o.code) << message;
    EXPECT_NE(std::string::npos, o.err.find(message)) << o.err;
  };
  refused({}, "--output is missing");
  refused("--output x --inspect", "--inspect writes no tables");
  refused("--inspect --features 2-9", "--features 2-9: write one number or a range, 2..10");
  refused("--inspect --features 9..2", "features 9..2: both ends must be from 1 to 10000");
  refused("--inspect --kind forest", "kind forest: there are mix, mlp, tree, graph");
  refused("--output x --format hdf5", "format hdf5: there are pt, npy, csv, parquet");
  refused("--output x --part 2/2", "part 2/2: parts are numbered from 0");
  refused("--inspect --task regression --imbalance 2..3", "need classes");
  must("prior --tables 2 --rows 50 --output x --quiet");
  refused("--output x --seed 4", "tables of other options (seed)");
}

}  // namespace
