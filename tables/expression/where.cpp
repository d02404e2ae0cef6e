#include "tables/expression/where.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <string_view>
#include <unordered_set>

#include "base/error.h"
#include "base/text/ascii.h"
#include "tables/expression/arithmetic_parser.h"
#include "tables/expression/where_parser.h"
#include "tables/formats/number_format.h"
#include "tables/formats/values.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/number_writer.h"
#include "tables/table/suggestions.h"

namespace tessera {
namespace {

// LIKE of SQL: % is any text, also none, and _ one character.
bool is_like(std::string_view text, std::string_view pattern) {
  const auto after_character = [&](size_t i) {
    do ++i;
    while (i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80);
    return i;
  };
  size_t i = 0, p = 0, star = std::string_view::npos, retry = 0;
  while (i < text.size()) {
    if (p < pattern.size() && pattern[p] == '%') star = ++p, retry = i;
    else if (p < pattern.size() && pattern[p] == '_') ++p, i = after_character(i);
    else if (p < pattern.size() && pattern[p] == text[i]) ++p, ++i;
    else if (star != std::string_view::npos) p = star, i = retry = after_character(retry);
    else return false;
  }
  return pattern.find_first_not_of('%', p) == std::string_view::npos;
}

class Parser {
 public:
  Parser(const std::string& text, const Table& schema, const char* what) : scan_(text, what), schema_(schema) {}

  Where parse() {
    if (scan_.peek().kind == WhereToken::Kind::end) return {};
    Where where = joined("or", false);
    if (scan_.peek().kind != WhereToken::Kind::end)
      scan_.fail("expected \"and\", \"or\" or the end", scan_.peek().begin);
    return where;
  }

 private:
  // A level of the grammar: parts joined by `or`, each of them parts joined by `and`. By De Morgan, `negated` parts are
  // joined by the other word, so that terms alone are negated.
  Where joined(const char* word, bool negated) {
    const bool alternatives = (std::string_view(word) == "or") != negated;
    const size_t begin = scan_.peek().begin;
    std::vector<Where> parts;
    do {
      if (!parts.empty()) scan_.take();
      parts.push_back(std::string_view(word) == "or" ? joined("and", negated) : operand(negated));
    } while (scan_.peek().is_keyword(word));
    if (parts.size() == 1) return std::move(parts[0]);
    Where all;
    if (alternatives) {
      WhereTerm any;
      any.kind = WhereTerm::Kind::any;
      any.text = scan_.between(begin, scan_.last_end());
      if (negated) any.text = "not (" + any.text + ")";
      any.alternatives = std::move(parts);
      const int first = any.alternatives[0].terms[0].column;
      if (std::all_of(any.alternatives.begin(), any.alternatives.end(), [first](const Where& w) {
            return std::all_of(w.terms.begin(), w.terms.end(), [=](const WhereTerm& t) { return t.column == first; });
          }))
        any.column = first;
      all.terms.push_back(std::move(any));
    } else {
      for (Where& part : parts)
        all.terms.insert(all.terms.end(), std::make_move_iterator(part.terms.begin()),
                         std::make_move_iterator(part.terms.end()));
    }
    return all;
  }

  Where operand(bool negated) {
    while (scan_.peek().is_keyword("not")) scan_.take(), negated = !negated;
    if (group_begins()) return group(negated);
    const size_t begin = scan_.peek().begin;
    WhereTerm t = is_arithmetic(scan_, schema_) ? relation() : column_term();
    t.text = (negated ? "not " : "") + scan_.between(begin, scan_.last_end());
    if (negated) negate(t);
    return {{std::move(t)}};
  }

  WhereTerm column_term() {
    WhereTerm t;
    const size_t begin = scan_.peek().begin;
    const WhereToken name = scan_.take();
    if (name.kind != WhereToken::Kind::word && name.kind != WhereToken::Kind::name)
      scan_.fail(name.kind == WhereToken::Kind::text ? "expected a column name, bare or in double quotes"
                                                     : "expected a column",
                 name.begin);
    t.column = known_column(scan_, name, schema_);
    comparison(t);
    t.text = scan_.between(begin, scan_.last_end());
    if (t.kind == WhereTerm::Kind::range) finish_range(t);
    return t;
  }

