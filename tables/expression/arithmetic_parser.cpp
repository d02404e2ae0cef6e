#include "tables/expression/arithmetic_parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/ascii.h"
#include "tables/formats/moments.h"
#include "tables/kinds/kind.h"
#include "tables/table/suggestions.h"
#include "tables/types/types.h"

namespace tessera {
namespace {

Arithmetic constant(double number, bool instant = false) {
  Arithmetic a;
  a.number = number, a.instant = instant;
  return a;
}

std::string listed_names(const Table& schema) {
  std::vector<std::string> names;
  for (const Column& c : schema.columns) names.push_back(c.name);
  return listed(names);
}

// A name before a parenthesis: a column never stands there.
bool is_function(const WhereToken& token, const WhereScanner& after) {
  return token.kind == WhereToken::Kind::word && after.peek().is_symbol("(") && !token.is_keyword("in") &&
         !token.is_keyword("not") && !token.is_keyword("and") && !token.is_keyword("or");
}

}  // namespace

std::string listed(const std::vector<std::string>& values) {
  constexpr size_t kShown = 12;
  std::string out;
  for (size_t i = 0; i < std::min(values.size(), kShown); ++i) out += (i == 0 ? "" : ", ") + values[i];
  return values.size() > kShown ? out + ", …" : out;
}

int column_named(const WhereToken& token, const Table& schema) {
  if (token.kind != WhereToken::Kind::word && token.kind != WhereToken::Kind::name) return -1;
  int found = -1, others = 0;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    if (schema.columns[i].name == token.text) return static_cast<int>(i);
    if (lower_case(schema.columns[i].name) == lower_case(token.text)) found = static_cast<int>(i), ++others;
  }
  return others > 1 ? -1 : found;
}

int known_column(const WhereScanner& scan, const WhereToken& token, const Table& schema) {
  const int found = column_named(token, schema);
  if (found < 0) {
    std::vector<std::string> names;
    for (const Column& c : schema.columns) names.push_back(c.name);
    throw Error(ErrorCode::condition,
                fmt::format("{}: the table has no column \"{}\".{} Its {}: {}.", scan.what(), token.text,
                            names.size() < 2 ? "" : nearest_names(token.text, names),
                            counted(static_cast<int64_t>(names.size()), "column"), listed_names(schema)));
  }
  const Column& c = schema.columns[static_cast<size_t>(found)];
  if (kind_of(c).regenerated)
    throw Error(ErrorCode::condition, fmt::format("{}: column \"{}\" is an identifier: its values are generated for "
                                                  "every row and cannot be conditioned on.",
                                                  scan.what(), c.name));
  return found;
}

bool is_arithmetic(const WhereScanner& scan, const Table& schema) {
  WhereScanner ahead = scan;
  const WhereToken first = ahead.take();
  if (first.kind == WhereToken::Kind::number || first.is_symbol("(") || first.is_symbol("-") || first.is_symbol("+"))
    return true;
  if (first.kind == WhereToken::Kind::text) return ahead.peek().is_operator();
  if (ahead.peek().is_operator() || is_function(first, ahead)) return true;
  if (!ahead.take().is_relation()) return false;
  const WhereToken third = ahead.take();
  if (third.is_symbol("(") || third.is_symbol("-") || third.is_symbol("+")) return true;
  if (third.kind == WhereToken::Kind::number || third.kind == WhereToken::Kind::text) return ahead.peek().is_operator();
  if (is_function(third, ahead)) return true;
  const int left = column_named(first, schema);
  const bool truth = left >= 0 && kind_of(schema.columns[static_cast<size_t>(left)]).truths &&
                     (third.is_keyword("true") || third.is_keyword("false"));
  return !truth && column_named(third, schema) >= 0;
}

Arithmetic parse_arithmetic(const std::string& text, const Table& schema, const char* what) {
  WhereScanner scan(text, what);
  Arithmetic out = ArithmeticParser(scan, schema).sum();
  if (scan.peek().kind != WhereToken::Kind::end) scan.fail("expected an operator or the end", scan.peek().begin);
  return out;
}

int parse_column(const std::string& text, const Table& schema, const char* what) {
  WhereScanner scan(text, what);
  const WhereToken name = scan.take();
  if (scan.peek().kind != WhereToken::Kind::end) scan.fail("expected the end", scan.peek().begin);
  return known_column(scan, name, schema);
}

Arithmetic ArithmeticParser::sum() {
  Arithmetic left = product();
  while (scan_.peek().is_symbol("+") || scan_.peek().is_symbol("-") || scan_.peek().is_signed()) {
    const WhereToken op = scan_.take();
    const bool minus = op.text[0] == '-';
    // "a -1": the sign of the number is the operator
    Arithmetic right = op.is_signed() ? product_from(constant(minus ? -op.number : op.number)) : product();
    left = joined(minus ? Arithmetic::Op::subtract : Arithmetic::Op::add, std::move(left), std::move(right), op.begin);
  }
  return left;
}

Arithmetic ArithmeticParser::product() { return product_from(factor()); }

Arithmetic ArithmeticParser::product_from(Arithmetic left) {
  while (scan_.peek().is_symbol("*") || scan_.peek().is_symbol("/")) {
    const WhereToken op = scan_.take();
    left =
        joined(op.text == "*" ? Arithmetic::Op::multiply : Arithmetic::Op::divide, std::move(left), factor(), op.begin);
  }
  return left;
}

