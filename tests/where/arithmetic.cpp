// Expressions on two sides: columns compared with each other, arithmetic, `not`.
#include "tables/expression/arithmetic.h"

#include <gtest/gtest.h>

#include "where/where_rows.h"

namespace tessera {
namespace {

using columns::numbers;

// Row 2 lacks its end, row 3 its total.
Table orders() {
  return table({numbers("start", ColumnType::date, {18262, 18300, 18262, 18262}),
                numbers("end", ColumnType::date, {18262, 18290, kMissing, 18272}),
                numbers("sent", ColumnType::datetime, {18262.5 * 86400, 18301.0 * 86400, 0, 18272.0 * 86400}),
                numbers("items", ColumnType::integer, {1, 2, 3, 4}),
                numbers("net price", ColumnType::decimal, {0.1, 3.33, 1, 2}, 2),
                numbers("total", ColumnType::decimal, {0.1, 6.66, 5, kMissing}, 2),
                texts("from", ColumnType::category, {"Bonn", "Köln"}, {0, 1, 0, -1}),
                texts("to", ColumnType::category, {"Köln", "Bonn"}, {1, 1, 0, -1}),
                texts("id", ColumnType::identifier, {"a", "b"}, {0, 1, 0, 1})});
}

std::string kept(const std::string& expression) { return rows_kept(orders(), expression); }

void expect_error(const std::string& expression, ErrorCode code, const std::vector<std::string>& fragments) {
  expect_where_error(orders(), expression, "`rule`", code, fragments);
}

TEST(WhereArithmetic, ComparesColumns) {
  EXPECT_EQ(kept("end >= start"), "03");
  EXPECT_EQ(kept("end = start"), "0");
  EXPECT_EQ(kept("end != start"), "13");
  EXPECT_EQ(kept("end < start"), "1");
  EXPECT_EQ(kept("sent > start"), "013");  // row 2 was sent in 1970
  EXPECT_EQ(kept("Items <= \"net price\""), "1");
  EXPECT_EQ(kept("from = to"), "0");
  EXPECT_EQ(kept("from != to"), "12");
}

TEST(WhereArithmetic, Calculates) {
  EXPECT_EQ(kept("end - start > 5"), "3");
  EXPECT_EQ(kept("end >= start + 10 and items > 1"), "3");
  EXPECT_EQ(kept("end -10 = start"), "3");
  EXPECT_EQ(kept("items * 2 + 1 >= 7"), "23");
  EXPECT_EQ(kept("items * (2 + 1) >= 7"), "23");
  EXPECT_EQ(kept("-items < -3"), "3");
  EXPECT_EQ(kept("1 / (items - 1) > 0"), "123");  // nothing divided by zero meets a condition
  EXPECT_EQ(kept("sent - start = 0.5"), "0");
  EXPECT_EQ(kept("start + 1 > '2020-01-01T12:00:00'"), "0123");
}

TEST(WhereArithmetic, CalculatesFunctions) {
  EXPECT_EQ(kept("sqrt(items) = 2"), "3");
  EXPECT_EQ(kept("2 >= SQRT(items)"), "0123");
  EXPECT_EQ(kept("ln(items) + ln(items) > ln(9) - 0.001 and items < 4"), "2");
  EXPECT_EQ(kept("exp(items - 1) < 3"), "01");
  EXPECT_EQ(kept("-log10(items * 100) < -2.5"), "3");
  EXPECT_EQ(kept("ln(items - 1) >= 0"), "123");  // of 0 there is none
  EXPECT_EQ(kept("sqrt(items - 2) >= 0"), "123");
  EXPECT_EQ(kept("exp(items * 300) > 0"), "01");  // the others are no finite number
  expect_error("log(items) > 1", ErrorCode::usage, {"position 1", "no function \"log\"", "ln, log10, exp and sqrt"});
  EXPECT_EQ(kept("greatest(items, 2) = 2"), "01");
  EXPECT_EQ(kept("least(items, 2, 3) < items"), "23");
  EXPECT_EQ(kept("coalesce(1 / (items - 1), 7) >= 1"), "01");  // the first is missing in row 0
  EXPECT_EQ(kept("coalesce(1 / (items - 1), 1 / (items - 2), 9) < 0"), "0");
  expect_error("greatest(items) > 1", ErrorCode::usage, {"expected \",\""});
  expect_error("greatest(items, start) > 1", ErrorCode::usage, {"neither above nor below"});
  expect_error("1 < ln(start)", ErrorCode::usage, {"position 5", "not a date"});
  expect_error("ln(items > 1", ErrorCode::usage, {"expected \")\""});
}

TEST(WhereArithmetic, AddsCalendarMonths) {
  EXPECT_EQ(kept("add_months(start, 1) = '2020-02-01'"), "023");
  EXPECT_EQ(kept("add_months('2020-01-31', items) = '2020-02-29'"), "0");  // the last day of a shorter month
  EXPECT_EQ(kept("add_months('2020-01-31', items + 1) = '2020-03-31'"), "0");
  EXPECT_EQ(kept("add_months('2020-12-31', -12 * items) - 1 = '2018-12-30'"), "1");
  EXPECT_EQ(kept("add_months(sent, 12) = '2021-01-01T12:00:00'"), "0");  // the time of day stays
  EXPECT_EQ(kept("Add_Months(start, 120000) > start"), "");              // there is no such year
  expect_error("add_months(items, 1) > 2", ErrorCode::usage, {"position 1", "a date and a number of months"});
  expect_error("add_months(start, end) > start", ErrorCode::usage, {"a date and a number of months"});
  expect_error("add_months(start) > start", ErrorCode::usage, {"expected \",\" and a number of months"});
}

// 3 · 0.1 is not 0.3 in binary, and a total is rounded to its cents.
TEST(WhereArithmetic, AnEqualityHoldsForTheColumnsDigits) {
  EXPECT_EQ(kept("total = items * \"net price\""), "01");
  EXPECT_EQ(kept("total = items * \"net price\" + 0.004"), "01");
  EXPECT_EQ(kept("total = items * \"net price\" + 0.006"), "");
  EXPECT_EQ(kept("total != items * \"net price\""), "2");
  EXPECT_EQ(kept("\"net price\" * 3 - 0.3 = 0"), "");
}

TEST(WhereArithmetic, NotNegatesATerm) {
  EXPECT_EQ(kept("not items > 2"), "01");
  EXPECT_EQ(kept("not (items > 2) and not items = 1"), "1");
  EXPECT_EQ(kept("not not items > 2"), "23");
  EXPECT_EQ(kept("not end is null"), "013");
  EXPECT_EQ(kept("not end is not null"), "2");
  EXPECT_EQ(kept("not end >= start"), "1");  // a missing value meets nothing, negated or not
  EXPECT_EQ(kept("not (from = to)"), "12");
  EXPECT_EQ(kept("not items between 2 and 3"), "03");
  EXPECT_EQ(kept("not from in ('Bonn')"), "1");
  EXPECT_EQ(kept("(((items + 1))) > 4"), "3");
}

TEST(WhereArithmetic, PointsAtTypeErrors) {
  expect_error("end >= items", ErrorCode::usage, {"position 5", "cannot be compared", "single quotes", "^"});
  expect_error("start + end > 3", ErrorCode::usage, {"position 7", "only be subtracted", "^"});
  expect_error("start * 2 > end", ErrorCode::usage, {"position 7", "days added", "^"});
  expect_error("3 - start < 1", ErrorCode::usage, {"position 3", "^"});
  expect_error("items + from > 3", ErrorCode::condition, {"\"from\"", "calculated with"});
  expect_error("items + id > 3", ErrorCode::condition, {"\"id\"", "identifier"});
  expect_error("items + itens > 3", ErrorCode::condition, {"no column \"itens\"", "Nearest: \"items\""});
  expect_error("items + 1", ErrorCode::usage, {"expected =, !="});
  expect_error("items + ", ErrorCode::usage, {"position 9", "expected a column, a number"});
  expect_error("(items + 1 > 3", ErrorCode::usage, {"\"or\" or \")\""});
  expect_error("from < to", ErrorCode::usage, {"no order"});
  expect_error("from = items", ErrorCode::usage, {"\"from\" holds texts"});
  expect_error("items + 'soon' > 1", ErrorCode::usage, {"'2020-01-31'"});
  expect_error(std::string(100, '(') + "items" + std::string(100, ')') + " > 1", ErrorCode::usage, {"nested"});
  expect_error(std::string(100, '(') + "items > 1" + std::string(100, ')'), ErrorCode::usage, {"nested"});
}

TEST(WhereArithmetic, ListsItsColumns) {
  const Where where = parse_where("total - items * \"net price\" < items", orders());
  EXPECT_EQ(columns_of(where.terms[0].left), (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(columns_of(where.terms[0].right), (std::vector<int>{3}));
}

TEST(WhereArithmetic, QuotesNamesThatNeedIt) {
  EXPECT_EQ(quoted_name("start"), "start");
  EXPECT_EQ(quoted_name("größe"), "größe");
  EXPECT_EQ(quoted_name("net price"), "\"net price\"");
  EXPECT_EQ(quoted_name("Not"), "\"Not\"");
  EXPECT_EQ(quoted_name("2nd"), "\"2nd\"");
  EXPECT_EQ(quoted_name("a\"b"), "\"a\"\"b\"");
}

// Rules may name a column that the table gets only while it is reduced.
TEST(Arithmetic, NamesColumnsThatTheTableLacks) {
  const Table t = columns::table(
      {columns::whole_by("b", 1, [](int64_t) { return 1; }), columns::whole_by("a", 1, [](int64_t) { return 1; })});
  EXPECT_EQ(columns_named("86400 * (\"date of c6\" - '1970-01-01') + coalesce(a, 0) - B", t),
            (std::vector<std::string>{"b", "a", "date of c6"}));
}

}  // namespace
}  // namespace tessera