  // Whether a parenthesis begins here that holds a term, not arithmetic.
  bool group_begins() const {
    WhereScanner ahead = scan_;
    if (!ahead.take().is_symbol("(")) return false;
    for (int depth = 1; depth > 0 && ahead.peek().kind != WhereToken::Kind::end;) {
      const WhereToken t = ahead.take();
      if (t.is_symbol("(")) ++depth;
      if (t.is_symbol(")")) depth--;
      if (t.is_relation()) return true;
      for (const char* word : {"in", "between", "like", "is"})
        if (t.is_keyword(word)) return true;
    }
    return false;
  }

  Where group(bool negated) {
    const WhereToken open = scan_.take();
    if (++depth_ > kDeepest) scan_.fail("parentheses are nested too deeply", open.begin);
    Where inside = joined("or", negated);
    --depth_;
    if (!scan_.peek().is_symbol(")")) scan_.fail("expected \"and\", \"or\" or \")\"", scan_.peek().begin);
    scan_.take();
    return inside;
  }

  static void negate(WhereTerm& t) {
    if (t.kind == WhereTerm::Kind::is_null) t.kind = WhereTerm::Kind::not_null;
    else if (t.kind == WhereTerm::Kind::not_null) t.kind = WhereTerm::Kind::is_null;
    else t.negated = !t.negated;
  }

  // A comparison of arithmetic, or of two text columns.
  WhereTerm relation() {
    WhereTerm t;
    if (const int column = text_column(); column >= 0) return text_relation(column);
    ArithmeticParser arithmetic(scan_, schema_);
    t.kind = WhereTerm::Kind::compare;
    const size_t begin = scan_.peek().begin;
    t.left = arithmetic.sum();
    t.left_text = scan_.between(begin, scan_.last_end());
    const WhereToken op = take_relation(t);
    const size_t right = scan_.peek().begin;
    t.right = arithmetic.sum();
    t.right_text = scan_.between(right, scan_.last_end());
    if (t.left.instant != t.right.instant)
      scan_.fail("a date or time and a number cannot be compared; write dates in single quotes: '2020-01-31'",
                 op.begin);
    t.tolerance = half_unit(t);
    return t;
  }

  WhereToken take_relation(WhereTerm& t) {
    using Relation = WhereTerm::Relation;
    WhereToken op = scan_.take();
    if (!op.is_relation()) scan_.fail("expected =, !=, <, <=, > or >= between the two sides", op.begin);
    t.relation = op.text == "=" || op.text == "=="    ? Relation::equal
                 : op.text == "!=" || op.text == "<>" ? Relation::unequal
                 : op.text == "<"                     ? Relation::less
                 : op.text == "<="                    ? Relation::less_equal
                 : op.text == ">"                     ? Relation::greater
                                                      : Relation::greater_equal;
    return op;
  }

  // The text column that the term begins with; −1 if it begins with anything else.
  int text_column() const {
    const int column = column_named(scan_.peek(), schema_);
    return column >= 0 && !is_ordered(schema_.columns[static_cast<size_t>(column)]) ? column : -1;
  }

  WhereTerm text_relation(int left) {
    WhereTerm t;
    t.kind = WhereTerm::Kind::same_text;
    t.left.op = t.right.op = Arithmetic::Op::column;
    t.left.column = known_column(scan_, scan_.take(), schema_);
    const WhereToken op = take_relation(t);
    const int right = text_column();
    const std::string& column = schema_.columns[static_cast<size_t>(left)].name;
    if (right < 0)
      scan_.fail(fmt::format("column \"{}\" holds texts; it can be compared with another column of texts", column),
                 scan_.peek().begin);
    if (t.relation != WhereTerm::Relation::equal && t.relation != WhereTerm::Relation::unequal)
      scan_.fail("texts have no order; compare two columns of texts by = or !=", op.begin);
    t.right.column = known_column(scan_, scan_.take(), schema_);
    return t;
  }

