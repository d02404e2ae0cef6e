// --where: what parses, which rows it keeps, and the messages when it does not fit the schema.
#include "tables/expression/where.h"

#include <gtest/gtest.h>

#include <random>

#include "where/where_rows.h"

using tessera::Column;
using tessera::ColumnType;
using tessera::Error;
using tessera::ErrorCode;
using tessera::Table;
using tessera::table;
using tessera::texts;
using tessera::Where;
using tessera::WhereTerm;

namespace {

Column numbers(const std::string& name, ColumnType type, std::vector<double> values, const std::string& format = "",
               int decimals = 0) {
  Column c = tessera::columns::numbers(name, type, std::move(values), decimals);
  c.format = format;
  return c;
}

const double kNone = tessera::kMissing;

Table people() {
  return table({numbers("age", ColumnType::integer, {17, 40, 65, kNone}),
                numbers("height", ColumnType::decimal, {1.7000000000000002, 1.65, kNone, 1.8}, "", 2),
                texts("education", ColumnType::category, {"Preschool", "Masters", "Doctor's", "10th"}, {0, 1, 2, -1}),
                texts("zip code", ColumnType::category, {"8001", "8002", "9000"}, {0, 1, 2, 0}),
                texts("active", ColumnType::boolean, {"True", "False"}, {0, 1, 0, -1}),
                // 01.01.2020, 01.02.2020, –, 01.01.1970
                numbers("born", ColumnType::date, {18262, 18293, kNone, 0}, "%d.%m.%Y"),
                // 2020-01-01T00:00:00, T12:00:00
                numbers("seen", ColumnType::datetime, {1577836800, 1577880000, 0, kNone}, "%Y-%m-%dT%H:%M:%S"),
                texts("id", ColumnType::identifier, {"a", "b", "c", "d"}, {0, 1, 2, 3}),
                texts("version", ColumnType::constant, {"7"}, {0, 0, 0, 0}),
                texts("größe", ColumnType::category, {"groß", "klein"}, {0, 1, 0, 1})});
}

std::string kept(const std::string& expression) { return tessera::rows_kept(people(), expression); }

void expect_error(const std::string& expression, ErrorCode code, const std::vector<std::string>& fragments) {
  tessera::expect_where_error(people(), expression, "`where`", code, fragments);
}

}  // namespace

TEST(Where, KeepsRowsThatSatisfyEveryTerm) {
  EXPECT_EQ(kept(""), "0123");
  EXPECT_EQ(kept("  "), "0123");
  EXPECT_EQ(kept("age = 40"), "1");
  EXPECT_EQ(kept("age != 40"), "02");  // a missing value meets no comparison
  EXPECT_EQ(kept("age in (17, 65, 99)"), "02");
  EXPECT_EQ(kept("age NOT IN (17)"), "12");
  EXPECT_EQ(kept("age < 40"), "0");
  EXPECT_EQ(kept("age <= 40"), "01");
  EXPECT_EQ(kept("age > 40"), "2");
  EXPECT_EQ(kept("age >= +4e1"), "12");
  EXPECT_EQ(kept("age between 17 and 40"), "01");
  EXPECT_EQ(kept("Age BETWEEN -1 AND 40 and age is not null"), "01");
  EXPECT_EQ(kept("age is null"), "3");
  EXPECT_EQ(kept("education is null and age is null"), "3");
  EXPECT_EQ(kept("education = 'Masters' and age >= 40"), "1");
  EXPECT_EQ(kept("education in ('Masters','Doctor''s')"), "12");
  EXPECT_EQ(kept("education<>'Masters'"), "02");
}

TEST(Where, JoinsTermsByOrBelowAndAndNot) {
  EXPECT_EQ(kept("age = 17 or age = 65"), "02");
  EXPECT_EQ(kept("age = 17 or education = 'Masters' and age > 50"), "0");
  EXPECT_EQ(kept("(age = 17 or education = 'Masters') and height > 1.6"), "01");
  EXPECT_EQ(kept("age is null or größe = 'klein'"), "13");
  EXPECT_EQ(kept("((age < 20) OR (age > 60 AND active = true))"), "02");
  EXPECT_EQ(kept("age + 1 > 60 or age - 1 < 20"), "02");
  EXPECT_EQ(kept("age = 17 or (height > 1.7 or born = '01.02.2020')"), "013");
}

