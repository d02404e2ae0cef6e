#include "models/sampling/where.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_set>

#include "engine/error.h"
#include "models/data/formats/moments.h"
#include "models/data/formats/values.h"
#include "models/data/table/suggestions.h"
#include "models/sampling/where_parser.h"

namespace tessera {
namespace {

constexpr size_t kShown = 12;  // values listed in a message

bool parse_number(const std::string& text, double& value) {
  const char* end = text.data() + text.size();
  const auto r = fast_float::from_chars(text.data(), end, value);
  return r.ec == std::errc() && r.ptr == end && std::isfinite(value);
}

std::string nearest(const std::string& wanted, const std::vector<std::string>& known) {
  return known.empty() ? "" : " Nearest: " + nearest_names(wanted, known) + ".";
}

std::string listed(const std::vector<std::string>& values) {
  std::string out;
  for (size_t i = 0; i < std::min(values.size(), kShown); ++i) out += (i == 0 ? "" : ", ") + values[i];
  return values.size() > kShown ? out + ", …" : out;
}

// Numbers as printed with the column's decimals, so that a condition holds for the written text.
double as_written(const Column& column, double x) {
  if (column.type != ColumnType::decimal || column.decimals > 15 || column.format == "%g") return x;
  const double scale = std::pow(10.0, column.decimals), scaled = x * scale;
  return std::abs(scaled) < 0x1p53 ? std::nearbyint(scaled) / scale : x;
}

class Parser {
 public:
  Parser(const std::string& text, const Table& schema) : scan_(text), schema_(schema) {}

  Where parse() {
    Where where;
    if (scan_.peek().kind == WhereToken::Kind::end) return where;
    where.terms.push_back(term());
    while (scan_.peek().kind != WhereToken::Kind::end) {
      if (scan_.peek().is_keyword("or"))
        scan_.fail(
            "\"or\" is not supported; write several values of one column as: column in ('a', 'b'); join terms by "
            "\"and\"",
            scan_.peek().begin);
      if (!scan_.peek().is_keyword("and")) scan_.fail("expected \"and\" or the end", scan_.peek().begin);
      scan_.take();
      where.terms.push_back(term());
    }
    return where;
  }

 private:
  WhereTerm term() {
    const size_t begin = scan_.peek().begin;
    WhereTerm t;
    t.column = column();
    comparison(t);
    t.text = scan_.between(begin, scan_.last_end());
    if (t.kind == WhereTerm::Kind::range) finish_range(t);
    return t;
  }

  const Column& of(const WhereTerm& t) const { return schema_.columns[static_cast<size_t>(t.column)]; }

  [[noreturn]] void reject(const Column& c, const std::string& why) const {
    throw Error(ErrorCode::condition, fmt::format("--where: column \"{}\" {}", c.name, why));
  }

