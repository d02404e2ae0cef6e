// Kinds of regenerated texts: recognised, and regenerated so that nothing real comes out.
#include "models/data/texts/text_kind.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/math/philox.h"
#include "models/data/identifiers/identifier.h"

namespace tessera {
namespace {

uint32_t draw(uint32_t i, uint32_t use) { return philox(i, use, 0, 0, 5, 7).word[0]; }

std::vector<std::string> drawn(size_t n, auto text) {
  std::vector<std::string> out;
  for (uint32_t i = 0; i < n; ++i) out.push_back(text(i));
  return out;
}

Identifier learn(const std::vector<std::string>& texts, std::vector<int64_t> rows = {}) {
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  if (rows.empty()) rows.assign(texts.size(), 1);
  return Identifier::learn(views, rows, {kRareRows, 0, 7});
}

std::vector<std::string> regenerate(const std::vector<std::string>& texts) {
  const Identifier id = learn(texts), read = Identifier::from_json(learn(texts).to_json());
  std::vector<std::string> out;
  for (uint64_t row = 0; row < 500; ++row) {
    out.push_back(id.text(row, identifier_key(3, 0, 7)));
    EXPECT_EQ(read.text(row, identifier_key(3, 0, 7)), out.back());
  }
  return out;
}

TextKind kind_of(const std::vector<std::string>& texts) {
  return text_kind_of(std::vector<std::string_view>(texts.begin(), texts.end()));
}

std::string digits(uint32_t i, int n) {
  std::string out;
  for (int k = 0; k < n; ++k) out += static_cast<char>('0' + draw(i, static_cast<uint32_t>(k) + 10) % 10);
  return out;
}

TEST(TextKind, AddressesHaveOctets) {
  const auto texts = drawn(
      400, [](uint32_t i) { return "192.168." + std::to_string(draw(i, 1) % 256) + "." + std::to_string(i % 256); });
  EXPECT_EQ(kind_of(texts), TextKind::ipv4);
  for (const std::string& t : regenerate(texts)) {
    EXPECT_EQ(t.substr(0, 8), "192.168.");
    EXPECT_TRUE(symbols_of(TextKind::ipv4, t)) << t;
  }
}

TEST(TextKind, CardsHaveCheckDigitsAndNoIssuer) {
  const auto texts = drawn(
      300, [](uint32_t i) { return decode_text(TextKind::card, encode_text(TextKind::card, "4" + digits(i, 15), 0)); });
  // what comes out has an issuer that is none: so it is no card for us either
  for (const std::string& t : texts) EXPECT_EQ(t.substr(0, 6), "999999");
  const std::vector<std::string> real{"4111111111111111", "5500005555555559", "4012888888881881",
                                      "4222222222222220", "5105105105105100", "6011111111111117"};
  EXPECT_EQ(kind_of(real), TextKind::card);
  for (const std::string& t : regenerate(real)) {
    EXPECT_EQ(t.substr(0, 6), "999999");
    EXPECT_EQ(decode_text(TextKind::card, encode_text(TextKind::card, t, 0)), t) << "the check digit";
  }
  EXPECT_EQ(kind_of(drawn(50, [](uint32_t i) { return "4" + digits(i, 15); })), TextKind::plain);
}

TEST(TextKind, IbansHaveCheckDigitsAndNoBank) {
  const std::vector<std::string> real{"DE89370400440532013000", "DE75512108001245126199", "DE02120300000000202051",
                                      "DE02500105170137075030", "DE02100500000054540402", "DE02300209000106531065"};
  EXPECT_EQ(kind_of(real), TextKind::iban);
  for (const std::string& t : regenerate(real)) {
    EXPECT_EQ(t.substr(0, 2), "DE");
    EXPECT_EQ(t.substr(4, 4), "0000");
    EXPECT_EQ(kind_of({t, t, t, t, t}), TextKind::iban) << t;
  }
}

TEST(TextKind, MailAddressesAreAtAReservedDomain) {
  const auto texts = drawn(300, [](uint32_t i) { return "user" + digits(i, 5) + "@gmail.com"; });
  EXPECT_EQ(kind_of(texts), TextKind::email);
  for (const std::string& t : regenerate(texts)) EXPECT_EQ(t.substr(t.find('@')), "@example.com");
}

TEST(TextKind, NamesComeFromTheList) {
  const std::vector<std::string> first{"John", "Mary", "Zebulon", "Linda"}, last{"Smith", "Quackenbush", "Jones"};
  const auto texts = drawn(300, [&](uint32_t i) {
    return first[draw(i, 1) % 4] + (i % 3 == 0 ? " A. " : " ") + last[draw(i, 2) % 3] +
           std::string(1, static_cast<char>('a' + i % 26));
  });
  EXPECT_EQ(kind_of(texts), TextKind::name);
  std::set<std::string> all;
  for (const std::string& t : regenerate(texts)) {
    EXPECT_TRUE(symbols_of(TextKind::name, t)) << t;
    EXPECT_EQ(t.find("Zebulon"), std::string::npos);
    EXPECT_EQ(t.find("Quackenbush"), std::string::npos);
    all.insert(t);
  }
  EXPECT_GT(all.size(), 300u);
}

TEST(TextKind, OtherTextsHaveNone) {
  EXPECT_EQ(kind_of({"a", "b", "c", "d", "e"}), TextKind::plain);
  EXPECT_EQ(kind_of({"1.2.3.4", "1.2.3.256", "1.2.3.5", "1.2.3.6", "1.2.3.7"}), TextKind::plain);
  EXPECT_EQ(kind_of({"John Smith", "Mary Jones"}), TextKind::plain);
  EXPECT_EQ(kind_of({"Blue car", "Red House", "New Moon", "Old Tree", "Big Dog"}), TextKind::plain);
  TextKind kind;
  EXPECT_FALSE(parse_text_kind("novel", kind));
}

// Tickets and cabins of a ship: every shape with its share, its letters and digits as they were.
TEST(TextKind, ShapesKeepTheirShares) {
  const std::vector<std::string> fronts{"A/5 ", "PC ", "", "STON/O2. "};
  const auto tickets =
      drawn(891, [&](uint32_t i) { return fronts[draw(i, 1) % 4] + std::to_string(1000 + draw(i, 2) % 399000); });
  std::map<std::string, int> with;
  for (const std::string& t : regenerate(tickets))
    ++with[t.substr(0, t.find_first_of("0123456789", t[0] == 'A' ? 3 : t[0] == 'S' ? 7 : 0))];
  for (const std::string& front : fronts) {
    EXPECT_GT(with[front], 75) << front;
    EXPECT_LT(with[front], 175) << front;
  }
  std::map<std::string, int64_t> rows;
  for (const std::string& c : drawn(205, [](uint32_t i) {
         return std::string(1, static_cast<char>('A' + draw(i, 3) % 6)) + std::to_string(1 + draw(i, 4) % 129);
       }))
    ++rows[c];
  std::vector<std::string> cabins;
  std::vector<int64_t> counts;
  for (const auto& [text, n] : rows) cabins.push_back(text), counts.push_back(n);
  const Identifier id = learn(cabins, counts);
  std::set<size_t> lengths;
  for (uint64_t row = 0; row < 205; ++row) {
    const std::string t = id.text(row, identifier_key(1, 0, 7));
    EXPECT_TRUE(t[0] >= 'A' && t[0] <= 'F') << t;
    EXPECT_EQ(t.find_first_not_of("0123456789", 1), std::string::npos) << t;
    lengths.insert(t.size());
  }
  EXPECT_EQ(lengths, (std::set<size_t>{2, 3, 4}));
}

}  // namespace
}  // namespace tessera