// As in SQL: what is missing meets no comparison, negated or not, so `not` goes to the terms.
TEST(Where, NotOfSeveralTermsNegatesEach) {
  EXPECT_EQ(kept("not (age = 17 or age = 65)"), "1");
  EXPECT_EQ(kept("not (age > 20 and education = 'Masters')"), "02");
  EXPECT_EQ(kept("not (age > 20 and not (education = 'Masters' or height < 1))"), "01");
  EXPECT_EQ(kept("not (age is null or größe = 'klein')"), "02");
}

TEST(Where, LikeMatchesTexts) {
  EXPECT_EQ(kept("education like '%s%'"), "012");
  EXPECT_EQ(kept("education like 'Doctor_s'"), "2");
  EXPECT_EQ(kept("education not like 'Pre%'"), "12");
  EXPECT_EQ(kept("größe like 'gro_'"), "02") << "_ is a character, not a byte";
  EXPECT_EQ(kept("\"zip code\" like '80__'"), "013");
  EXPECT_EQ(kept("not education like '%'"), "");
  EXPECT_EQ(kept("age not between 18 and 50"), "02");
  expect_error("education like 'x%'", ErrorCode::condition, {"no value like \"x%\"", "4 values"});
  expect_error("age like '1%'", ErrorCode::condition, {"\"age\"", "does not hold texts", "range"});
}

TEST(Where, TermsAreWrittenAsTheLanguageReadsThem) {
  const Table t = people();
  for (const char* text : {"age = 17 or age = 65", "not (age > 20 and education = 'Masters') and age > 3",
                           "not (age = 3 or (not height > 1 and age > 4))"}) {
    std::string joined;
    for (const WhereTerm& term : tessera::parse_where(text, t).terms)
      joined += (joined.empty() ? "(" : " and (") + term.text + ")";
    EXPECT_EQ(kept(joined), kept(text)) << joined;
  }
}

// What alternatives say of one column alone is met by every row that meets one of them.
TEST(Where, ProjectsAlternativesOntoAColumn) {
  const Table t = people();
  const auto onto = [&](const char* text, int column) {
    return tessera::projected(tessera::parse_where(text, t).terms[0], column);
  };
  EXPECT_EQ(tessera::parse_where("age = 17 or age > 60", t).terms[0].column, 0);
  EXPECT_EQ(tessera::parse_where("age = 17 or age + 1 > 60", t).terms[0].column, -1);
  const char* both = "(age > 20 and education = 'Masters') or (age < 18 and active = true)";
  ASSERT_TRUE(onto(both, 0).has_value());
  EXPECT_FALSE(onto(both, 2).has_value());
  std::vector<char> keep;
  std::vector<int64_t> failed;
  match_where({{*onto(both, 0)}}, t, keep, failed);
  EXPECT_EQ(keep, (std::vector<char>{1, 1, 1, 0}));
}

TEST(Where, NumbersThatLookLikeThousandsAreNoticed) {
  const Table t = table({numbers("gross", ColumnType::decimal, {10, 20000}, "#.##0,00"),
                         numbers("rate", ColumnType::decimal, {10, 20000}, "#,##0.00")});
  const auto said = [&](const char* text) { return misread_numbers(tessera::parse_where(text, t), t); };
  for (const char* text : {"gross > 10.000", "rate > 1 and not gross between 1 and 999.999", "gross - 1.000 > rate"})
    EXPECT_NE(said(text).find("column \"gross\" has a decimal comma"), std::string::npos) << text;
  EXPECT_NE(said("gross > 10.000").find("10.000 is not 10000"), std::string::npos);
  for (const char* text : {"rate > 10.000", "gross > 10.00", "gross > 0.125", "gross > 1000.000", "gross > '10.000'"})
    EXPECT_EQ(said(text), "") << text;
}

TEST(Where, TextsThatAreNumbersHaveAnOrder) {
  EXPECT_EQ(kept("\"zip code\" = '8001'"), "03");
  EXPECT_EQ(kept("\"zip code\" = 8001"), "03");
  EXPECT_EQ(kept("\"zip code\" < 9000"), "013");
  EXPECT_EQ(kept("version = 7"), "0123");
  EXPECT_EQ(kept("version >= 5"), "0123");
  expect_error("version > 7", ErrorCode::condition, {"version", "7"});
}