  int column() {
    const WhereToken t = scan_.take();
    if (t.kind != WhereToken::Kind::word && t.kind != WhereToken::Kind::name)
      scan_.fail(
          t.kind == WhereToken::Kind::text ? "expected a column name, bare or in double quotes" : "expected a column",
          t.begin);
    int found = -1, others = 0;
    for (size_t i = 0; i < schema_.columns.size(); ++i) {
      if (schema_.columns[i].name == t.text) {
        found = static_cast<int>(i), others = 0;
        break;
      }
      if (lower_case(schema_.columns[i].name) == lower_case(t.text)) found = static_cast<int>(i), ++others;
    }
    if (found < 0 || others > 1) {
      std::vector<std::string> names;
      for (const Column& c : schema_.columns) names.push_back(c.name);
      throw Error(ErrorCode::condition, fmt::format("--where: the table has no column \"{}\".{} Its {} columns: {}.",
                                                    t.text, nearest(t.text, names), names.size(), listed(names)));
    }
    const Column& c = schema_.columns[static_cast<size_t>(found)];
    if (c.type == ColumnType::identifier)
      reject(c, "is an identifier: its values are generated for every row and cannot be conditioned on.");
    return found;
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
    } else if (op.is_keyword("in")) {
      t.kind = WhereTerm::Kind::in;
      list(t);
    } else if (op.is_keyword("not")) {
      if (!scan_.peek().is_keyword("in")) scan_.fail("expected \"in\" after \"not\"", scan_.peek().begin);
      scan_.take();
      t.kind = WhereTerm::Kind::not_in;
      list(t);
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
      scan_.fail(fmt::format("expected =, !=, <, <=, >, >=, in, between or is after the column \"{}\"", of(t).name),
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

  WhereToken literal(const Column& c) {
    const WhereToken v = scan_.take();
    const bool truth = c.type == ColumnType::boolean && v.kind == WhereToken::Kind::word;
    if (v.is_keyword("null")) scan_.fail("null is not a value; write: column is null", v.begin);
    if (v.kind == WhereToken::Kind::name)
      scan_.fail("double quotes are for column names; write texts and dates in single quotes", v.begin);
    if (v.kind == WhereToken::Kind::word && !truth)
      scan_.fail(fmt::format("write texts and dates in single quotes: '{}'", v.text), v.begin);
    if (v.kind != WhereToken::Kind::text && v.kind != WhereToken::Kind::number && !truth)
      scan_.fail("expected a value", v.begin);
    return v;
  }

  // One value of =, != or in: a known text of a text column, a number of a numeric one.
  void value(WhereTerm& t) {
    const Column& c = of(t);
    const WhereToken v = literal(c);
    if (!is_numeric(c.type)) return t.values.push_back(known_value(c, v));
    const double x = number(c, v);
    if (std::floor(x) != x && (c.type == ColumnType::integer || c.type == ColumnType::date))
      reject(c,
             fmt::format("holds {}, never {}.", c.type == ColumnType::date ? "whole days" : "whole numbers", v.text));
    if (c.type == ColumnType::decimal && as_written(c, x) != x)
      reject(c, fmt::format("has {} decimals, never {}. Use a range: \"{}\" between … and ….", c.decimals, v.text,
                            c.name));
    t.numbers.push_back(x);
  }

  std::string known_value(const Column& c, const WhereToken& v) const {
    if (std::find(c.values.begin(), c.values.end(), v.text) != c.values.end()) return v.text;
    for (const std::string& known : c.values) {
      double a, b;
      if (c.type == ColumnType::boolean && lower_case(known) == lower_case(v.text)) return known;
      if (v.kind == WhereToken::Kind::number && parse_number(known, a) && parse_number(v.text, b) && a == b)
        return known;
    }
    reject(c, fmt::format("has no value \"{}\".{} It has {} value{}: {}.", v.text, nearest(v.text, c.values),
                          c.values.size(), c.values.size() == 1 ? "" : "s", listed(c.values)));
  }

  // A number, or a date in the units of Column::numbers.
  double number(const Column& c, const WhereToken& v) const {
    double x = v.number;
    if (c.type == ColumnType::integer || c.type == ColumnType::decimal) {
      if (v.kind == WhereToken::Kind::number || parse_number(v.text, x)) return x;
      reject(c, fmt::format("holds {}; \"{}\" is not a number.",
                            c.type == ColumnType::integer ? "whole numbers" : "decimal numbers", v.text));
    }
    if (v.kind == WhereToken::Kind::number)
      scan_.fail(fmt::format("column \"{}\" holds dates, written in single quotes: '2020-01-31'", c.name), v.begin);
    if (c.type == ColumnType::date && read_date(v.text, c.format, x)) return x;
    if (read_datetime(v.text, c.format, x)) return c.type == ColumnType::date ? x / 86400 : x;
    if (c.type == ColumnType::datetime && read_date(v.text, "%Y-%m-%d", x)) return x * 86400;
    reject(c, fmt::format("holds {}; \"{}\" is not one. Write it as '2020-01-31'{}{}.",
                          c.type == ColumnType::date ? "dates" : "dates with times", v.text,
                          c.type == ColumnType::date ? "" : " or '2020-01-31T23:59:59'",
                          c.format.empty() ? "" : ", or as the column does: " + c.format));
  }

  void range(WhereTerm& t) {
    t.kind = WhereTerm::Kind::range;
    t.low = -INFINITY;
    t.high = INFINITY;
    const Column& c = of(t);
    if (is_numeric(c.type)) return;
    double x;
    const bool numbers =
        c.type != ColumnType::boolean && !c.values.empty() &&
        std::all_of(c.values.begin(), c.values.end(), [&](const std::string& v) { return parse_number(v, x); });
    if (!numbers)
      reject(c, fmt::format("is {} {}: its values have no order. Use = or in (…). It has {} values: {}.",
                            c.type == ColumnType::category ? "a" : "of type", name(c.type), c.values.size(),
                            listed(c.values)));
  }

  double bound(const WhereTerm& t) {
    const Column& c = of(t);
    const WhereToken v = literal(c);
    if (is_numeric(c.type)) return number(c, v);
    double x = v.number;
    if (v.kind != WhereToken::Kind::number && !parse_number(v.text, x))
      reject(c, fmt::format("holds numbers; \"{}\" is not one.", v.text));
    return x;
  }

  static bool inside(const WhereTerm& t, double x) {
    return (t.low_open ? x > t.low : x >= t.low) && (t.high_open ? x < t.high : x <= t.high);
  }

  void finish_range(WhereTerm& t) const {
    const Column& c = of(t);
    if (t.low > t.high) reject(c, fmt::format("cannot meet \"{}\": the lower end is above the upper one.", t.text));
    if (is_numeric(c.type)) return;
    // Categories that are all numbers: the range is the list of its values.
    for (const std::string& v : c.values) {
      double x = 0;
      if (parse_number(v, x) && inside(t, x)) t.values.push_back(v);
    }
    if (t.values.empty())
      reject(c, fmt::format("has no value that meets \"{}\". It has {} values: {}.", t.text, c.values.size(),
                            listed(c.values)));
    t.kind = WhereTerm::Kind::in;
  }

  WhereScanner scan_;
  const Table& schema_;
};

// Whether the value of a row that is not missing meets the term; built once per batch.
std::function<bool(size_t)> matcher(const WhereTerm& t, const Column& c) {
  const bool wanted = t.kind == WhereTerm::Kind::in;
  if (t.kind == WhereTerm::Kind::range) {
    return [&t, &c](size_t i) {
      const double x = as_written(c, c.numbers[i]);
      return (t.low_open ? x > t.low : x >= t.low) && (t.high_open ? x < t.high : x <= t.high);
    };
  }
  if (is_numeric(c.type)) {
    std::vector<double> sorted = t.numbers;
    std::sort(sorted.begin(), sorted.end());
    return [sorted = std::move(sorted), wanted, &c](size_t i) {
      return std::binary_search(sorted.begin(), sorted.end(), as_written(c, c.numbers[i])) == wanted;
    };
  }
  const std::unordered_set<std::string> named(t.values.begin(), t.values.end());
  std::vector<char> meets(c.values.size());
  for (size_t v = 0; v < meets.size(); ++v) meets[v] = (named.count(c.values[v]) != 0) == wanted;
  return [meets = std::move(meets), &c](size_t i) { return meets[static_cast<size_t>(c.codes[i])] != 0; };
}

}  // namespace

Where parse_where(const std::string& text, const Table& schema) { return Parser(text, schema).parse(); }

void match_where(const Where& where, const Table& batch, std::vector<char>& keep, std::vector<int64_t>& failed) {
  const auto rows = static_cast<size_t>(batch.rows);
  keep.assign(rows, 1);
  failed.assign(where.terms.size(), 0);
  for (size_t t = 0; t < where.terms.size(); ++t) {
    const WhereTerm& term = where.terms[t];
    const Column& column = batch.columns[static_cast<size_t>(term.column)];
    const bool null_wanted = term.kind == WhereTerm::Kind::is_null, any_value = term.kind == WhereTerm::Kind::not_null;
    const auto meets = null_wanted || any_value ? std::function<bool(size_t)>() : matcher(term, column);
    for (size_t i = 0; i < rows; ++i) {
      const bool missing = column.is_missing(static_cast<int64_t>(i));
      // A missing value meets no comparison, including != and not in.
      const bool ok = null_wanted ? missing : !missing && (any_value || meets(i));
      if (ok) continue;
      keep[i] = 0;
      ++failed[t];
    }
  }
}

}  // namespace tessera