  // Equality of a numeric column with a calculation is tested to the column's digits.
  double half_unit(const WhereTerm& t) const {
    if (t.left.is_column() == t.right.is_column() || t.left.instant) return 0;
    const Column& c = schema_.columns[static_cast<size_t>((t.left.is_column() ? t.left : t.right).column)];
    if (is_shortest(c.format) || c.decimals > 15) return 0;
    return 0.5 * std::pow(10.0, -decimals_of(c));
  }

  const Column& of(const WhereTerm& t) const { return schema_.columns[static_cast<size_t>(t.column)]; }

  [[noreturn]] void reject(const Column& c, const std::string& why) const {
    throw Error(ErrorCode::condition, fmt::format("{}: column \"{}\" {}", scan_.what(), c.name, why));
  }

  void comparison(WhereTerm& t) {
    const WhereToken op = scan_.take();
    if (op.is_keyword("is")) {
      const bool negated = scan_.peek().is_keyword("not");
      if (negated) scan_.take();
      if (!scan_.peek().is_keyword("null"))
        scan_.fail("expected \"null\" or \"not null\" after \"is\"", scan_.peek().begin);
      scan_.take();
      t.kind = negated ? WhereTerm::Kind::not_null : WhereTerm::Kind::is_null;
    } else if (op.is_keyword("not")) {
      const WhereToken word = scan_.peek();
      if (!word.is_keyword("in") && !word.is_keyword("between") && !word.is_keyword("like"))
        scan_.fail("expected \"in\", \"between\" or \"like\" after \"not\"", word.begin);
      comparison(t);
      if (t.kind == WhereTerm::Kind::in) t.kind = WhereTerm::Kind::not_in;
      else t.negated = true;
    } else if (op.is_keyword("in")) {
      t.kind = WhereTerm::Kind::in;
      list(t);
    } else if (op.is_keyword("like")) {
      pattern(t);
    } else if (op.is_keyword("between")) {
      range(t);
      t.low = bound(t);
      if (!scan_.peek().is_keyword("and"))
        scan_.fail("expected \"and\" and the upper end of \"between\"", scan_.peek().begin);
      scan_.take();
      t.high = bound(t);
    } else if (op.is_symbol("=") || op.is_symbol("==")) {
      t.kind = WhereTerm::Kind::in;
      value(t);
    } else if (op.is_symbol("!=") || op.is_symbol("<>")) {
      t.kind = WhereTerm::Kind::not_in;
      value(t);
    } else if (op.is_symbol("<") || op.is_symbol("<=")) {
      range(t);
      t.high_open = op.is_symbol("<");
      t.high = bound(t);
    } else if (op.is_symbol(">") || op.is_symbol(">=")) {
      range(t);
      t.low_open = op.is_symbol(">");
      t.low = bound(t);
    } else {
      scan_.fail(
          fmt::format("expected =, !=, <, <=, >, >=, in, between, like or is after the column \"{}\"", of(t).name),
          op.begin);
    }
  }

  void list(WhereTerm& t) {
    if (!scan_.peek().is_symbol("(")) scan_.fail("expected \"(\" and the values", scan_.peek().begin);
    do {
      scan_.take();
      value(t);
    } while (scan_.peek().is_symbol(","));
    if (!scan_.peek().is_symbol(")")) scan_.fail("expected \",\" or \")\"", scan_.peek().begin);
    scan_.take();
  }

  void pattern(WhereTerm& t) {
    const Column& c = of(t);
    const WhereToken v = literal(c);
    if (is_ordered(c)) reject(c, "does not hold texts. \"like\" compares texts; use a range.");
    t.kind = WhereTerm::Kind::like;
    t.values = {v.text};
    if (lists_values(c) &&
        std::none_of(c.values.begin(), c.values.end(), [&](const std::string& x) { return is_like(x, v.text); }))
      reject(c, fmt::format("has no value like \"{}\" (% is any text, _ any character). It has {} values: {}.", v.text,
                            c.values.size(), listed(c.values)));
  }

