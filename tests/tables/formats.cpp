// Formats of numbers, dates and times: what is read goes out as it came in (docs/data/tables.md).
#include "tables/csv/writer.h"
#include "tables/formats/moments.h"
#include "tables/formats/number_format.h"

#include "support.h"
#include "tables/arrow/export.h"
#include "tables/arrow/import.h"
#include "tables/kinds/number_writer.h"

namespace tessera::test {
namespace {

struct Kept {
  ColumnType type;
  std::string format;
  std::vector<std::string> written;
};

// A column of these cells, through the reader and the writer.
Kept keep(const std::vector<std::string>& cells) {
  std::string text = "c;d\n";
  for (const std::string& cell : cells) text += cell + ";1\n";
  Table table = read_text(text);
  Kept out{table.columns[0].type, table.columns[0].format, {}};
  const Folder folder;
  CsvWriteOptions options;
  options.path = folder.path("out.csv");
  options.delimiter = ';';
  options.fsync = false;
  ArrowArrayStream stream;
  table_export(std::move(table), &stream);
  csv_write(&stream, options, Monitor{});
  std::istringstream lines(read_bytes(options.path));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) out.written.push_back(line.substr(0, line.size() - 2));
  return out;
}

void expect_kept(ColumnType type, const std::string& format, const std::vector<std::string>& cells) {
  const Kept kept = keep(cells);
  EXPECT_STREQ(name(kept.type), name(type)) << cells[0];
  EXPECT_EQ(kept.format, format) << cells[0];
  EXPECT_EQ(kept.written, cells) << cells[0];
}

TEST(Formats, NumbersGoOutAsTheyCameIn) {
  using enum ColumnType;
  expect_kept(decimal, "", {"1.25", "-3.50", "0.00"});
  expect_kept(decimal, "\"$\"#,##0.00", {"$1,061.69", "$5.00", "-$12.50", "$1,234,567.89"});
  expect_kept(decimal, "\"$\"-0.00", {"$1.69", "$-5.00"});
  expect_kept(decimal, "0,0\" %\"", {"24,3 %", "0,0 %", "-5,1 %"});
  expect_kept(integer, "0\" €\"", {"79 €", "5 €"});
  expect_kept(decimal, "0.0\" kg\"", {"68.4 kg", "101.0 kg"});
  expect_kept(integer, "0\"%\"", {"5%", "100%"});
  expect_kept(decimal, "#.##0,00", {"2.481,96", "25,84", "-1.000.000,10"});
  expect_kept(decimal, "#\xC2\xA0##0,00\" €\"",
              {"1\xC2\xA0"
               "234,56 €",
               "7,00 €"});
  expect_kept(decimal, "#'##0.00", {"1'234.50", "7.25"});
  expect_kept(integer, "#,##0", {"1,061", "12", "12,345,678"});
  expect_kept(integer, "+0", {"+3", "-4", "0"});
  expect_kept(integer, "++0", {"+3", "-4", "+0"});
  expect_kept(decimal, "++\"$\"0.00", {"+$1.50", "+$0.00", "-$2.25"});
  expect_kept(integer, "0.0", {"3.0", "4.0"});
  expect_kept(decimal, "0.0##", {"3.0", "2.5", "2.125"});
  expect_kept(decimal, "0.##", {"3", "2.5", "2.25"});
  expect_kept(decimal, "0,##", {"3", "2,5", "2,25"});
  expect_kept(decimal, "0.000e+00", {"2.687e+04", "1.000e-07", "-3.250e+120"});
  expect_kept(decimal, "0e0", {"1e6", "2e5"});
  expect_kept(decimal, "%g", {"123456.789", "1e-07", "100000"});
  expect_kept(decimal, "%.18f", {"0.000123456789012345", "35.5", "0", "12.125"});
  expect_kept(decimal, "0.#######~8",
              {"1496.4667", "92.333333", "805.62568", "71.25", "0", "12.345679", "1.2345679", "24.123457"});
  expect_kept(decimal, "0.0###",
              {"1496.4667", "192.3333", "805.6256", "71.25", "0.1234", "12.3456", "1000.5", "24.1234"});
  expect_kept(decimal, "\"USD \"0.00", {"USD 5.10", "USD 6.25"});
}

// Drawn numbers have digits that no text of their column has: they are rounded as they are written, for every output.
TEST(Formats, DrawnNumbersAreThoseOfTheirTexts) {
  const auto rounded = [](const std::string& format, int decimals, double x) {
    Column c;
    c.type = ColumnType::decimal, c.format = format, c.decimals = decimals, c.numbers.push_back(x);
    round_as_written(c);
    std::string text;
    NumberWriter(c).write(x, text);
    double read = 0;
    EXPECT_TRUE(read_finite(text, read)) << text;
    EXPECT_EQ(read, c.numbers[0]) << text;
    return text;
  };
  EXPECT_EQ(rounded("%.18f", 15, 6.467800411197929e-05), "0.000064678004111979");
  EXPECT_EQ(rounded("%.18f", 15, -1e-300), "0");
  EXPECT_EQ(rounded("%.18f", 15, 35.216426548201575), "35.216426548201575");
  EXPECT_EQ(rounded("", 14, 35.216426548201575), "35.21642654820158");
  EXPECT_EQ(rounded("%g", 15, 1e-7), "1e-07");
  EXPECT_EQ(rounded("0.########~10", 8, 1496.46666712), "1496.466667");
  EXPECT_EQ(rounded("0.0#######~10", 8, -92.333333334), "-92.33333333");
  EXPECT_EQ(rounded("0.0#######~10", 8, 12), "12.0");
  EXPECT_EQ(rounded("0.########~10", 8, 1e-9), "0");
  EXPECT_EQ(rounded("%g~15", 15, 0.1234567890123456), "0.123456789012346");
  EXPECT_EQ(rounded("%.18f~15", 15, 0.0001234567890123456), "0.000123456789012346");
}

TEST(Formats, NegativeNumbersOfLedgersAreNumbers) {
  using enum ColumnType;
  expect_kept(decimal, "(#,##0.00)", {"(1,234.50)", "17.25", "(0.50)", "0.00"});
  expect_kept(integer, "(0)", {"12", "(7)"});
  expect_kept(decimal, "(\"$\"#,##0.00)", {"$1,061.69", "($12.50)"});
  expect_kept(decimal, "\"$ \"(0.00)", {"$ 1.69", "$ (12.50)"});
  expect_kept(decimal, "(0,00\" €\")", {"(1,69 €)", "12,50 €"});
  expect_kept(decimal, "0,00-", {"505,99-", "12,00"});
  expect_kept(decimal, "#,##0.00-\" EUR\"", {"1,505.99- EUR", "12.00 EUR"});
  const Table t = read_text("a;b\n(1,234.50);1\n2.25;505,99-\n");
  EXPECT_EQ(t.columns[0].numbers[0], -1234.5);
  EXPECT_EQ(t.columns[1].numbers[1], -505.99);
  // numbers of a list, school marks, telephones
  for (const std::vector<std::string>& cells :
       {std::vector<std::string>{"(1)", "(2)"}, {"2-", "3-", "2"}, {"(030) 1234567", "(040) 7654321"}, {"(5", "7"}})
    EXPECT_STREQ(name(keep(cells).type), "category") << cells[0];
}

TEST(Formats, WhatIsNoNumberStaysText) {
  for (const std::vector<std::string>& cells : {std::vector<std::string>{"A12", "A13"},
                                                {"5 kg", "6 g"},
                                                {"$5", "6"},
                                                {"$5", "€6"},
                                                {"1 year", "2 years"},
                                                {"12 Main Street", "7 Park Lane"},
                                                {"221 555 123", "221 555 124"},
                                                {"007 kg", "008 kg"},
                                                {"1 23", "4 56"}})
    EXPECT_STREQ(name(keep(cells).type), "category") << cells[0];
}

TEST(Formats, TheTypesetMinusIsKept) {
  using enum ColumnType;
  expect_kept(decimal, "−0.0", {"8.5", "−11.2", "0.0"});
  expect_kept(integer, "−#,##0\" °C\"", {"−1,012,345 °C", "4 °C"});
  expect_kept(integer, "−\"$\"-0", {"$−12", "$4"});
  EXPECT_STREQ(name(keep({"−−5", "4"}).type), "category");
  EXPECT_STREQ(name(keep({"3−5", "4−6"}).type), "category");
}

TEST(Formats, LakhsAndCroresAreGroups) {
  using enum ColumnType;
  expect_kept(integer, "#,##,##0", {"12,34,56,789", "1,00,000", "55,933", "950"});
  expect_kept(decimal, "\"₹\"#,##,##0.00", {"₹2,17,300.50", "-₹99,999.25", "₹1,000.75"});
  expect_kept(integer, "#,##0", {"55,933", "1,000", "950"});
  for (const char* broken : {"100,000", "1,00,00", "1,000,00,000", "12,34", "1,00,000.5,5"})
    EXPECT_STREQ(name(keep({"1,00,000", broken}).type), "category") << broken;
}

TEST(Formats, AddressesAreNoNumbers) {
  const Kept all = keep({"192.168.100.102", "192.168.253.199"}), some = keep({"10.0.0.1", "192.168.253.199"});
  EXPECT_STREQ(name(all.type), "category");
  EXPECT_STREQ(name(some.type), "category");
  expect_kept(ColumnType::integer, "#.##0", {"1.234.567.890", "12"});
}

TEST(Formats, DatesGoOutAsTheyCameIn) {
  using enum ColumnType;
  expect_kept(date, "%b %d, %Y", {"May 08, 2023", "Dec 31, 1999"});
  expect_kept(date, "%b %-d, %Y", {"May 8, 2023", "Dec 31, 1999"});
  expect_kept(date, "%d-%b-%y", {"08-May-23", "31-Dec-99"});
  expect_kept(date, "[upper]%d%b%Y", {"08MAY2023", "31DEC1999"});
  expect_kept(date, "%m/%d/%y", {"05/23/23", "12/31/68"});
  expect_kept(date, "%Y%m%d", {"20230508", "19991231", "20230509", "20230510", "20230511"});
  expect_kept(date, "[de]%d. %B %Y", {"08. März 2023", "31. Dezember 1999"});
  expect_kept(date, "[fr]%-d %B %Y", {"8 février 2023", "31 août 1999"});
  expect_kept(date, "[es]%d de %B de %Y", {"08 de enero de 2023", "31 de agosto de 1999"});
  expect_kept(date, "[it]%-d %b %Y", {"8 gen 2023", "31 ago 1999"});
  expect_kept(date, "[pt]%-d %b %Y", {"8 fev 2023", "31 out 1999"});
  expect_kept(datetime, "%Y-%m-%dT%H:%M:%S+02:00", {"2023-05-08T03:47:39+02:00", "2023-05-08T00:10:39+02:00"});
  expect_kept(datetime, "%Y-%m-%dT%H:%M:%S", {"2023-05-08T03:47:39.250000", "2023-05-08T00:10:39.000000"});
  expect_kept(datetime, "%m/%d/%Y %I:%M %p", {"05/08/2023 03:47 AM", "05/28/2023 12:00 PM"});
  expect_kept(datetime, "%Y-%m-%d %H:%M:%S UTC", {"2023-05-08 03:47:39 UTC", "2023-05-28 12:00:00 UTC"});
  expect_kept(datetime, "%Y/%m/%d %H:%M GMT", {"2023/05/08 03:47 GMT", "2023/05/28 12:00 GMT"});
  expect_kept(datetime, "%-m/%-d/%Y %-I:%M %p EST", {"5/8/2023 3:47 AM EST", "5/28/2023 12:00 PM EST"});
  expect_kept(datetime, "%d/%b/%Y:%H:%M:%S +0000", {"08/May/2023:03:47:39 +0000", "28/May/2023:12:00:00 +0000"});
  expect_kept(datetime, "[upper]%d%b%Y:%H:%M:%S", {"08MAY2023:03:47:39", "28MAY2023:12:00:00"});
  expect_kept(datetime, "%Y%m%dT%H%M%SZ", {"20230508T034739Z", "20230528T120000Z"});
  expect_kept(datetime, "%Y%m%dT%H%M", {"20230508T0347", "20230528T1200"});
  expect_kept(datetime, "%a, %d %b %Y %H:%M:%S +0000",  // RFC 2822
              {"Tue, 26 Jan 2021 10:00:00 +0000", "Wed, 03 Feb 2021 23:59:59 +0000"});
  expect_kept(datetime, "[upper]%d-%b-%y %I.%M.%S %p",  // Oracle
              {"27-JAN-21 10.15.30.000000 AM", "03-FEB-21 11.59.59.250000 PM"});
  expect_kept(datetime, "%d.%m.%Y %H.%M", {"27.01.2021 10.15", "03.02.2021 23.59"});
  EXPECT_STREQ(name(keep({"27.01.2021 10.15", "03.02.2021 24.15"}).type), "category");
  expect_kept(date, "%A %m/%d/%Y", {"Tuesday 01/26/2021", "Wednesday 02/03/2021"});
  for (const char* other : {"Mon, 26 Jan 2021 10:00:00 +0000", "26 Jan 2021 10:00:00 +0000", "Tue, Tue, 26 Jan 2021"})
    EXPECT_STREQ(name(keep({"Tue, 26 Jan 2021 10:00:00 +0000", other}).type), "category") << other;
  for (const char* broken :
       {"20230508T0361", "20230508T034", "2023-05-08 03:47 IST", "08/May/2023: 03:47", "2023-05-08T:03:47"})
    EXPECT_STREQ(name(keep({"20230508T0347", broken}).type), "category") << broken;
  EXPECT_STREQ(name(keep({"05/08/23", "06/09/23"}).type), "category");
  double days = 0;
  EXPECT_TRUE(read_date("01.01.69", "%d.%m.%y", days));
  EXPECT_EQ(days, -365);
  EXPECT_TRUE(read_date("31.12.68", "%d.%m.%y", days));
  EXPECT_EQ(days, static_cast<double>(days_from_civil(2068, 12, 31)));
}

TEST(Formats, MonthsAreDates) {
  using enum ColumnType;
  expect_kept(date, "%Y-%m", {"2023-05", "1999-12"});
  expect_kept(date, "%Y/%m", {"2023/05", "1999/12"});
  expect_kept(date, "%m/%Y", {"05/2023", "12/1999"});
  expect_kept(date, "%-m/%Y", {"5/2023", "12/1999"});
  expect_kept(date, "%b-%Y", {"May-2023", "Dec-1999"});
  expect_kept(date, "%b-%y", {"Jun-23", "Dec-99"});
  expect_kept(date, "[de]%B %Y", {"März 2023", "Dezember 1999"});
  double days = 0;
  for (const char* format : {"%Y-%m", "%b-%Y"}) {
    EXPECT_TRUE(read_date(format[1] == 'Y' ? "2023-05" : "May-2023", format, days));
    EXPECT_EQ(days, static_cast<double>(days_from_civil(2023, 5, 1)));
    EXPECT_TRUE(read_date("2023-05-17", format, days));
    EXPECT_EQ(days, static_cast<double>(days_from_civil(2023, 5, 17)));
  }
  // codes, seasons, and days among months
  for (const auto& cells : std::vector<std::vector<std::string>>{{"4711-02", "4712-11"},
                                                                 {"2014-15", "2009-10"},
                                                                 {"2023-05", "2023-06-01"},
                                                                 {"2023-00", "2023-01"},
                                                                 {"13/2023", "12/2023"},
                                                                 {"May-2023", "May-23-x"}})
    EXPECT_STREQ(name(keep(cells).type), "category") << cells[0];
}

TEST(Formats, DatesOfSeveralFormatsAreNamedWithTheWayOut) {
  const Column mixed = read_text("d,x\n13/01/2020,1\n02/25/2021,2\n").columns[0];
  EXPECT_STREQ(name(mixed.type), "category");
  EXPECT_NE(mixed.reason.find("dates, but line 3 holds \"02/25/2021\""), std::string::npos) << mixed.reason;
  EXPECT_NE(mixed.reason.find("write all of them alike"), std::string::npos) << mixed.reason;
  const Column unknown = read_text("d,x\n2020-01-05,1\n01/02/2021,2\n").columns[0];
  EXPECT_STREQ(name(unknown.type), "category");
  EXPECT_NE(unknown.reason.find("day and month are ambiguous"), std::string::npos) << unknown.reason;
  EXPECT_EQ(read_text("d,x\n2020-01-05,1\nsoon,2\n").columns[0].reason.find("alike"), std::string::npos);
}

// Each row has its own, through Arrow too.
TEST(Formats, RowsKeepTheirFormats) {
  using enum ColumnType;
  struct Case {
    ColumnType type;
    std::vector<std::string> cells;
    std::vector<double> numbers;  // of the first two cells
  };
  const auto day = [](int y, int m, int d) { return static_cast<double>(days_from_civil(y, m, d)); };
  const std::vector<Case> cases{{date, {"2020-01-05", "25.02.2021", "2020-01-06"}, {day(2020, 1, 5), day(2021, 2, 25)}},
                                {date, {"01/02/2020", "2020-02-01", "13/02/2020"}, {day(2020, 2, 1), day(2020, 2, 1)}},
                                {date, {"1/2/2020", "2020-02-01", "13/2/2020"}, {day(2020, 2, 1), day(2020, 2, 1)}},
                                {date, {"May 08, 2023", "2023-05-08", "20230508"}, {day(2023, 5, 8), day(2023, 5, 8)}},
                                {datetime,
                                 {"2020-01-05 10:00:00", "05/13/2021 11:30:00"},
                                 {day(2020, 1, 5) * 86400 + 36000, day(2021, 5, 13) * 86400 + 41400}},
                                {datetime,
                                 {"2023-05-08T03:47:39+02:00", "2023-05-08T01:47:40Z", "2023-05-08T01:47:40-05:30"},
                                 {day(2023, 5, 8) * 86400 + 6459, day(2023, 5, 8) * 86400 + 6460}}};
  for (const Case& c : cases) {
    std::string text = "c;d\n";
    for (const std::string& cell : c.cells) text += cell + ";1\n";
    const Kept kept = keep(c.cells);
    EXPECT_STREQ(name(kept.type), name(c.type)) << c.cells[0];
    EXPECT_EQ(kept.written, c.cells);
    Table table = read_text(text);
    ArrowArrayStream stream;
    const Column before = table.columns[0];
    table_export(std::move(table), &stream);
    stream = handed_on(stream);
    Team team(1);
    const Column after = table_import(&stream, team, Monitor{}).columns[0];
    for (const Column* read : {&before, &after}) {
      EXPECT_STREQ(name(read->type), name(c.type));
      EXPECT_EQ(read->numbers[0], c.numbers[0]) << c.cells[0];
      EXPECT_EQ(read->numbers[1], c.numbers[1]) << c.cells[1];
      EXPECT_EQ(read->values, before.values);
      EXPECT_EQ(read->codes, before.codes);
    }
    EXPECT_EQ(after.reason, before.reason);
  }
  expect_kept(date, "%Y%m%d.0", {"20230508.0", "19991231.0", "20230509.0", "20230510.0", "20230511.0"});
  EXPECT_STREQ(name(keep({"20230508.0", "19991231.0", "20230509.0", "20230532.0", "20230511.0"}).type), "integer");
}

TEST(Formats, AnInstantIsInUtc) {
  const Table t = read_text("t,x\n2023-05-08T03:47:39+02:00,1\n2023-05-08T01:47:40Z,2\n");
  EXPECT_EQ(t.columns[0].type, ColumnType::datetime);
  EXPECT_EQ(t.columns[0].numbers[1] - t.columns[0].numbers[0], 1);
  EXPECT_NE(t.columns[0].reason.find("several offsets"), std::string::npos);
  const Column winter = read_text("t,x\n2023-01-08 03:47 EST,1\n2023-07-08 04:47 EDT,2\n").columns[0];
  EXPECT_EQ(winter.numbers[1] - winter.numbers[0], 181 * 86400);
  EXPECT_EQ(winter.values, (std::vector<std::string>{"%Y-%m-%d %H:%M EST", "%Y-%m-%d %H:%M EDT"}));
}

TEST(Formats, TimesAndDurationsAreSeconds) {
  using enum ColumnType;
  expect_kept(integer, "%I:%M %p", {"03:47 AM", "12:00 PM", "12:05 AM"});
  expect_kept(integer, "%H:%M", {"03:47", "23:59"});
  expect_kept(integer, "%-H:%M:%S", {"3:47:05", "23:59:59"});
  expect_kept(decimal, "%H:%M:%S", {"03:47:05.25", "23:59:59.75"});
  expect_kept(integer, "%H:%M:%S", {"103:47:05", "02:59:59"});
  expect_kept(integer, "%-Hh %Mm", {"3h 05m", "12h 00m"});
  expect_kept(integer, "%D days %H:%M:%S", {"0 days 01:30:00", "12 days 00:00:01"});
  expect_kept(integer, "PT", {"PT1H30M", "PT45M", "PT5S"});
  EXPECT_EQ(read_text("a,b\n03:47,1\n04:00,2\n").columns[0].numbers[0], 3 * 3600 + 47 * 60);
  EXPECT_EQ(read_text("a,b\n03:47,1\n04:00,2\n").columns[0].arrow, "tts");
}

TEST(Formats, TimesThatRepeatStayCategories) {
  std::string text = "slot,x\n";
  for (int i = 0; i < 60; ++i) text += (i % 3 == 0 ? "08:15," : "09:00,") + std::to_string(i) + "\n";
  const Column c = read_text(text).columns[0];
  EXPECT_EQ(c.type, ColumnType::category);
  EXPECT_EQ(c.values, (std::vector<std::string>{"08:15", "09:00"}));
}

TEST(Formats, TheFormatDoesNotDependOnThePieces) {
  std::string text = "a,b\n";
  for (int i = 0; i < 200000; ++i) text += (i == 170000 ? "\"$1,234.5\"," : "$7.25,") + std::to_string(i) + "\n";
  const Column one = read_text(text, {}, 1).columns[0], many = read_text(text, {}, 4).columns[0];
  EXPECT_EQ(one.format, many.format);
  EXPECT_EQ(one.format, "\"$\"#,##0.0#");
  EXPECT_EQ(one.numbers, many.numbers);
}

TEST(Formats, GroupsHaveThreeDigits) {
  int separator = 0, groups = 0;
  std::string plain;
  ASSERT_TRUE(remove_groups("-12'345'678.9", separator, groups, plain));
  EXPECT_EQ(plain, "-12345678.9");
  EXPECT_EQ(groups, 2);
  EXPECT_TRUE(remove_groups("1234", separator, groups, plain));
  EXPECT_EQ(groups, 0);
  for (const char* text : {"1 23", "1 2345", "1234 567", " 123", "1 234'567"})
    EXPECT_FALSE(remove_groups(text, separator, groups, plain)) << text;
}

TEST(Formats, PicturesReadBackAsTheSameFormat) {
  for (const char* text :
       {"0", "+0.00", "#,##,##0.0", "−0.0", "−\"$\"-0", "\"$\"#,##0.00", "\"a\"\"b\"-0.0#\"x\"", "#.##0,0##",
        "0.000E+00\" m\"", "0e00", "(0.00)", "\"$\"(0)", "+(\"$\"0\" x\")", "0,00-", "0-\" x\"", "++0.0", "\"$\"++0"}) {
    NumberFormat f;
    EXPECT_TRUE(NumberFormat::parse(text, f)) << text;
    EXPECT_EQ(f.text(), text);
  }
  NumberFormat f;
  for (const char* text : {"", "%g", "%d", "#0", "\"open", "0.", "0.0x", "0e", "00", "(0", "\"$\"(0", "0)", "(0-)"})
    EXPECT_FALSE(NumberFormat::parse(text, f)) << text;
}

}  // namespace
}  // namespace tessera::test
