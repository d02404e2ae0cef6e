// Texts that are put together of other columns.
#include "tables/rules/kinds/composed.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text/ascii.h"
#include "rules/orders.h"

namespace tessera::whole {
namespace {

std::string pick(const Texts& of, int64_t i, uint32_t stream) {
  return of[static_cast<size_t>(static_cast<double>(of.size()) * uniform(i, stream))];
}
std::string first_name(int64_t i) { return pick({"Anna", "Ben", "Cleo", "Dan"}, i, 1); }
std::string last_name(int64_t i) { return pick({"Meyer", "de Wit", "Lopez", "Novak", "Rossi"}, i, 2); }
double number(int64_t i) { return whole_between(i, 3, 1, 120); }
std::string small(std::string text) {
  for (char& c : text) c = lower(c);
  std::erase(text, ' ');
  return text;
}

Table staff(int64_t rows) {
  return table(
      {texts_by("first", rows, first_name), texts_by("last", rows, last_name), whole_by("number", rows, number),
       texts_by("full", rows, [](int64_t i) { return first_name(i) + " " + last_name(i); }),
       texts_by("mail", rows,
                [](int64_t i) { return small(first_name(i)).substr(0, 1) + "." + small(last_name(i)) + "@acme.com"; }),
       texts_by("badge", rows,
                [](int64_t i) { return fmt::format("{}-{:04}", last_name(i), static_cast<int>(number(i))); })});
}

const Texts kRulesOfStaff{"badge = last || '-' || lpad(number, 4, '0')", "full = first || ' ' || last",
                          "mail = left(lower(first), 1) || '.' || lower(replace(last, ' ', '')) || '@acme.com'"};

Texts composed(const Rules& rules) {
  Texts out = said(rules);
  std::erase_if(out, [](const std::string& rule) { return rule.find("||") == std::string::npos; });
  return out;
}

TEST(ComposedRules, AreFound) {
  Texts rules = composed(found(staff(2000)));
  for (std::string& rule : rules)  // of a first letter, either order says the same
    if (const size_t at = rule.find("lower(left(first, 1))"); at != std::string::npos)
      rule.replace(at, 21, "left(lower(first), 1)");
  EXPECT_EQ(rules, kRulesOfStaff);
}

TEST(ComposedRules, AreDroppedAfterOneViolation) {
  Table t = staff(2000);
  t.columns[3].codes[7] = (t.columns[3].codes[7] + 1) % static_cast<int32_t>(t.columns[3].values.size());
  for (const std::string& rule : composed(found(t))) EXPECT_EQ(rule.find("full"), std::string::npos) << rule;
}

TEST(ComposedRules, RoundTrip) {
  Table real = staff(2000);
  for (Column& c : real.columns)
    if (is_numeric(c.type)) c.numbers[5] = kMissing;
    else c.codes[5] = -1;
  Table t = real;
  const Rules rules = reduced(t);
  ASSERT_EQ(composed(rules).size(), 3u);
  const Rules read = Rules::from_json(rules.to_json());
  EXPECT_EQ(read.to_json(), rules.to_json());
  expect_restored(read, std::move(t), real);
  expect_reduces_again(rules, real);
}

// A user name in plain letters, of which initials are the beginning too, though they do not follow from it.
TEST(ComposedRules, InitialsAndPlainLetters) {
  constexpr int64_t kRows = 1500;
  const Texts firsts{"André", "Jörg", "Leo", "Mia", "Özlem", "Paul"}, lasts{"Weiß", "Müller", "Koch", "Nuñez", "Vogel"};
  const Texts plain{"Andre", "Joerg", "Leo", "Mia", "Oezlem", "Paul"},
      plain_lasts{"Weiss", "Mueller", "Koch", "Nunez", "Vogel"};
  const auto begin = [](const std::string& text) { return TextPart{.column = "a", .first = 1}.of(text); };
  const Table real = table(
      {texts_by("first", kRows, [=](int64_t i) { return pick(firsts, i, 1); }),
       texts_by("last", kRows, [=](int64_t i) { return pick(lasts, i, 2); }),
       texts_by("initials", kRows, [=](int64_t i) { return begin(pick(firsts, i, 1)) + begin(pick(lasts, i, 2)); }),
       texts_by("user", kRows,
                [=](int64_t i) { return small(pick(plain, i, 1)).substr(0, 1) + small(pick(plain_lasts, i, 2)); })});
  Table t = real;
  const Rules rules = reduced(t);
  const Texts all = composed(rules);
  ASSERT_EQ(all.size(), 2U) << testing::PrintToString(said(rules));
  EXPECT_TRUE(all[0].starts_with("initials = ")) << all[0];
  EXPECT_NE(all[1].find("unaccent(last)"), std::string::npos) << all[1];
  const Rules read = Rules::from_json(rules.to_json());
  EXPECT_EQ(read.to_json(), rules.to_json());
  expect_restored(read, std::move(t), real);
  expect_reduces_again(rules, real);
  EXPECT_EQ(in_plain_letters("Übergröße, Ÿ ÿ €"), "Uebergroesse, Ÿ y €");
}

// Given texts are read: their parts are given too.
TEST(ComposedRules, SolveTheirParts) {
  const Table real = staff(2000);
  const Rules rules = found(real);
  Table given = real, known = real;
  for (Column& c : given.columns)
    for (size_t i = 0; i < 4; ++i)
      if (c.name == "number") c.numbers[i] = kMissing;
      else if (c.name == "first" || c.name == "last") c.codes[i] = -1;
  for (const FoundRule& f : rules.found()) f.rule->solve(given, known);
  EXPECT_EQ(lines(given), lines(real));
}

TEST(ComposedRules, PartsAreWholeCharacters) {
  EXPECT_EQ((TextPart{.column = "a", .first = 1}.of("Émile")), "É");
  EXPECT_EQ((TextPart{.column = "a", .first = 3}.of("Zoë")), "Zoë");
  EXPECT_EQ((TextPart{.column = "a", .letters = TextPart::Case::upper, .first = 2}.of("de Wit")), "DE");
  EXPECT_EQ((TextPart{.column = "a", .first = 2}.of("")), "");
}

// The texts of a key are all different; put together of columns that are none, they would repeat.
TEST(ComposedRules, NoneForKeys) {
  constexpr int64_t kRows = 400;
  const Table t = table({whole_by("batch", kRows, [](int64_t i) { return std::floor(static_cast<double>(i) / 20); }),
                         whole_by("item", kRows, [](int64_t i) { return static_cast<double>(i % 20); }),
                         texts_by("id", kRows, [](int64_t i) { return fmt::format("{}/{}", i / 20, i % 20); })});
  EXPECT_EQ(composed(found(t)), Texts{});
}

}  // namespace
}  // namespace tessera::whole