Arithmetic ArithmeticParser::factor() {
  const WhereToken token = scan_.take();
  if (++depth_ > kDeepest) scan_.fail("parentheses and signs are nested too deeply", token.begin);
  Arithmetic out;
  if (token.is_symbol("(")) {
    out = parenthesized();
  } else if (is_function(token, scan_)) {
    out = function(token);
  } else if (token.is_symbol("-") || token.is_symbol("+")) {
    out = factor();
    if (token.is_symbol("-")) out = joined(Arithmetic::Op::subtract, constant(0), std::move(out), token.begin);
  } else if (token.kind == WhereToken::Kind::number) {
    out = constant(token.number);
  } else if (token.kind == WhereToken::Kind::text) {
    double x = 0;
    if (read_date(token.text, "%Y-%m-%d", x)) out = constant(x, true);
    else if (read_datetime(token.text, "", x)) out = constant(x / kSecondsPerDay, true);
    else
      scan_.fail("in arithmetic a quoted text is a date or a time: '2020-01-31' or '2020-01-31T23:59:59'", token.begin);
  } else {
    out = column(token);
  }
  --depth_;
  return out;
}

Arithmetic ArithmeticParser::parenthesized() {
  Arithmetic out = sum();
  if (!scan_.peek().is_symbol(")")) scan_.fail("expected \")\"", scan_.peek().begin);
  scan_.take();
  return out;
}

Arithmetic ArithmeticParser::function(const WhereToken& name) {
  const auto all = functions_of_numbers();
  const std::string lower = lower_case(name.text);
  if (lower == "add_months") return months_later(name);
  if (lower == "greatest") return of_several(name, Arithmetic::Op::greatest);
  if (lower == "least") return of_several(name, Arithmetic::Op::least);
  if (lower == "coalesce") return of_several(name, Arithmetic::Op::coalesce);
  const auto known = std::find_if(all.begin(), all.end(), [&](const NamedFunction& f) { return f.name == lower; });
  if (known == all.end())
    scan_.fail(
        fmt::format(
            "there is no function \"{}\"; there are greatest, least, coalesce, add_months, ln, log10, exp and sqrt",
            name.text),
        name.begin);
  Arithmetic out;
  out.op = known->op;
  scan_.take();
  out.operands.push_back(parenthesized());
  if (out.operands[0].instant) scan_.fail("a function takes a number, not a date", name.begin);
  return out;
}

Arithmetic ArithmeticParser::of_several(const WhereToken& name, Arithmetic::Op op) {
  scan_.take();
  Arithmetic out = sum();
  if (!scan_.peek().is_symbol(",")) scan_.fail("expected \",\" and a second value", scan_.peek().begin);
  while (scan_.peek().is_symbol(",")) {
    scan_.take();
    out = joined(op, std::move(out), sum(), name.begin);
  }
  if (!scan_.peek().is_symbol(")")) scan_.fail("expected \")\"", scan_.peek().begin);
  scan_.take();
  return out;
}

Arithmetic ArithmeticParser::months_later(const WhereToken& name) {
  scan_.take();
  Arithmetic out;
  out.op = Arithmetic::Op::add_months, out.instant = true;
  out.operands.push_back(sum());
  if (!scan_.peek().is_symbol(",")) scan_.fail("expected \",\" and a number of months", scan_.peek().begin);
  scan_.take();
  out.operands.push_back(parenthesized());
  if (!out.operands[0].instant || out.operands[1].instant)
    scan_.fail("add_months takes a date and a number of months", name.begin);
  return out;
}

Arithmetic ArithmeticParser::column(const WhereToken& token) {
  if (token.kind != WhereToken::Kind::word && token.kind != WhereToken::Kind::name)
    scan_.fail("expected a column, a number or \"(\"", token.begin);
  Arithmetic out;
  out.op = Arithmetic::Op::column;
  out.column = known_column(scan_, token, schema_);
  const Column& c = schema_.columns[static_cast<size_t>(out.column)];
  if (!is_ordered(c))
    throw Error(ErrorCode::condition,
                fmt::format("{}: column \"{}\" is {}: only numbers, dates and times can be calculated with.\n  Two "
                            "such columns can be compared by = and !=.",
                            scan_.what(), c.name, type_in_words(c)));
  out.instant = is_instant(c.type);
  return out;
}

Arithmetic ArithmeticParser::joined(Arithmetic::Op op, Arithmetic left, Arithmetic right, size_t at) {
  const bool sum = op == Arithmetic::Op::add, difference = op == Arithmetic::Op::subtract;
  const bool several = op == Arithmetic::Op::greatest || op == Arithmetic::Op::least || op == Arithmetic::Op::coalesce;
  if (several && left.instant != right.instant)
    scan_.fail("a function takes dates or numbers, not both: a date is neither above nor below a number", at);
  if (left.instant && right.instant && !difference && !several)
    scan_.fail("two dates can only be subtracted; the result is a number of days", at);
  if ((left.instant || right.instant) && !sum && !difference && !several)
    scan_.fail("a date can only have days added or subtracted", at);
  if (difference && right.instant && !left.instant) scan_.fail("a date cannot be subtracted from a number", at);
  Arithmetic out;
  out.op = op;
  out.instant = several ? left.instant : left.instant != right.instant;
  out.operands.push_back(std::move(left));
  out.operands.push_back(std::move(right));
  return out;
}

}  // namespace tessera
