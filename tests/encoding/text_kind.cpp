// Kinds of regenerated texts: recognised, and regenerated so that nothing real comes out.
#include "tables/texts/text_kind.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "encoding/columns.h"
#include "kernels/math/philox.h"
#include "tables/formats/moments.h"
#include "tables/identifiers/identifier.h"

namespace tessera {
namespace {

using columns::learn;

uint32_t draw(uint32_t i, uint32_t use) { return philox(i, use, 0, 0, 5, 7).word[0]; }

std::vector<std::string> drawn(size_t n, auto text) {
  std::vector<std::string> out;
  for (uint32_t i = 0; i < n; ++i) out.push_back(text(i));
  return out;
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

std::u32string encode_text(TextKind kind, std::string_view text, uint64_t turn) {
  return TextEncoder(kind, {}, kRareRows).encode(text, turn).value_or(std::u32string());
}
std::optional<std::u32string> symbols_of(TextKind kind, std::string_view text) {
  return TextEncoder(kind, {}, kRareRows).exact(text);
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

// Numbers with a valid check digit, as the kind writes them.
std::vector<std::string> checked(TextKind kind, size_t n, const std::string& prefix, int free) {
  return drawn(n, [&](uint32_t i) {
    std::u32string text;
    for (const char c : prefix + digits(i, free) + "0") text += static_cast<char32_t>(c);
    return decode_text(kind, text);
  });
}

TEST(TextKind, LastDigitsFollowFromTheOthers) {
  const std::map<TextKind, std::vector<std::string>> real{
      {TextKind::luhn, {"490154203237518", "356938035643809", "8014 1234 5678 906", "79927398713", "556036-0793"}},
      {TextKind::ean, {"4006381333931", "9780306406157", "96385074", "978-3-16-148410-0", "036000291452"}},
      {TextKind::isbn, {"0306406152", "080442957X", "2434-561X", "0-19-852663-6", "0317-8471"}},
      {TextKind::nhs, {"943 476 5919", "4010232137", "987 654 4322", "943-476-5870", "4505577104"}}};
  for (const auto& [kind, texts] : real) {
    for (const std::string& t : texts) {
      EXPECT_TRUE(may_be(kind, t)) << t;
      for (const char other : std::string("0123456789")) {
        const std::string changed = t.substr(0, t.size() - 1) + other;
        EXPECT_EQ(may_be(kind, changed), changed == t) << changed;
      }
    }
    EXPECT_FALSE(may_be(kind, "")) << name(kind);
  }
  const std::map<TextKind, std::vector<std::string>> tables{{TextKind::luhn, checked(TextKind::luhn, 600, "35", 12)},
                                                            {TextKind::ean, checked(TextKind::ean, 600, "978", 9)},
                                                            {TextKind::isbn, checked(TextKind::isbn, 600, "0-", 8)},
                                                            {TextKind::nhs, checked(TextKind::nhs, 600, "4", 8)}};
  for (const auto& [kind, texts] : tables) {
    ASSERT_EQ(kind_of(texts), kind);
    const std::vector<std::string> made = regenerate(texts);
    for (const std::string& t : made) EXPECT_TRUE(may_be(kind, t)) << t;
    EXPECT_EQ(std::set<std::string>(made.begin(), made.end()).size(), made.size()) << name(kind);
    EXPECT_EQ(kind_of(made), kind) << "of nhs, a check digit of 10";
  }
  EXPECT_EQ(kind_of(drawn(300, [](uint32_t i) { return digits(i, 13); })), TextKind::plain);
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
  // the room of a short address is in front of its domain
  const auto counted = drawn(400, [](uint32_t i) { return "user" + std::to_string(i) + "@gmail.com"; });
  const std::vector<std::string> made = regenerate(counted);
  EXPECT_EQ(std::set<std::string>(made.begin(), made.end()).size(), made.size());
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

std::string one_of(const std::vector<std::string>& list, uint32_t i, uint32_t stream) {
  return list[draw(i, stream) % list.size()];
}
double share(const std::vector<std::string>& texts, const std::string& part) {
  const auto with = std::count_if(texts.begin(), texts.end(), [&](auto& t) { return t.find(part) != t.npos; });
  return static_cast<double>(with) / static_cast<double>(texts.size());
}

// As on a passenger list: family name, title, given names; what a title says of the sex holds of the given name.
TEST(TextKind, TitlesKeepTheirSharesAndTheSexOfNames) {
  const std::vector<std::string> men{"William", "Owen", "Karl", "Bertil"}, women{"Anna", "Bertha", "Ada", "Mary"},
      last{"Allen", "Zabour", "Widener", "Goodwin", "Svensson", "Andersson", "Smith"};
  const auto texts = drawn(600, [&](uint32_t i) {
    const bool man = i % 10 < 6;
    return one_of(last, i, 1) + ", " +
           (man          ? "Mr "
            : i % 10 < 8 ? "Miss "
                         : "Mrs ") +
           one_of(man ? men : women, i, 2) + (i % 3 == 0 ? " " + one_of(man ? men : women, i, 3) : "");
  });
  EXPECT_EQ(kind_of(texts), TextKind::name);
  const auto made = regenerate(texts);
  EXPECT_NEAR(share(made, ", Mr "), .6, .03);
  EXPECT_NEAR(share(made, ", Miss "), .2, .03);
  EXPECT_NEAR(share(made, ", Mrs "), .2, .03);
  std::map<std::string, std::set<bool>> sex;  // of each given name that was made
  for (const std::string& t : made) {
    EXPECT_TRUE(symbols_of(TextKind::name, t)) << t;
    const size_t at = t.find(' ', t.find(", ") + 2) + 1;
    sex[t.substr(at, t.find(' ', at) - at)].insert(t.find(", Mr ") != t.npos);
  }
  size_t both = 0;
  for (const auto& [name, of] : sex) both += of.size() == 2;
  EXPECT_LE(both * 20, sex.size());
}

TEST(TextKind, NamesAreOfTheLanguagesOfTheColumn) {
  const std::vector<std::string> german{"Jürgen", "Sabine", "Uwe", "Heike"},
      last{"Müller", "Schröder", "Krüger", "Xaver"}, turkish{"Mehmet", "Ayşe", "Emine", "Murat"},
      family{"Yılmaz", "Demir", "Şahin", "Zorlu"};
  for (const bool capitals : {false, true}) {
    const auto texts = drawn(400, [&](uint32_t i) {
      std::string text = one_of(german, i, 1) + " van der " + one_of(last, i, 2);
      if (capitals) text = one_of({"HANS", "PETRA"}, i, 1) + " " + one_of({"FISCHER", "WEBER", "OBERNDORFER"}, i, 2);
      return text;
    });
    EXPECT_EQ(kind_of(texts), TextKind::name);
    const auto made = regenerate(texts);
    EXPECT_EQ(share(made, " van der "), capitals ? 0 : 1);
    EXPECT_GT(share(made, capitals ? "MÜLLER" : "Neumann"), 0) << made[0];
    EXPECT_EQ(share(made, capitals ? "SMITH" : "Smith"), 0) << made[0];
  }
  const auto mixed = drawn(600, [&](uint32_t i) {
    return i % 2 == 0 ? one_of(german, i, 1) + " " + one_of(last, i, 2)
                      : one_of(turkish, i, 1) + " " + one_of(family, i, 2);
  });
  const auto made = regenerate(mixed);
  EXPECT_GT(share(made, "Hülya") + share(made, "Mustafa") + share(made, "Öztürk"), 0);
  EXPECT_GT(share(made, "Neumann") + share(made, "Vogel"), 0);
  // single words: given names or family names
  EXPECT_EQ(kind_of(drawn(60, [&](uint32_t i) { return one_of(german, i, 1); })), TextKind::first_name);
  EXPECT_EQ(kind_of(drawn(60, [&](uint32_t i) { return one_of(last, i, 1); })), TextKind::name);
}

TEST(TextKind, CompaniesAndPlacesAreNoPersons) {
  const std::vector<std::string> last{"Smith", "Johnson", "Miller", "Doyle", "Acme", "Brown"};
  EXPECT_EQ(kind_of(drawn(100,
                          [&](uint32_t i) {
                            return one_of(last, i, 1) + one_of({" Ltd", " Group", " Inc"}, i, 2);
                          })),
            TextKind::plain);
  EXPECT_EQ(kind_of(drawn(100,
                          [&](uint32_t i) {
                            return one_of({"New", "San", "Fort", "Lake"}, i, 1) + " " +
                                   one_of({"York", "Pedro", "Worth", "Haven"}, i, 2);
                          })),
            TextKind::plain);
}

TEST(TextKind, TelephoneNumbersKeepAreasOfTheTable) {
  const std::vector<std::string> areas{"30", "40", "89", "221"};
  const auto texts = drawn(400, [&](uint32_t i) {
    return "+49 " + (i % 100 == 7 ? std::to_string(700 + i) : one_of(areas, i, 1)) + " " + std::to_string(1 + i % 9) +
           digits(i, 6);
  });
  EXPECT_EQ(kind_of(texts), TextKind::phone);
  std::map<std::string, int> made;
  for (const std::string& t : regenerate(texts)) {
    ++made[t.substr(4, t.find(' ', 4) - 4)];
    EXPECT_EQ(t[t.find(' ', 4) + 1], '0') << t;
  }
  ASSERT_EQ(made.size(), areas.size());
  for (const std::string& a : areas) EXPECT_GT(made[a], 40) << a;
}

// What is no address in a column of them is not learned, and so all addresses have one style.
TEST(TextKind, ExceptionsAreNotLearned) {
  const auto texts = drawn(500, [](uint32_t i) {
    return i % 7 == 0 ? "corner of " + digits(i, 2) + "th and " + digits(i + 1, 2) + "nd"
                      : std::to_string(100 + draw(i, 1) % 900) + " " + one_of({"S.", "N.", "East"}, i, 2) + " " +
                            one_of({"Hake", "Hoover", "Vermont"}, i, 3) + " St.";
  });
  EXPECT_EQ(kind_of(texts), TextKind::address);
  for (const std::string& t : regenerate(texts)) EXPECT_TRUE(symbols_of(TextKind::address, t)) << t;
}

// A kind that was given applies, whatever the texts look like; one that is not theirs does not.
TEST(TextKind, AGivenKindApplies) {
  const auto texts = drawn(60, [](uint32_t i) {
    std::string t = "Xq";
    for (uint32_t k = 0; k < 5; ++k) t += static_cast<char>('a' + draw(i, k + 2) % 26);
    return t + " Zw" + std::string(1, static_cast<char>('a' + i % 26)) + "x";
  });
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  EXPECT_EQ(kind_of(texts), TextKind::plain);
  const Identifier names = Identifier::learn(views, {}, {.kind = TextKind::name});
  EXPECT_TRUE(symbols_of(TextKind::name, names.text(3, identifier_key(0, 0, 7))));
  const Identifier mails = Identifier::learn(views, {}, {.kind = TextKind::email});
  EXPECT_EQ(mails.text(3, identifier_key(0, 0, 7)).find('@'), std::string::npos);
}

// With a few rows, words that repeat are not learned; neither do they become letters.
TEST(TextKind, WordsOfAFewRowsBecomePlaceholders) {
  const std::vector<std::string> few{"lo", "mid", "hi"}, more{"lo", "mid", "hi", "very hi", "very lo", "none"};
  for (const auto& [texts, rows] : {std::pair{few, std::vector<int64_t>{4, 4, 3}}, {more, {4, 4, 3, 2, 1, 1}}}) {
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    const Identifier id = Identifier::learn(views, rows, {});
    std::set<std::string> made;
    for (uint64_t row = 0; row < 50; ++row) made.insert(id.text(row, identifier_key(0, 0, 7)));
    EXPECT_EQ(made.size(), texts.size());
    for (const std::string& t : made) EXPECT_EQ(t.substr(0, 6), "value ") << t;
  }
}

std::string hex(uint32_t i, int n) {
  std::string out;
  for (int k = 0; k < n; ++k) out += "0123456789abcdef"[draw(i, static_cast<uint32_t>(k) + 10) % 16];
  return out;
}

TEST(TextKind, LongAddressesAreWrittenShort) {
  const auto texts =
      drawn(400, [](uint32_t i) { return "2001:db8:" + std::string(1, "0123"[i % 4]) + "::" + hex(i, 3) + "1"; });
  EXPECT_EQ(kind_of(texts), TextKind::ipv6);
  for (const std::string& t : regenerate(texts)) {
    EXPECT_EQ(t.substr(0, 9), "2001:db8:");
    EXPECT_EQ(decode_text(TextKind::ipv6, encode_text(TextKind::ipv6, t, 0)), t) << "as RFC 5952 writes it";
  }
  for (const auto& [text, written] : {std::pair{"::", "::"},
                                      {"0:0:0:0:0:0:0:1", "::1"},
                                      {"1::", "1::"},
                                      {"2001:DB8:0:1:0:0:0:1", "2001:db8:0:1::1"},
                                      {"1:0:2:0:3:0:4:0", "1:0:2:0:3:0:4:0"},
                                      {"fe80:0:0:1:0:0:0:0", "fe80:0:0:1::"}})
    EXPECT_EQ(decode_text(TextKind::ipv6, encode_text(TextKind::ipv6, text, 0)), written);
  for (const char* none : {"1:2:3", "1::2::3", "12345::", "1:2:3:4:5:6:7:8:9", "g::1", "10:30", ":1:2:3:4:5:6:7"})
    EXPECT_EQ(kind_of({none, none, none, none, none}), TextKind::plain) << none;
}

TEST(TextKind, UuidsKeepVersionAndVariant) {
  for (const bool capitals : {false, true}) {
    const auto texts = drawn(60, [&](uint32_t i) {
      std::string t = hex(i, 8) + "-" + hex(i + 500, 4) + "-4" + hex(i + 900, 3) + "-" + "89ab"[i % 4] +
                      hex(i + 1300, 3) + "-" + hex(i + 1700, 12);
      if (capitals)
        for (char& c : t) c = c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
      return t;
    });
    EXPECT_EQ(kind_of(texts), TextKind::uuid);
    for (const std::string& t : regenerate(texts)) {
      EXPECT_EQ(kind_of({t, t, t, t, t}), TextKind::uuid) << t;
      EXPECT_EQ(t[14], '4');
      EXPECT_EQ(t.find_first_of(capitals ? "abcdef" : "ABCDEF"), std::string::npos) << t;
    }
  }
}

TEST(TextKind, HashesStayHexadecimal) {
  const auto texts = drawn(200, [](uint32_t i) { return hex(i, 40); });
  EXPECT_EQ(kind_of(texts), TextKind::hash);
  for (const std::string& t : regenerate(texts)) {
    EXPECT_EQ(t.size(), 40u);
    EXPECT_EQ(t.find_first_not_of("0123456789abcdef"), std::string::npos) << t;
  }
}

TEST(TextKind, PagesAreAtAReservedDomain) {
  const auto texts = drawn(
      300, [](uint32_t i) { return "https://www.bank" + digits(i, 2) + ".com/users/" + digits(i + 400, 6) + "?a=1"; });
  EXPECT_EQ(kind_of(texts), TextKind::url);
  for (const std::string& t : regenerate(texts)) EXPECT_EQ(t.substr(0, 26), "https://example.com/users/") << t;
}

TEST(TextKind, TelephoneNumbersCannotBeReal) {
  const auto american = drawn(400, [](uint32_t i) {
    return "(" + std::to_string(201 + draw(i, 1) % 9) + ") " + std::to_string(200 + draw(i, 2) % 800) + "-" +
           digits(i, 4) + (i % 3 == 0 ? " x" + digits(i + 900, 3) : "");
  });
  EXPECT_EQ(kind_of(american), TextKind::phone);
  for (const std::string& t : regenerate(american)) {
    EXPECT_EQ(t.substr(0, 3), "(20") << "area codes stay";
    EXPECT_EQ(t.substr(4, 3), ") 1") << t;
  }
  const auto german = drawn(400, [](uint32_t i) { return "+49 (0)30 " + digits(i, 7); });
  EXPECT_EQ(kind_of(german), TextKind::phone);
  for (const std::string& t : regenerate(german)) EXPECT_EQ(t.substr(0, 11), "+49 (0)30 0") << t;
  const auto italian = drawn(400, [](uint32_t i) { return "+39 06 " + digits(i, 8); });
  for (const std::string& t : regenerate(italian)) EXPECT_EQ(t.substr(0, 8), "+39 06 1") << t;
  for (const char* none :
       {"2125551234", "212-55-51234", "06 12 34 56 78", "+49", "12/05/2024 10", "555-0100", "+0 12345678"})
    EXPECT_EQ(kind_of({none, none, none, none, none}), TextKind::plain) << none;
}

TEST(TextKind, CoordinatesStayOnEarth) {
  const auto check = [](const std::vector<std::string>& texts, const std::string& front) {
    EXPECT_EQ(kind_of(texts), TextKind::coordinates) << texts[0];
    for (const std::string& t : regenerate(texts)) {
      EXPECT_EQ(kind_of({t, t, t, t, t}), TextKind::coordinates) << t;
      EXPECT_EQ(t.substr(0, front.size()), front);
    }
  };
  check(drawn(300, [](uint32_t i) { return "48.8" + digits(i, 3) + ", 2." + digits(i + 400, 4); }), "48.8");
  check(drawn(300, [](uint32_t i) { return "(-33.8" + digits(i, 3) + ",-" + std::to_string(70 + i % 3) + ".25)"; }),
        "(-33.8");
  check(drawn(300, [](uint32_t i) { return "POINT(151.2" + digits(i, 3) + " -33." + digits(i + 400, 3) + ")"; }),
        "POINT(151.2");
  for (const char* none : {"95.10, 2.35", "48.85, 182.35", "48.85", "1.5, 2.5", "-0.5.3, 2.35", "(48.85, 2.35"})
    EXPECT_EQ(kind_of({none, none, none, none, none}), TextKind::plain) << none;
}

TEST(TextKind, PostalCodesKeepTheirForm) {
  const auto texts = drawn(300, [](uint32_t i) {
    return std::string("K") + digits(i, 1) + "ABCE"[i % 4] + " " + digits(i + 400, 1) + "HJK"[i % 3] +
           digits(i + 800, 1);
  });
  EXPECT_EQ(kind_of(texts), TextKind::postal_code);
  for (const std::string& t : regenerate(texts)) EXPECT_EQ(kind_of({t, t, t, t, t}), TextKind::postal_code) << t;
}

// A few words among dates make a column one of text, whose characters by place gave 2021-13-02.
TEST(TextKind, DatesBesideWordsArePossibleDates) {
  const auto two = [](uint32_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  const auto day = [&](uint32_t i, const std::string& between, bool last) {
    const std::string year = std::to_string(2005 + draw(i, 1) % 19), month = two(1 + draw(i, 2) % 12),
                      of_month = two(1 + draw(i, 3) % 28);
    return last ? of_month + between + month + between + year : year + between + month + between + of_month;
  };
  const auto time = [&](uint32_t i) {
    return two(draw(i, 4) % 24) + ":" + two(draw(i, 5) % 60) + ":" + two(draw(i, 6) % 60);
  };
  const auto check = [&](std::vector<std::string> texts, bool timed) {
    texts[7] = "2021-02-30", texts[8] = "unknown", texts[300] = "to be agreed on";
    ASSERT_EQ(kind_of(texts), TextKind::dates) << texts[0];
    for (const std::string& t : regenerate(texts)) {
      Moment m;
      ASSERT_TRUE(read_moment(t, m)) << t;
      EXPECT_EQ(m.has_time, timed) << t;
      EXPECT_EQ(t.size(), texts[0].size()) << t;
    }
  };
  check(drawn(400, [&](uint32_t i) { return day(i, "-", false); }), false);
  check(drawn(400, [&](uint32_t i) { return day(i, "/", true); }), false);
  check(drawn(400, [&](uint32_t i) { return day(i, "-", false) + "T" + time(i) + "." + digits(i, 3) + "Z"; }), true);
  check(drawn(400, [&](uint32_t i) { return day(i, ".", true) + " " + time(i) + "+02:00"; }), true);
  for (const std::string text : {"2021-03-05T04:05:06.123+02:00", "5/3/2021", "2021-03-05 4:05 PM", "25.12.1999"}) {
    const std::optional<std::u32string> symbols = symbols_of(TextKind::dates, text);
    ASSERT_TRUE(symbols) << text;
    EXPECT_EQ(decode_text(TextKind::dates, *symbols), text);
  }
  for (const char* none : {"2021-13-02", "12:30:15", "1995", "3.14.1592", "ABC-2021-03-05"})
    EXPECT_NE(kind_of({none, none, none, none, none}), TextKind::dates) << none;
}

TEST(TextKind, StreetsComeFromTheListOfTheirLanguage) {
  for (const char* form : {"# Quackenbush Avenue", "Zebulonstraße #", "# rue Zebulon", "Calle Zebulon, #",
                           "Via Zebulon #", "Rua Zebulon, #", "# Quackenbush Blvd. Apt. 7"}) {
    const auto texts = drawn(300, [&](uint32_t i) {
      std::string t = form;
      t.replace(t.find('#'), 1, std::to_string(100 + draw(i, 1) % 900));
      return t;
    });
    EXPECT_EQ(kind_of(texts), TextKind::address) << form;
    std::set<std::string> all;
    for (const std::string& t : regenerate(texts)) {
      EXPECT_EQ(t.find("Zebulon"), std::string::npos) << t;
      EXPECT_EQ(t.find("Quackenbush"), std::string::npos) << t;
      EXPECT_TRUE(symbols_of(TextKind::address, t)) << t;
      EXPECT_NE(t.find_first_of("123456789"), std::string::npos) << t;
      all.insert(t);
    }
    EXPECT_GT(all.size(), 250u);
  }
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
// Sizes and numbers of base 16, each several times: letters that all texts share stay where they are.
TEST(TextKind, LettersOfAllTextsStay) {
  const auto repeated = [](const std::vector<std::string>& texts) {
    std::map<std::string, int64_t> rows;
    for (const std::string& t : texts) ++rows[t];
    std::vector<std::string> each;
    std::vector<int64_t> counts;
    for (const auto& [text, n] : rows) each.push_back(text), counts.push_back(n);
    return learn(each, counts);
  };
  const Identifier sizes = repeated(drawn(
      600, [](uint32_t i) { return std::to_string(1 + draw(i, 1) % 40) + "x" + std::to_string(1 + draw(i, 2) % 40); }));
  const Identifier numbers = repeated(drawn(600, [](uint32_t i) { return "0x" + hex(i, 2); }));
  for (uint64_t row = 0; row < 300; ++row) {
    const std::string size = sizes.text(row, identifier_key(1, 0, 7)),
                      number = numbers.text(row, identifier_key(1, 0, 7));
    EXPECT_EQ(size.find_first_not_of("0123456789"), size.find('x')) << size;
    EXPECT_EQ(size.find('x'), size.rfind('x')) << size;
    EXPECT_TRUE(size.front() != 'x' && size.back() != 'x') << size;
    EXPECT_EQ(number.substr(0, 2), "0x") << number;
    EXPECT_EQ(number.find_first_not_of("0123456789abcdef", 2), std::string::npos) << number;
  }
}

}  // namespace tessera
