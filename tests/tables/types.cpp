// The rules by which columns get their types (docs/data/tables.md).
#include "tables/types/types.h"

#include <set>

#include "tables/csv/odd_words.h"
#include "tables/table/suggestions.h"
#include "tables/types/column_spec.h"
#include "tables/types/keys.h"

#include "support.h"

namespace tessera::test {
namespace {

// One column of these cells; every cell quoted, so that it may contain any text.
Column column_of(const std::vector<std::string>& cells, CsvOptions options = {}) {
  std::string text = "c;d\n";
  for (const std::string& cell : cells) text += (cell.empty() ? "" : '"' + cell + '"') + ";1\n";
  return std::move(read_text(text, options).columns[0]);
}

void expect_type(ColumnType type, const std::vector<std::string>& cells) {
  const Column c = column_of(cells);
  EXPECT_STREQ(name(c.type), name(type)) << cells[0] << ", …: " << c.reason;
  EXPECT_FALSE(c.reason.empty());
}

TEST(Types, Integers) {
  expect_type(ColumnType::integer, {"1", "-2", "+3", "0"});
  expect_type(ColumnType::integer, {"1.0", "2.", "3"});
  expect_type(ColumnType::integer, {"999999999999999", "1"});
  EXPECT_EQ(column_of({"1", "", "N/A", "?", "-", "null", "None", "4"}).numbers.size(), 8u);
  EXPECT_TRUE(column_of({"1", "?", "4"}).is_missing(1));
}

TEST(Types, NoDigitIsLost) {
  expect_type(ColumnType::category, {"1234567890123456", "1"});
  expect_type(ColumnType::category, {"00501", "10001"});
  EXPECT_EQ(column_of({"00501", "10001"}).values[0], "00501");
  EXPECT_EQ(column_of({"9007199254740993", "1"}).values[0], "9007199254740993");
}

TEST(Types, Decimals) {
  const Column c = column_of({".5", "5.", "-1.25", "1e2", "2.50"});
  EXPECT_EQ(c.type, ColumnType::decimal);
  EXPECT_EQ(c.decimals, 2);
  EXPECT_EQ(c.numbers, (std::vector<double>{.5, 5, -1.25, 100, 2.5}));
  EXPECT_EQ(column_of({"1.5e-3", "2"}).decimals, 4);
  const Column tiny = column_of({"0.30000000000000004", "1e-20"});
  EXPECT_EQ(tiny.format, "%g");
  EXPECT_EQ(tiny.numbers, (std::vector<double>{0.1 + 0.2, 1e-20}));
  EXPECT_EQ(column_of({"0.30000000000000004", "1.5"}).format, "%.17f");
}

// As R writes them: an exponent where it is shorter.
TEST(Types, WholeNumbersMayHaveExponents) {
  const Column c = column_of({"2e+05", "199999", "-1e2", "0"});
  EXPECT_EQ(c.type, ColumnType::integer);
  EXPECT_EQ(c.numbers, (std::vector<double>{200000, 199999, -100, 0}));
  expect_type(ColumnType::integer, {"12E3", "1.5e1", "7"});
  expect_type(ColumnType::decimal, {"2e-05", "1"});
  expect_type(ColumnType::decimal, {"1.25e1", "1"});
  expect_type(ColumnType::decimal, {"1e15", "1"});   // 16 digits
  expect_type(ColumnType::decimal, {"1e5", "2e5"});  // measurements
}

TEST(Types, CommasAndThousands) {
  EXPECT_EQ(column_of({"1,5", "-0,25", "3"}).numbers, (std::vector<double>{1.5, -.25, 3}));
  EXPECT_EQ(column_of({"1,234.5", "1,234,567", "12"}).numbers, (std::vector<double>{1234.5, 1234567, 12}));
  EXPECT_EQ(column_of({"1.234,5", "1.234.567", "12"}).numbers, (std::vector<double>{1234.5, 1234567, 12}));
  // fields parted by ';': a decimal comma
  EXPECT_EQ(column_of({"1,234", "5,678"}).numbers, (std::vector<double>{1.234, 5.678}));
  EXPECT_EQ(read_text("c,d\n\"1,234\",1\n\"5,678\",2\n").columns[0].numbers, (std::vector<double>{1234, 5678}));
  expect_type(ColumnType::category, {"1,5", "1.5"});
  expect_type(ColumnType::category, {"12,34,56", "1"});
  // Groups of three alone: between thousands, where smaller numbers without a mark and no larger ones are beside them.
  for (const char* mark : {",", "."}) {
    const auto marked = [&](std::vector<std::string> values) {
      for (std::string& v : values) std::ranges::replace(v, '_', *mark);
      return column_of(values);
    };
    EXPECT_EQ(marked({"1_234", "950", "12_000", "-3_500"}).numbers, (std::vector<double>{1234, 950, 12000, -3500}));
    EXPECT_EQ(marked({"$1_234", "$950", "$7"}).numbers, (std::vector<double>{1234, 950, 7}));
    EXPECT_EQ(marked({"1_234", "950", "12000"}).numbers, (std::vector<double>{1.234, 950, 12000}));
    EXPECT_EQ(marked({"0_234", "950"}).numbers, (std::vector<double>{.234, 950}));
    EXPECT_EQ(marked({"1_234", "950", "2_5"}).numbers, (std::vector<double>{1.234, 950, 2.5}));
    EXPECT_EQ(marked({"1_234", "5", "0"}).numbers, (std::vector<double>{1.234, 5, 0}));
  }
}

TEST(Types, ValuesOfSeveralReadingsAreReadAsInTheOtherTable) {
  const Table known =
      read_text("d;x;y;t\n12/31/2024;1.234,5;1,234.5;12/31/2024 10:00\n01/30/2024;2;3;1/30/2024 10:00\n");
  ASSERT_EQ(known.columns[0].format, "%m/%d/%Y");
  CsvOptions options;
  options.like = &known;
  options.fewer_columns = true;
  const Table table = read_text("d;x;y;t\n03/04/2024;1.500;1,500;03/04/2024 10:00\n", options);
  const double day = 19786;  // 2024-03-04
  EXPECT_EQ(table.columns[0].numbers[0], day);
  EXPECT_EQ(table.columns[1].numbers[0], 1500);
  EXPECT_EQ(table.columns[2].numbers[0], 1500);
  EXPECT_EQ(table.columns[3].numbers[0], day * 86400 + 36000);
  // where they say otherwise, they are read as they are
  const Table other = read_text("d;x\n2024-03-04;1.5\n", options);
  EXPECT_EQ(other.columns[0].numbers[0], day);
  EXPECT_EQ(other.columns[1].numbers[0], 1.5);
  const Error mixed = error_of("x\n5000\n\"$7,500.00\"\n", options);
  expect_parts(mixed, ErrorCode::data, {"t.csv:3: column \"x\" holds \"$7,500.00\"", "as the column's other values"});
  EXPECT_EQ(std::string_view(mixed.what()).find('`'), std::string_view::npos)
      << "no option of sample: " << mixed.what();
}

TEST(Types, SecondsKeepTheDigitsThatAllHave) {
  const auto digits = [](const std::vector<std::string>& values) { return column_of(values).decimals; };
  EXPECT_EQ(digits({"08:30:00.000", "21:45:07.000"}), 3);
  EXPECT_EQ(digits({"08:30:00.00", "21:45:07.5"}), 1);
  EXPECT_EQ(digits({"103:30:00.25", "21:45:07"}), 2);
  EXPECT_EQ(digits({"08:30:00", "21:45:07"}), 0);
}

TEST(Types, Booleans) {
  const Column c = column_of({"TRUE", "false", "True", ""});
  EXPECT_EQ(c.type, ColumnType::boolean);
  EXPECT_EQ(c.values, (std::vector<std::string>{"TRUE", "false"}));
  EXPECT_EQ(c.codes, (std::vector<int32_t>{0, 1, 0, -1}));
  expect_type(ColumnType::category, {"yes", "no"});
  CsvOptions options;
  options.types = {{"c", "boolean"}};
  EXPECT_EQ(column_of({"yes", "N", "no", "y"}, options).codes, (std::vector<int32_t>{0, 1, 1, 0}));
}

TEST(Types, AGivenTypeKeepsTheFormat) {
  for (const std::vector<std::string>& cells :
       {std::vector<std::string>{"3.0", "-4.0"}, {"+3", "+0"}, {"5 kg", "7 kg"}}) {
    CsvOptions options;
    options.types = {{"c", "integer"}};
    EXPECT_EQ(column_of(cells, options).format, column_of(cells).format) << cells[0];
    EXPECT_FALSE(column_of(cells).format.empty()) << cells[0];
  }
}

TEST(Types, MissingWordsAreValuesOfText) {
  const Column c = column_of({"red", "?", "None", "NA", ""});
  EXPECT_EQ(c.type, ColumnType::category);
  EXPECT_EQ(c.values, (std::vector<std::string>{"red", "?", "None", "NA"}));
  EXPECT_TRUE(c.is_missing(4));
  CsvOptions options;
  options.missing = {"?"};
  EXPECT_TRUE(column_of({"red", "?", "blue"}, options).is_missing(1));
  EXPECT_EQ(column_of({"1", "?!", "2"},
                      [] {
                        CsvOptions o;
                        o.missing = {"?!"};
                        return o;
                      }())
                .type,
            ColumnType::integer);
}

TEST(Types, ZeroDatesAreMissingAndLeapSecondsTheOnesBefore) {
  const Column days = column_of({"2020-01-31", "0000-00-00", "1969-12-31"});
  EXPECT_EQ(days.type, ColumnType::date);
  EXPECT_TRUE(days.is_missing(1));
  const Column moments = column_of({"2016-12-31 23:59:60", "0000-00-00 00:00:00", "2016-12-31 23:59:59"});
  EXPECT_EQ(moments.type, ColumnType::datetime);
  EXPECT_TRUE(moments.is_missing(1));
  EXPECT_EQ(moments.numbers[0], moments.numbers[2]);
  expect_type(ColumnType::category, {"2016-12-31 23:58:60", "2016-12-31 23:59:59"});
  expect_type(ColumnType::category, {"red", "0000-00-00"});
}

TEST(Types, Dates) {
  const auto format = [](const std::vector<std::string>& cells) { return column_of(cells).format; };
  EXPECT_EQ(format({"2020-01-31", "1969-12-31"}), "%Y-%m-%d");
  EXPECT_EQ(column_of({"1970-01-02", "1969-12-31", "NA"}).numbers[0], 1);
  EXPECT_EQ(column_of({"1970-01-02", "1969-12-31", "NA"}).numbers[1], -1);
  EXPECT_EQ(format({"2020/01/31", "2020/02/01"}), "%Y/%m/%d");
  EXPECT_EQ(format({"31/01/2020", "01/02/2020"}), "%d/%m/%Y");
  EXPECT_EQ(format({"01/31/2020", "02/01/2020"}), "%m/%d/%Y");
  EXPECT_EQ(format({"1/31/2020", "2/1/2020"}), "%-m/%-d/%Y");
  EXPECT_EQ(format({"01.02.2020", "03.04.2020"}), "%d.%m.%Y");
  expect_type(ColumnType::category, {"01/02/2020", "03/04/2020"});
  EXPECT_NE(column_of({"01/02/2020", "03/04/2020"}).reason.find("are ambiguous"), std::string::npos);
  expect_type(ColumnType::category, {"2020-02-30", "2020-01-01"});
  CsvOptions options;
  options.types = {{"c", "date"}};
  EXPECT_EQ(column_of({"01/02/2020", "03/04/2020"}, options).format, "%d/%m/%Y");
}

TEST(Types, Datetimes) {
  const Column c = column_of({"1970-01-01 00:00:01", "1970-01-02 00:00:00.250"});
  EXPECT_EQ(c.type, ColumnType::datetime);
  EXPECT_EQ(c.numbers, (std::vector<double>{1, 86400.25}));
  EXPECT_EQ(c.format, "%Y-%m-%d %H:%M:%S");
  EXPECT_EQ(c.decimals, 2);
  EXPECT_EQ(column_of({"2020-01-01T10:20Z", "2020-01-02T11:30Z"}).format, "%Y-%m-%dT%H:%MZ");
  EXPECT_EQ(column_of({"31.12.2020 10:20:30", "01.01.2021 00:00:00"}).format, "%d.%m.%Y %H:%M:%S");
  expect_type(ColumnType::category, {"2020-01-01T10:20Z", "2020-01-02T11:30"});
  expect_type(ColumnType::datetime, {"2020-01-01", "2020-01-02 11:30:00"});
}

TEST(Types, Identifiers) {
  std::vector<std::string> texts, counting;
  for (int i = 0; i < 20; ++i) texts.push_back("key " + std::to_string(i)), counting.push_back(std::to_string(100 + i));
  expect_type(ColumnType::identifier, texts);
  texts.pop_back();
  expect_type(ColumnType::category, texts);
  expect_type(ColumnType::integer, counting);  // the column is not named like a key
  std::vector<std::string> articles, others;
  for (int64_t i = 0; i < 40; ++i) {
    const int64_t digits = 400638100000 + i * 7919 % 1000;
    int64_t sum = 0, place = 0;
    for (int64_t rest = digits; rest > 0; rest /= 10) sum += rest % 10 * (place++ % 2 == 0 ? 3 : 1);
    articles.push_back(std::to_string(digits * 10 + (10 - sum % 10) % 10));
    others.push_back(std::to_string(digits * 10 + i % 10));
  }
  expect_type(ColumnType::identifier, articles);  // EAN
  expect_type(ColumnType::integer, others);
  std::string text = "user_id,x\n";
  for (const std::string& n : counting) text += n + ",1\n";
  const Table t = read_text(text);
  EXPECT_EQ(t.columns[0].type, ColumnType::identifier);
  EXPECT_EQ(t.columns[0].values[19], "119");
}

// A permutation of 200000 … 200999 under this name, each number `copies` times; `odd` adds numbers of another length.
ColumnType type_of_numbers(const std::string& name, int copies = 1, bool odd = false) {
  std::string csv = name + ";x\n";
  for (int i = 0; i < 600 * copies; ++i)
    csv += std::to_string((odd && i % 5 == 0 ? 20 : 200000) + i * 389 % 600) + ";1\n";
  return read_text(csv).columns[0].type;
}

TEST(Types, WholeNumbersThatAreKeysByName) {
  const ColumnType key = ColumnType::identifier;
  for (const char* name : {"kundennr",
                           "Kundennr",
                           "KundenNr",
                           "kunden_nr",
                           "Kundennummer",
                           "Rechnungsnummer",
                           "Belegnr",
                           "Personalnr",
                           "Vertragsnummer",
                           "invoice_number",
                           "InvoiceNumber",
                           "order_no",
                           "OrderNo",
                           "Order No.",
                           "account_number",
                           "policy_number",
                           "folio",
                           "matricula",
                           "matrícula",
                           "numero_cliente",
                           "numcli",
                           "NumFacture",
                           "numéro de commande",
                           "id_cliente",
                           "codcliente",
                           "case_number",
                           "ticket_number",
                           "member_num",
                           "student_number",
                           "MRN",
                           "serial",
                           "SUBJID",
                           "userid",
                           "IDCliente",
                           "CustomerID",
                           "Kunden-Nr."})
    EXPECT_EQ(type_of_numbers(name, 2), key) << name;
  for (const char* name : {"amount", "number_of_rooms", "numero de hijos", "num_orders", "house_number", "Hausnummer",
                           "casino", "humid", "paid", "x", "update_no", "number of patients"})
    EXPECT_EQ(type_of_numbers(name, 2), ColumnType::integer) << name;
  // of what is only called a number, the numbers must look given out
  EXPECT_EQ(type_of_numbers("lab_number", 2), key);
  EXPECT_EQ(type_of_numbers("lab_number", 2, true), ColumnType::integer);
  EXPECT_EQ(type_of_numbers("account_number", 2, true), key);
}

// A long name is read in time that its length gives, not its square: these would take hours.
TEST(Types, LongNamesOfKeys) {
  std::string csv = "x;y\n";
  for (int i = 0; i < 1200; ++i) csv += std::to_string(200000 + i * 389 % 600) + ";1\n";
  Column c = read_text(csv).columns[0];
  ASSERT_EQ(c.type, ColumnType::integer);
  const std::string letters(3'000'000, 'n');
  for (const char* end : {"nr", "nummer", "_id", "_Kundennr"}) {
    c.name = letters + end;
    EXPECT_NE(reason_of_key(c), "") << end;
  }
  c.name = letters;
  EXPECT_EQ(reason_of_key(c), "");
  c.name.clear();
  for (int i = 0; i < 300'000; ++i) c.name += "kundennr ";
  EXPECT_NE(reason_of_key(c), "");
}

TEST(Types, WholeNumbersThatWereGivenOutAreKeysWhateverTheirName) {
  const auto type_of = [](const std::string& name, auto&& number, int rows = 1000) {
    std::string csv = name + ",x\n";
    for (int i = 0; i < rows; ++i) csv += std::to_string(number(i)) + ",1\n";
    return read_text(csv).columns[0].type;
  };
  const auto permuted = [](int i) { return 5000 + i * 389 % 1000; };
  EXPECT_EQ(type_of("hebamme", permuted), ColumnType::identifier);
  EXPECT_EQ(type_of("hebamme", [&](int i) { return 3 * permuted(i); }), ColumnType::identifier) << "a third of a range";
  EXPECT_EQ(type_of("hebamme", [&](int i) { return 5 * permuted(i); }), ColumnType::integer) << "a fifth";
  EXPECT_EQ(type_of("hebamme", permuted, 999), ColumnType::integer);
  EXPECT_EQ(type_of("hebamme", [&](int i) { return permuted(i == 7 ? 8 : i); }), ColumnType::integer) << "two alike";
  EXPECT_EQ(type_of("hebamme", [&](int i) { return permuted(i) - 5500; }), ColumnType::integer) << "below zero";
  EXPECT_EQ(type_of("hebamme", [](int i) { return i; }), ColumnType::integer) << "the steps of a series";
  EXPECT_EQ(type_of("hebamme", [](int i) { return 9000 - 2 * i; }), ColumnType::integer) << "the steps of a series";
  for (const char* name : {"year", "time", "rank", "finalPosition", "week", "step"})
    EXPECT_EQ(type_of(name, permuted), ColumnType::integer) << name;
}

// Text keys that repeat are regenerated as whole numbers are: learned, the ids of real customers would come out.
TEST(Types, TextsThatAreKeysByNameAndForm) {
  const auto type_of = [](const std::string& name, int values, int rows_of_each, auto&& text) {
    std::string csv = name + ",x\n";
    for (int i = 0; i < values * rows_of_each; ++i) csv += text(i % values) + "," + std::to_string(i % 7) + "\n";
    return read_text(csv).columns[0].type;
  };
  const auto coded = [](const std::string& before, const std::string& after = "") {
    return [=](int i) { return before + std::to_string(100000 + i * 37 % 9973) + after; };
  };
  const auto token = [](int i) {
    std::string out;
    uint64_t x = static_cast<uint64_t>(i + 1) * 0x9E3779B97F4A7C15u;
    for (int k = 0; k < 8; ++k, x >>= 5) out += "ABCDEFGHJKMNPQRSTVWXYZ0123456789"[x >> 20 & 31];
    return out;
  };
  const auto word = [](int i) {
    std::string out = "v";
    for (int x = i; x > 0; x /= 26) out += static_cast<char>('a' + x % 26);
    return out;
  };
  const ColumnType key = ColumnType::identifier, learned = ColumnType::category;
  EXPECT_EQ(type_of("customer_id", 300, 6, coded("C")), key);
  EXPECT_EQ(type_of("CustomerID", 300, 6, coded("CUST-", "-DE")), key);
  EXPECT_EQ(type_of("account_number", 300, 6, coded("", "/7")), key);
  EXPECT_EQ(type_of("patient", 300, 6, token), key);
  EXPECT_EQ(type_of("customer_id", 60, 3, coded("C")), key) << "most rows have a value that few share";
  // as whole numbers: few that each stand in many rows are levels
  EXPECT_EQ(type_of("customer_id", 60, 30, coded("C")), learned);
  EXPECT_EQ(type_of("customer_id", 300, 60, coded("C")), learned);
  // the name decides, and the form
  EXPECT_EQ(type_of("sku", 300, 6, coded("SKU-")), learned);
  EXPECT_EQ(type_of("product_id", 300, 6, coded("P")), learned) << "other columns follow from goods and places";
  EXPECT_EQ(type_of("storeId", 300, 6, coded("S")), learned);
  EXPECT_EQ(type_of("country_code", 300, 6, coded("C")), learned);
  EXPECT_EQ(type_of("update_no", 300, 6, coded("U")), learned) << "named like a date";
  EXPECT_EQ(type_of("customer", 300, 6, [&](int i) { return "Firm " + token(i) + " Ltd"; }), learned);
  EXPECT_EQ(type_of("user_id", 300, 6, word), learned) << "words";
  CsvOptions given;
  given.types = {{"customer_id", "category"}};
  std::string csv = "customer_id\n";
  for (int i = 0; i < 1800; ++i) csv += coded("C")(i % 300) + "\n";
  EXPECT_EQ(read_text(csv, given).columns[0].type, learned) << "the way out";
}

TEST(Types, AGivenKindIsThatOfTheTexts) {
  std::string csv = "c,x\n";
  for (int i = 0; i < 50; ++i) csv += (i % 7 == 3 ? "none" : "a" + std::to_string(i) + "@b.org") + ",1\n";
  CsvOptions options;
  options.types = {{"c", "email"}};
  EXPECT_EQ(read_text(csv, options).columns[0].kind, "email") << "a few may be otherwise, as people typed them";
  for (const char* kind : {"uuid", "iban", "ipv4", "url", "card"}) {
    options.types = {{"c", kind}};
    expect_parts(error_of(csv, options), ErrorCode::data,
                 {"t.csv: column \"c\"", kind, "row 1 holds \"a0@b.org\"", "44 of its 44", "c=category"});
  }
  options.types = {{"c", "name"}};
  EXPECT_EQ(read_text(csv, options).columns[0].kind, "name") << "names are what the user says";
}

TEST(Types, Constants) {
  EXPECT_EQ(column_of({"5.0", "5.0"}).values, (std::vector<std::string>{"5.0"}));
  expect_type(ColumnType::constant, {"x", "x"});
  expect_type(ColumnType::category, {"x", ""});
  expect_type(ColumnType::integer, {"5", ""});
  const Column none = column_of({"", "", ""});
  EXPECT_EQ(none.type, ColumnType::constant);
  EXPECT_TRUE(none.values.empty());
  EXPECT_EQ(none.codes, (std::vector<int32_t>{-1, -1, -1}));
  expect_type(ColumnType::constant, {"NA", "-"});
}

TEST(Types, TheReasonNamesTheOddValue) {
  const Column c = column_of({"31", "32", "3O", "x"});
  EXPECT_EQ(c.type, ColumnType::category);
  EXPECT_EQ(c.reason, "text: line 4 holds \"3O\", after 2 values such as \"31\"");
}

TEST(Types, LikeForcesTypesAndOrder) {
  const Table real = read_text("a,b,k\n1,x,c\n2,y,c\n");
  CsvOptions options;
  options.like = &real;
  const Table other = read_text("k,b,a\nc,1,7\nd,2,8\n", options);
  EXPECT_EQ(other.columns[0].name, "a");
  EXPECT_EQ(other.columns[0].type, ColumnType::integer);
  EXPECT_EQ(other.columns[1].values, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(other.columns[2].values, (std::vector<std::string>{"c", "d"}));  // was constant there, varies here
}

// The notices about a column of `others` and this many words.
std::string said_of(const std::vector<std::string>& others, int words) {
  std::vector<std::string> cells = others;
  for (int w = 0; w < words; ++w) cells.push_back("word " + std::string(1, static_cast<char>('a' + w)));
  std::string said;
  report_odd_words(column_of(cells), [&](const std::string& text) { said += text + "\n"; });
  return said;
}

TEST(Types, AFewWordsAmongNumbersOrDatesAreNamed) {
  std::vector<std::string> numbers, dates;
  for (int i = 0; i < 60; ++i) {
    numbers.push_back(std::to_string(1000 + i));
    dates.push_back("2024-0" + std::to_string(1 + i % 9) + (i < 30 ? "-11" : "-12"));
  }
  EXPECT_EQ(
      said_of(numbers, 1),
      "column \"c\" is read as text, although 60 of 61 values are numbers: \"word a\" is not. `missing=\"word a\"` "
      "reads it as missing, and the column as numbers. It is in the last line: if that is a total, remove the line, or "
      "it is learned as a row\n");
  std::vector<std::string> repeated = numbers;
  repeated.insert(repeated.begin() + 20, "c");  // the column's name
  EXPECT_EQ(said_of(repeated, 0),
            "column \"c\" is read as text, although 60 of 61 values are numbers: \"c\" is not. The header stands among "
            "the rows again (1 line): remove it there\n");
  EXPECT_EQ(
      said_of(dates, 5),
      "column \"c\" is read as text, although 60 of 65 values are dates: \"word a\", \"word b\", \"word c\" and 2 "
      "more are not. `missing=\"word a,word b,word c,word d,word e\"` reads them as missing, and the column as "
      "dates\n");
  EXPECT_NE(said_of(numbers, 10), "") << "at most ten";
  EXPECT_EQ(said_of(numbers, 11), "");
  EXPECT_EQ(said_of(numbers, 0), "");
  numbers.resize(39);
  EXPECT_EQ(said_of(numbers, 10), "") << "in more than a fifth of the rows";
  numbers.resize(9);
  EXPECT_EQ(said_of(numbers, 1), "") << "among fewer than ten others";
}

TEST(Types, TablesOfColumnsThatAreOnlyDescribed) {
  const Table t = table_of_columns("2 integer, boolean, category:3, date:7", 50);
  ASSERT_EQ(t.columns.size(), 5u);
  for (const Column& c : t.columns) {
    const bool numbers = c.codes.empty();
    EXPECT_EQ(numbers ? c.numbers.size() : c.codes.size(), 50u) << c.name;
  }
  EXPECT_EQ(t.columns[3].values.size(), 3u);
  EXPECT_EQ(std::set<double>(t.columns[4].numbers.begin(), t.columns[4].numbers.end()).size(), 7u);
  for (const char* spec : {"", "0 integer", "integer:0", "identifier", "integer, "})
    EXPECT_THROW((void)table_of_columns(spec, 50), Error) << spec;
}

TEST(Types, NearestNames) {
  EXPECT_EQ(nearest_names("incme", {"age", "income", "sex", "outcome"}), " Nearest: \"income\".");
  EXPECT_EQ(nearest_names("x9", {"x0", "x1"}, " In it: "), " In it: \"x0\", \"x1\".");
  EXPECT_EQ(nearest_names("x", {}), "");
  EXPECT_EQ(nearest_names("Kindergarten", {"Doctorate", "Preschool"}), "") << "names that are far away are not near";
}

}  // namespace
}  // namespace tessera::test
