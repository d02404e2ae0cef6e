// The attacker has the model file and looks into it. No value of fewer than five rows may stand there, in whatever
// form; and the program must not give one back more often than it gives back values of the same kind that were never in
// the table. (docs/quality/privacy.md: what is held, and what protects it.)
#include "models/audit/secrets.h"
#include "privacy/planted.h"

namespace tessera::privacy {
namespace {

constexpr int64_t kRows = 1200, kSearched = 30000;
constexpr int kDigits = 7;  // shorter numbers occur in any file by chance

std::string some(const std::vector<Found>& found, const std::vector<Secret>& secrets) {
  std::string out = std::to_string(found.size()) + " found";
  for (size_t i = 0; i < std::min<size_t>(found.size(), 12); ++i) {
    const Secret& s = secrets[found[i].secret];
    out += "\n  " + s.column + ": " + (s.text.empty() ? std::to_string(s.number) : s.text) + ", as " + found[i].how;
  }
  return out;
}

int64_t found_among(const Table& rows, const std::vector<Secret>& secrets) {
  const std::vector<char> back = are_among(rows, secrets);
  return std::count(back.begin(), back.end(), 1);
}

void attack(const Table& table, const Table& other, const Model& model, const std::string& key = "") {
  const std::vector<Secret> secrets = secrets_of(table, kDigits, key),
                            controls = without(secrets_of(other, kDigits, key), table);
  ASSERT_GT(secrets.size(), 100u);
  const std::vector<Found> found = found_in(file_of(model), secrets);
  EXPECT_TRUE(found.empty()) << some(found, secrets);
  const Table rows = rows_of(model, kSearched);
  for (const Column& c : table.columns) {
    auto of_column = [&](std::vector<Secret> all) {
      std::erase_if(all, [&](const Secret& s) { return s.column != c.name; });
      return all;
    };
    const std::vector<Secret> own = of_column(secrets), control = of_column(controls);
    const Rate given{found_among(rows, own), static_cast<int64_t>(own.size())},
        chance{found_among(rows, control), static_cast<int64_t>(control.size())};
    EXPECT_GT(by_chance(given, chance), 1e-4)
        << c.name << ": " << given.hits << " of " << given.trials << " secrets are among " << rows.rows
        << " sampled rows, and " << chance.hits << " of " << chance.trials << " values that the table does not have";
  }
}

void attack_rows(const std::string& method, int epochs, Tier tier) {
  const Table table = planted(0, kRows);
  attack(table, planted(1'000'000, kRows), whole::fit(planted(0, kRows), options(method, epochs, tier)));
}

// The search finds what is kept on purpose: else it would prove nothing.
TEST(Bytes, FindStoredValues) {
  const auto towns = [] {
    Table t = planted(0, kRows);
    std::erase_if(t.columns, [](const Column& c) { return c.name != "town" && c.name != "mixed"; });
    return t;
  };
  FitOptions o = options("tvae", 0, Tier::off);
  o.rare_rows = 1;
  const std::vector<Secret> secrets = secrets_of(towns(), kDigits);
  ASSERT_GT(secrets.size(), 20u);
  EXPECT_GE(found_in(file_of(whole::fit(towns(), o)), secrets).size(), secrets.size());
}

TEST(Bytes, Tvae) { attack_rows("tvae", 5, Tier::off); }
TEST(Bytes, TvaeCalibrated) { attack_rows("tvae", 5, Tier::full); }
TEST(Bytes, Ctgan) { attack_rows("ctgan", 2, Tier::off); }
TEST(Bytes, CtganCalibrated) { attack_rows("ctgan", 2, Tier::full); }

TEST(Bytes, Sequences) {
  const Table table = planted_sequences(0, 300);
  attack(table, planted_sequences(1'000'000, 300), whole::fit(planted_sequences(0, 300), sequence_options(20)),
         "patient");
}

}  // namespace
}  // namespace tessera::privacy