TEST(Where, DecimalsCompareAsTheyAreWritten) {
  EXPECT_EQ(kept("height = 1.7"), "0");
  EXPECT_EQ(kept("height <= 1.70"), "01");
  EXPECT_EQ(kept("height > 1.7"), "3");
  expect_error("height = 1.705", ErrorCode::condition, {"writes 1.705 as 1.70", "between"});
}

TEST(Where, NumbersWithAnExponentCompareAsTheyAreWritten) {
  Table t = table({numbers("dose", ColumnType::decimal, {118.76, 118.84, 1.1884e-5}, "0.000e+00", 9)});
  EXPECT_EQ(tessera::rows_kept(t, "dose = 118.8"), "01");
  EXPECT_EQ(tessera::rows_kept(t, "dose < 118.79"), "2");
  EXPECT_EQ(tessera::rows_kept(t, "dose in (1.188e-5)"), "2");
  EXPECT_EQ(tessera::rows_kept(t, "2 * dose = 237.6"), "01");
  tessera::expect_where_error(t, "dose = 118.76", "`where`", ErrorCode::condition,
                              {"writes 118.76 as 1.188e+02", "between"});
}

TEST(Where, BooleansInAnySpelling) {
  EXPECT_EQ(kept("active = true"), "02");
  EXPECT_EQ(kept("active = 'FALSE'"), "1");
  expect_error("active = maybe", ErrorCode::condition, {"maybe", "True, False"});
  expect_error("active > 'False'", ErrorCode::condition, {"boolean", "no order"});
}

TEST(Where, DatesInTheColumnsFormatAndInIso) {
  EXPECT_EQ(kept("born = '01.02.2020'"), "1");
  EXPECT_EQ(kept("born = '2020-02-01'"), "1");
  EXPECT_EQ(kept("born >= '2020-01-01'"), "01");
  EXPECT_EQ(kept("born between '1969-12-31' and '01.01.2020'"), "03");
  EXPECT_EQ(kept("born < '2020-01-01T12:00:00'"), "03");
  EXPECT_EQ(kept("seen = '2020-01-01T12:00:00'"), "1");
  EXPECT_EQ(kept("seen > '2020-01-01'"), "1");
  expect_error("born = '2020-13-01'", ErrorCode::condition, {"born", "2020-13-01", "%d.%m.%Y"});
  expect_error("born = 2020", ErrorCode::usage, {"single quotes", "^"});
  expect_error("seen = 'soon'", ErrorCode::condition, {"soon", "dates with times"});
}

TEST(Where, CountsRowsThatMissEachTerm) {
  const Table t = people();
  const Where where = tessera::parse_where("age >= 40 and education = 'Masters' and größe = 'klein'", t);
  std::vector<char> keep;
  std::vector<int64_t> failed;
  match_where(where, t, keep, failed);
  EXPECT_EQ(keep, (std::vector<char>{0, 1, 0, 0}));
  EXPECT_EQ(failed, (std::vector<int64_t>{2, 3, 2}));
  ASSERT_EQ(where.terms.size(), 3u);
  EXPECT_EQ(where.terms[1].text, "education = 'Masters'");
  EXPECT_EQ(where.terms[0].column, 0);
}

TEST(Where, NumbersInQuotesAreReadAsTheColumnWritesThem) {
  Table t = table({numbers("price", ColumnType::decimal, {999.5, 1000, 1234.5}, "\"€\"#,##0.00", 2),
                   numbers("net", ColumnType::decimal, {999.5, 1000, 1234.5}, "#.##0,0", 1),
                   numbers("at", ColumnType::integer, {79199, 79200, 100}, "%I:%M %p"),
                   numbers("took", ColumnType::integer, {11099, 11100, 11101}, "%-Hh %Mm")});
  const auto kept = [&](const char* expression) { return tessera::rows_kept(t, expression); };
  EXPECT_EQ(kept("price >= '€1,000.00'"), "12");
  EXPECT_EQ(kept("price = '€1,234.50'"), "2");
  EXPECT_EQ(kept("price >= 1000"), "12");
  EXPECT_EQ(kept("net > '1.000'"), "2");
  EXPECT_EQ(kept("net between '999,5' and '1.000,0'"), "01");
  EXPECT_EQ(kept("at >= '10:00 PM'"), "1");
  EXPECT_EQ(kept("at in ('10:00 PM', 100)"), "12");
  EXPECT_EQ(kept("took <= '3h 05m'"), "01");
  tessera::expect_where_error(t, "price > '$5'", "`where`", ErrorCode::condition, {"as the column does: \"€\""});
}