  WhereToken literal(const Column& c) {
    WhereToken v = scan_.take();
    const bool truth = kind_of(c).truths && v.kind == WhereToken::Kind::word;
    if (v.is_keyword("null")) scan_.fail("null is not a value; write: column is null", v.begin);
    if (v.kind == WhereToken::Kind::name)
      scan_.fail("double quotes are for column names; write texts and dates in single quotes", v.begin);
    if (v.kind == WhereToken::Kind::word && !truth)
      scan_.fail(fmt::format("there is no column {0}; write texts and dates in single quotes: '{0}'", v.text), v.begin);
    if (v.kind != WhereToken::Kind::text && v.kind != WhereToken::Kind::number && !truth)
      scan_.fail("expected a value", v.begin);
    return v;
  }

  // One value of =, != or in: a known text of a text column, a number of a numeric one.
  void value(WhereTerm& t) {
    const Column& c = of(t);
    const WhereToken v = literal(c);
    if (has_texts(c)) return t.values.push_back(known_value(c, v));
    const double x = number(c, v);
    if (std::floor(x) != x && is_whole(c))
      reject(c, fmt::format("holds {}, so it never equals {}.", kind_of(c).holds, v.text));
    if (as_written(c, x) != x) {
      std::string written;
      NumberWriter(c).write(x, written);
      reject(c, fmt::format("writes {} as {}. Use a range: \"{}\" between … and ….", v.text, written, c.name));
    }
    t.numbers.push_back(x);
  }

  std::string known_value(const Column& c, const WhereToken& v) const {
    if (!lists_values(c) || std::find(c.values.begin(), c.values.end(), v.text) != c.values.end()) return v.text;
    for (const std::string& known : c.values) {
      double a, b;
      if (kind_of(c).truths && lower_case(known) == lower_case(v.text)) return known;
      if (v.kind == WhereToken::Kind::number && read_finite(known, a) && read_finite(v.text, b) && a == b) return known;
    }
    reject(c, fmt::format("has no value \"{}\".{} It has {} value{}: {}.", v.text, nearest_names(v.text, c.values),
                          c.values.size(), c.values.size() == 1 ? "" : "s", listed(c.values)));
  }

  // A number, or a date in the units of Column::numbers.
  double number(const Column& c, const WhereToken& v) const {
    const ColumnKind& kind = kind_of(c);
    double x = v.number;
    if (v.kind == WhereToken::Kind::number) {
      if (kind.quantity) return x;
      scan_.fail(fmt::format("column \"{}\" holds {}, written in single quotes: {}", c.name, kind.holds, kind.example),
                 v.begin);
    }
    if (kind.read(c, v.text, x)) return x;
    reject(c, fmt::format("holds {}; \"{}\" is not one. Write it as {}{}.", kind.holds, v.text, kind.example,
                          c.format.empty() || is_shortest(c.format) ? "" : ", or as the column does: " + c.format));
  }

  void range(WhereTerm& t) {
    t.kind = WhereTerm::Kind::range;
    t.low = -INFINITY;
    t.high = INFINITY;
    const Column& c = of(t);
    if (is_ordered(c)) return;
    double x;
    const bool numbers =
        kind_of(c).free_text && !c.values.empty() &&
        std::all_of(c.values.begin(), c.values.end(), [&](const std::string& v) { return read_finite(v, x); });
    if (!numbers)
      reject(c, fmt::format("is {}: its values have no order. Use = or in (…). It has {} values: {}.", type_in_words(c),
                            c.values.size(), listed(c.values)));
  }

  double bound(const WhereTerm& t) {
    const Column& c = of(t);
    const WhereToken v = literal(c);
    if (is_ordered(c)) return number(c, v);
    double x = v.number;
    if (v.kind != WhereToken::Kind::number && !read_finite(v.text, x))
      reject(c, fmt::format("holds numbers; \"{}\" is not one.", v.text));
    return x;
  }

  static bool inside(const WhereTerm& t, double x) {
    return (t.low_open ? x > t.low : x >= t.low) && (t.high_open ? x < t.high : x <= t.high);
  }

