#include "tables/expression/arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/text/ascii.h"
#include "base/text/quoted.h"
#include "tables/expression/arithmetic_parser.h"
#include "tables/formats/calendar.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/number_writer.h"

namespace tessera {
namespace {

double value_of(const Column& c, size_t row) {
  const double x = as_written(c, c.numbers[row]);
  return x / kind_of(c).unit;
}

void collect(const Arithmetic& a, std::vector<int>& columns) {
  if (a.is_column()) columns.push_back(a.column);
  for (const Arithmetic& operand : a.operands) collect(operand, columns);
}

}  // namespace

std::span<const NamedFunction> functions_of_numbers() {
  using Op = Arithmetic::Op;
  static constexpr NamedFunction kFunctions[] = {{"ln", Op::ln, [](double x) { return std::log(x); }},
                                                 {"log10", Op::log10, [](double x) { return std::log10(x); }},
                                                 {"exp", Op::exp, [](double x) { return std::exp(x); }},
                                                 {"sqrt", Op::sqrt, [](double x) { return std::sqrt(x); }}};
  return kFunctions;
}

double value_of_function(Arithmetic::Op function, double x) {
  double y = kMissing;
  for (const NamedFunction& f : functions_of_numbers())
    if (f.op == function) y = f.of(x);
  return std::isfinite(y) ? y : kMissing;
}

double add_months(double date, double months) {
  const double day = std::floor(date), count = std::round(months);
  if (!(day >= kFirstDay && day <= kLastDay) || !(std::abs(count) <= 12 * 10'000)) return kMissing;
  const Civil from = civil_from_days(static_cast<int64_t>(day));
  const int month = 12 * from.year + from.month - 1 + static_cast<int>(count);
  if (month < 12 || month >= 12 * 10'000) return kMissing;
  int last = from.day;
  while (!is_day(month / 12, month % 12 + 1, last)) --last;
  return static_cast<double>(days_from_civil(month / 12, month % 12 + 1, last)) + (date - day);
}

double evaluate(const Arithmetic& a, const Table& batch, size_t row) {
  if (a.op == Arithmetic::Op::column) return value_of(batch.columns[static_cast<size_t>(a.column)], row);
  if (a.op == Arithmetic::Op::number) return a.number;
  if (a.is_function()) return value_of_function(a.op, evaluate(a.operands[0], batch, row));
  const double left = evaluate(a.operands[0], batch, row), right = evaluate(a.operands[1], batch, row);
  switch (a.op) {
    case Arithmetic::Op::add: return left + right;
    case Arithmetic::Op::subtract: return left - right;
    case Arithmetic::Op::multiply: return left * right;
    case Arithmetic::Op::greatest: return left != left ? left : !(left >= right) ? right : left;
    case Arithmetic::Op::least: return left != left ? left : !(left <= right) ? right : left;
    case Arithmetic::Op::add_months: return add_months(left, right);
    case Arithmetic::Op::coalesce: return left != left ? right : left;
    default: return right == 0 ? kMissing : left / right;
  }
}

std::vector<int> columns_of(const Arithmetic& a) {
  std::vector<int> columns;
  collect(a, columns);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

std::vector<std::string> columns_named(const std::string& text, const Table& schema) {
  std::set<int> columns;
  std::vector<std::string> others;
  for (WhereScanner scan(text, "a rule"); scan.peek().kind != WhereToken::Kind::end;) {
    const WhereToken token = scan.take();
    const bool function = token.kind == WhereToken::Kind::word && scan.peek().is_symbol("(");
    if (function || (token.kind != WhereToken::Kind::word && token.kind != WhereToken::Kind::name)) continue;
    const int j = column_named(token, schema);
    if (j >= 0) columns.insert(j);
    else if (std::ranges::find(others, token.text) == others.end()) others.push_back(token.text);
  }
  std::vector<std::string> names;
  for (const int j : columns) names.push_back(schema.columns[static_cast<size_t>(j)].name);
  names.insert(names.end(), others.begin(), others.end());
  return names;
}

std::string quoted_name(const std::string& column) {
  constexpr std::array kKeywords{"and", "or", "not", "in", "is", "between", "like", "null", "true", "false"};
  const std::string lower = lower_case(column);
  const bool keyword = std::find(kKeywords.begin(), kKeywords.end(), lower) != kKeywords.end();
  if (!keyword && is_bare_name(column)) return column;
  std::string out;
  append_quoted(column, out);
  return out;
}

std::string quoted_text(const std::string& text) {
  std::string out;
  append_quoted(text, out, '\'');
  return out;
}

}  // namespace tessera