TEST(Where, NamesUnknownColumnsAndValues) {
  expect_error("educaton = 'Masters'", ErrorCode::condition,
               {"no column \"educaton\"", "Nearest: \"education\"", "10 columns"});
  expect_error("education = 'Kindergarten'", ErrorCode::condition,
               {"no value \"Kindergarten\". It has 4 values", "10th"});
  expect_error("education = 'master'", ErrorCode::condition, {"Nearest: \"Masters\""});
  expect_error("education >= 'Masters'", ErrorCode::condition, {"no order", "in (…)"});
  expect_error("id = 'a'", ErrorCode::condition, {"identifier"});
  expect_error("age = 3.5", ErrorCode::condition, {"whole numbers", "3.5"});
  expect_error("age = 'old'", ErrorCode::condition, {"is not one. Write it as 42"});
  expect_error("age between 9 and 3", ErrorCode::condition, {"lower end"});
}

TEST(Where, PointsAtSyntaxErrors) {
  expect_error("age =", ErrorCode::usage, {"position 6: expected a value", "    age =\n         ^"});
  expect_error("größe = ", ErrorCode::usage, {"position 9", "\n            ^"});
  expect_error("age", ErrorCode::usage, {"expected =, !="});
  expect_error("age = 3 or", ErrorCode::usage, {"expected a column", "position 11"});
  expect_error("(age = 3 or age = 4", ErrorCode::usage, {"expected \"and\", \"or\" or \")\""});
  expect_error("age = 3 age = 4", ErrorCode::usage, {"expected \"and\""});
  expect_error("education = Masters", ErrorCode::usage, {"'Masters'"});
  expect_error("education = \"Masters\"", ErrorCode::usage, {"double quotes are for column names"});
  expect_error("education = 'Masters", ErrorCode::usage, {"never closed", "position 13"});
  expect_error("age = null", ErrorCode::usage, {"is null"});
  expect_error("age in (1, 2", ErrorCode::usage, {"\")\""});
  expect_error("age in 1", ErrorCode::usage, {"\"(\""});
  expect_error("age between 1", ErrorCode::usage, {"\"and\""});
  expect_error("age = 1e999", ErrorCode::usage, {"too large"});
  expect_error("age ; 1", ErrorCode::usage, {"\";\""});
  expect_error("and", ErrorCode::condition, {"no column"});
  expect_error("'age' = 1", ErrorCode::usage, {"double quotes"});
  expect_error(std::string(5000, ' ').append("age ="), ErrorCode::usage, {"position 5006"});
}

// Random pieces, bytes and cuts of good expressions: an Error or a Where, never anything else.
TEST(Where, SurvivesRandomInput) {
  const std::vector<std::string> pieces{"age",
                                        "\"zip code\"",
                                        "education",
                                        "born",
                                        "active",
                                        "=",
                                        "<",
                                        ">=",
                                        "!=",
                                        "in",
                                        "(",
                                        ")",
                                        ",",
                                        "between",
                                        "and",
                                        "is",
                                        "not",
                                        "null",
                                        "'Masters'",
                                        "'",
                                        "\"",
                                        "40",
                                        "-",
                                        ".",
                                        "1e400",
                                        "0x",
                                        "'2020-01-01'",
                                        "größe",
                                        "\xC3",
                                        std::string(1, '\0'),
                                        "+.",
                                        "2nd",
                                        "\n",
                                        "or",
                                        "like",
                                        "'%s'"};
  std::mt19937 gen(7);
  const Table t = people();
  int accepted = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text;
    for (auto n = gen() % 9; n > 0; --n) {
      if (gen() % 12 == 0) text += static_cast<char>(gen());
      else text += pieces[gen() % pieces.size()];
      if (gen() % 3 != 0) text += ' ';
    }
    try {
      const Where where = tessera::parse_where(text, t);
      std::vector<char> keep;
      std::vector<int64_t> failed;
      match_where(where, t, keep, failed);
      ASSERT_EQ(keep.size(), 4u);
      ++accepted;
    } catch (const Error& e) {
      ASSERT_TRUE(e.code() == ErrorCode::usage || e.code() == ErrorCode::condition) << text;
      ASSERT_EQ(std::string(e.what()).rfind("`where`: ", 0), 0u);
    }
  }
  EXPECT_GT(accepted, 1000);
}
