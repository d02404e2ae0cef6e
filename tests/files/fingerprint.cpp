// Fingerprints: equal for equal contents, different for every small change.
#include "base/storage/fingerprint.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

std::string print_of(const std::vector<std::string>& pieces) {
  Fingerprint f;
  for (const std::string& p : pieces) f.add(p);
  return f.text();
}

TEST(Fingerprints, EqualContentsAreEqual) {
  const std::string text(1000, 'x');
  EXPECT_EQ(print_of({text, "y"}), print_of({std::string(1000, 'x'), "y"}));
  EXPECT_EQ(print_of({text}).size(), 32u);
}

TEST(Fingerprints, EveryBitLengthAndCutCounts) {
  std::set<std::string> seen;
  size_t made = 0;
  const auto see = [&](const std::vector<std::string>& pieces) { ++made, seen.insert(print_of(pieces)); };
  const std::string zeros(70, '\0');
  for (size_t n = 0; n <= zeros.size(); ++n) see({zeros.substr(0, n)});
  for (size_t at = 0; at < zeros.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = zeros;
      flipped[at] = static_cast<char>(1 << bit);
      see({flipped});
    }
  for (size_t cut = 1; cut < zeros.size(); ++cut) see({zeros.substr(0, cut), zeros.substr(cut)});
  see({});
  EXPECT_EQ(seen.size(), made);
}

}  // namespace
}  // namespace tessera