  void finish_range(WhereTerm& t) const {
    const Column& c = of(t);
    if (t.low > t.high) reject(c, fmt::format("cannot meet \"{}\": the lower end is above the upper one.", t.text));
    if (is_ordered(c)) return;
    // Categories that are all numbers: the range is the list of its values.
    for (const std::string& v : c.values) {
      double x = 0;
      if (read_finite(v, x) && inside(t, x)) t.values.push_back(v);
    }
    if (t.values.empty())
      reject(c, fmt::format("has no value that meets \"{}\". It has {} values: {}.", t.text, c.values.size(),
                            listed(c.values)));
    t.kind = WhereTerm::Kind::in;
  }

  WhereScanner scan_;
  const Table& schema_;
  int depth_ = 0;
};

// Sums of decimals differ from the decimal of the sum in their last bits; dates are days, and a millisecond is 1.2e-8.
bool related(const WhereTerm& t, double left, double right) {
  const double bits = t.left.instant ? 1e-8 : 1e-12 * std::max(std::abs(left), std::abs(right));
  const double difference = left - right, near = std::max(bits, t.tolerance * (1 + 1e-6));
  switch (t.relation) {
    case WhereTerm::Relation::equal: return std::abs(difference) <= near;
    case WhereTerm::Relation::unequal: return std::abs(difference) > near;
    case WhereTerm::Relation::less: return difference < -bits;
    case WhereTerm::Relation::less_equal: return difference <= bits;
    case WhereTerm::Relation::greater: return difference > bits;
    default: return difference >= -bits;
  }
}

// Whether a row satisfies a term on two sides; with a missing value on either side it does not, negated or not.
bool meets_sides(const WhereTerm& t, const Table& batch, size_t row) {
  if (t.kind == WhereTerm::Kind::same_text) {
    const Column& left = batch.columns[static_cast<size_t>(t.left.column)];
    const Column& right = batch.columns[static_cast<size_t>(t.right.column)];
    const int32_t a = left.codes[row], b = right.codes[row];
    if (a < 0 || b < 0) return false;
    const bool same = left.values[static_cast<size_t>(a)] == right.values[static_cast<size_t>(b)];
    return (same == (t.relation == WhereTerm::Relation::equal)) != t.negated;
  }
  const double left = evaluate(t.left, batch, row), right = evaluate(t.right, batch, row);
  return left == left && right == right && related(t, left, right) != t.negated;
}

// Whether the value of a row that is not missing meets the term; built once per batch.
std::function<bool(size_t)> matcher(const WhereTerm& t, const Column& c) {
  const bool wanted = t.kind == WhereTerm::Kind::in;
  if (t.kind == WhereTerm::Kind::range) {
    return [&t, &c](size_t i) {
      const double x = as_written(c, c.numbers[i]);
      return (t.low_open ? x > t.low : x >= t.low) && (t.high_open ? x < t.high : x <= t.high);
    };
  }
  if (has_numbers(c)) {
    std::vector<double> sorted = t.numbers;
    std::sort(sorted.begin(), sorted.end());
    return [sorted = std::move(sorted), wanted, &c](size_t i) {
      return std::binary_search(sorted.begin(), sorted.end(), as_written(c, c.numbers[i])) == wanted;
    };
  }
  std::vector<char> meets(c.values.size());
  if (t.kind == WhereTerm::Kind::like) {
    for (size_t v = 0; v < meets.size(); ++v) meets[v] = is_like(c.values[v], t.values[0]);
  } else {
    const std::unordered_set<std::string> named(t.values.begin(), t.values.end());
    for (size_t v = 0; v < meets.size(); ++v) meets[v] = (named.count(c.values[v]) != 0) == wanted;
  }
  return [meets = std::move(meets), &c](size_t i) { return meets[static_cast<size_t>(c.codes[i])] != 0; };
}

}  // namespace

Where parse_where(const std::string& text, const Table& schema, const char* what) {
  return Parser(text, schema, what).parse();
}

std::vector<int> columns_of(const WhereTerm& term) {
  std::vector<int> columns = columns_of(term.left);
  const auto add = [&](const std::vector<int>& more) { columns.insert(columns.end(), more.begin(), more.end()); };
  add(columns_of(term.right));
  for (const Where& w : term.alternatives)
    for (const WhereTerm& t : w.terms) add(columns_of(t));
  if (term.column >= 0) columns.push_back(term.column);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

std::string misread_numbers(const Where& where, const Table& schema) {
  const auto comma = [&](int column) {
    NumberFormat format;
    return NumberFormat::parse(schema.columns[static_cast<size_t>(column)].format, format) && format.mark == ',';
  };
  for (const WhereTerm& term : where.terms) {
    const std::vector<int> columns = columns_of(term);
    const auto column = std::ranges::find_if(columns, comma);
    if (column == columns.end()) continue;
    for (WhereScanner scan(term.text); scan.peek().kind != WhereToken::Kind::end; scan.take()) {
      const std::string& written = scan.peek().text;
      const size_t point = written.find('.');
      if (scan.peek().kind != WhereToken::Kind::number || point == 0 || point > 3 || written.size() != point + 4 ||
          written[0] == '0' || !std::ranges::all_of(written, [](char c) { return c == '.' || is_digit(c); }))
        continue;
      std::string whole = written;
      std::erase(whole, '.');
      return fmt::format(
          "in `where`, {} is not {}: numbers without quotes have a decimal point, although column \"{}\" has a decimal "
          "comma. Write {}, or '{}' in single quotes, if that is meant.",
          written, whole, schema.columns[static_cast<size_t>(*column)].name, whole, written);
    }
  }
  return "";
}

std::vector<double> numbers_of(const WhereTerm& term) {
  std::vector<double> numbers = term.numbers;
  if (term.kind == WhereTerm::Kind::range) numbers.insert(numbers.end(), {term.low, term.high});
  for (const Where& w : term.alternatives)
    for (const WhereTerm& t : w.terms)
      for (const double x : numbers_of(t)) numbers.push_back(x);
  return numbers;
}

std::optional<WhereTerm> projected(const WhereTerm& term, int column) {
  if (term.column == column) return term;
  if (term.kind != WhereTerm::Kind::any) return std::nullopt;
  WhereTerm out;
  out.kind = term.kind, out.column = column, out.text = term.text;
  for (const Where& w : term.alternatives) {
    Where own;
    for (const WhereTerm& t : w.terms)
      if (std::optional<WhereTerm> part = projected(t, column)) own.terms.push_back(std::move(*part));
    if (own.empty()) return std::nullopt;
    out.alternatives.push_back(std::move(own));
  }
  return out;
}

void match_where(const Where& where, const Table& batch, std::vector<char>& keep, std::vector<int64_t>& failed) {
  const auto rows = static_cast<size_t>(batch.rows);
  keep.assign(rows, 1);
  failed.assign(where.terms.size(), 0);
  for (size_t t = 0; t < where.terms.size(); ++t) {
    const WhereTerm& term = where.terms[t];
    const auto note = [&](size_t i, bool meets) {
      if (!meets) keep[i] = 0, ++failed[t];
    };
    if (term.kind == WhereTerm::Kind::any) {
      std::vector<char> met(rows), one;
      std::vector<int64_t> missed;
      for (const Where& alternative : term.alternatives) {
        match_where(alternative, batch, one, missed);
        for (size_t i = 0; i < rows; ++i) met[i] |= one[i];
      }
      for (size_t i = 0; i < rows; ++i) note(i, met[i] != 0);
      continue;
    }
    if (term.column < 0) {
      for (size_t i = 0; i < rows; ++i) note(i, meets_sides(term, batch, i));
      continue;
    }
    const Column& column = batch.columns[static_cast<size_t>(term.column)];
    const bool null_wanted = term.kind == WhereTerm::Kind::is_null, any_value = term.kind == WhereTerm::Kind::not_null;
    const auto meets = null_wanted || any_value ? std::function<bool(size_t)>() : matcher(term, column);
    for (size_t i = 0; i < rows; ++i) {
      const bool missing = column.is_missing(static_cast<int64_t>(i));
      // A missing value satisfies no comparison, not even != and not in.
      note(i, null_wanted ? missing : !missing && (any_value || meets(i) != term.negated));
    }
  }
}

}  // namespace tessera
