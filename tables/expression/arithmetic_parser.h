// Reads the arithmetic of an expression: one side of a comparison.
#pragma once
#include <string>
#include <vector>

#include "tables/expression/arithmetic.h"
#include "tables/expression/where_parser.h"
#include "tables/table/table.h"

namespace tessera {

inline constexpr int kDeepest = 64;  // maximum nesting of parentheses and signs

// The first twelve values, for a message.
std::string listed(const std::vector<std::string>& values);

// The column a token names, ignoring case if no column has exactly this name; −1 if there is none, or several.
int column_named(const WhereToken& token, const Table& schema);
// The same. Throws Error(condition) with the nearest names; for an identifier, whose values are regenerated.
int known_column(const WhereScanner& scan, const WhereToken& token, const Table& schema);

// Whether the term that begins here compares arithmetic, not a column with values.
bool is_arithmetic(const WhereScanner& scan, const Table& schema);

class ArithmeticParser {
 public:
  ArithmeticParser(WhereScanner& scan, const Table& schema) : scan_(scan), schema_(schema) {}

  // sum := product (("+" | "-") product)*. Throws Error(usage) with the position, Error(condition) for unknown columns
  // and for columns that hold no numbers, dates or times.
  Arithmetic sum();

 private:
  Arithmetic product();
  Arithmetic product_from(Arithmetic first);
  Arithmetic factor();
  Arithmetic parenthesized();  // after "("
  Arithmetic function(const WhereToken& name);
  Arithmetic of_several(const WhereToken& name, Arithmetic::Op op);  // greatest(a, b, …), coalesce(a, b)
  Arithmetic months_later(const WhereToken& name);                   // add_months(date, number)
  Arithmetic column(const WhereToken& token);
  Arithmetic joined(Arithmetic::Op op, Arithmetic left, Arithmetic right, size_t at);

  WhereScanner& scan_;
  const Table& schema_;
  int depth_ = 0;
};

}  // namespace tessera
