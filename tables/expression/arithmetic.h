// Arithmetic over the columns of a row, in --where and rules: + - * /, greatest, least, coalesce, add_months,
// functions, numbers, dates and times.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tables/table/table.h"

namespace tessera {

// A tree. Dates and times are days since 1970-01-01, so that a difference of two is a number of days.
struct Arithmetic {
  enum class Op {
    column,
    number,
    add,
    subtract,
    multiply,
    divide,
    greatest,
    least,
    coalesce,
    add_months,
    ln,
    log10,
    exp,
    sqrt
  };
  Op op = Op::number;
  int column = -1;  // of Op::column, in the schema
  double number = 0;
  bool instant = false;  // a date or a time, not a number
  std::vector<Arithmetic> operands;

  bool is_column() const { return op == Op::column; }
  bool is_function() const { return op >= Op::ln; }  // of one operand
};

// Parses an expression that consists of arithmetic only, or the name of one column. Errors as parse_where().
Arithmetic parse_arithmetic(const std::string& text, const Table& schema, const char* what);
int parse_column(const std::string& text, const Table& schema, const char* what);

// A function of one number, by its name in expressions.
struct NamedFunction {
  const char* name;
  Arithmetic::Op op;
  double (*of)(double);
};
std::span<const NamedFunction> functions_of_numbers();
double value_of_function(Arithmetic::Op function, double x);  // NaN where it has no finite value

// A date or time, in days since 1970-01-01, moved by calendar months, rounded to a whole number: the same day of the
// month, or its last day where that is earlier (31 January + 1 is 28 February). NaN: beyond the calendar.
double add_months(double date, double months);

// The value in a row of a batch; NaN if one of its columns is missing outside of coalesce(), on division by 0, and
// where a function has none.
double evaluate(const Arithmetic& a, const Table& batch, size_t row);

// The columns it names, in ascending order, without duplicates.
std::vector<int> columns_of(const Arithmetic& a);
// The same of a text that parse_arithmetic() reads, by name; behind them those that the table does not have.
std::vector<std::string> columns_named(const std::string& text, const Table& schema);

// The name of a column as an expression writes it: bare, or in double quotes.
std::string quoted_name(const std::string& column);
// A text as an expression writes it: in single quotes, doubled within.
std::string quoted_text(const std::string& text);

}  // namespace tessera
