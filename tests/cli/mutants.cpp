// Model files whose document is damaged though the file is sound: what reads them says so, and never trusts them.
#include "cli/program.h"
#include "support/model_mutants.h"

namespace {

class Mutants : public Cli {
 protected:
  void expect_told(const std::string& bytes, const std::string& what) {
    write("bad.tessera", bytes);
    for (const std::vector<std::string>& reader :
         {std::vector<std::string>{"inspect", "bad.tessera"}, {"inspect", "bad.tessera", "--json"}}) {
      const Outcome o = run(reader);
      EXPECT_TRUE(o.code == 0 || o.code == 8) << what << ": exit code " << o.code << "\n" << o.err;
    }
  }
};

TEST_F(Mutants, InspectRejectsOrShowsThem) {
  model();
  const std::string bytes = read("m.tessera");
  for (uint32_t seed = 1; seed <= 25; ++seed)
    expect_told(tessera::mutants::mutant(bytes, seed), "seed " + std::to_string(seed));
}

TEST_F(Mutants, ProvenanceIsCheckedOnLoading) {
  model();
  const std::string bytes = read("m.tessera");
  const auto with = [&](const char* key, const char* value) {
    return tessera::mutants::with_document(
        bytes, [&](nlohmann::json& document) { document["provenance"][key] = nlohmann::json::parse(value); });
  };
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"rare_categories", "\"x\""},
           {"rare_categories", R"({"columns": "x", "least_rows": 5})"},
           {"rare_categories", R"({"columns": [{"column": "c"}], "least_rows": 5})"},
           {"rare_categories", R"({"columns": [{"column": "c", "values": "1", "rows": 3}], "least_rows": 5})"},
           {"rare_categories", R"({"columns": [], "least_rows": 5, "own": [{}]})"},
           {"protected_numbers", R"({"emptied": [1], "least_rows": 5})"},
           {"training", R"({"step": [1, 2], "epoch": [1], "losses": []})"},
           {"rows", "0.5"},
           {"source", "null"},
           {"seed", "\"3\""}}) {
    write("bad.tessera", with(key, value));
    const Outcome o = run("inspect bad.tessera");
    EXPECT_EQ(o.code, 8) << key << " " << value << "\n" << o.err;
    EXPECT_HAS(o.err, "provenance");
  }
}

}  // namespace
