#include "models/sampling/possible.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string_view>
#include <unordered_set>

#include "base/error.h"
#include "models/sampling/shown.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/number_writer.h"
#include "tables/rules/rule/columns.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

constexpr size_t kShown = 12;        // values listed in a message
constexpr size_t kMaxPaired = 1000;  // terms of a column among which one that contradicts another is looked for

// Possible cells of a column of the table. `all`: the list is complete; otherwise numbers: the ends of their range.
struct Cells {
  Column column;
  bool known = false, all = false;
};

struct Interval {
  double low = -INFINITY, high = INFINITY;
};

class Checker {
 public:
  Checker(const Where& where, const RowModel& model)
      : where_(where), model_(model), columns_(model), schema_(columns_.table()) {}

  void run() const {
    for (size_t c = 0; c < schema_.columns.size(); ++c) check_column(static_cast<int>(c));
    for (size_t c = 0; c < columns_.learned().columns.size(); ++c) check_combinations(static_cast<int>(c));
    for (const WhereTerm& t : where_.terms) {
      if (t.kind == WhereTerm::Kind::compare) check_sides(t);
      if (t.kind == WhereTerm::Kind::same_text) check_texts(t);
      if (t.kind == WhereTerm::Kind::any && t.column < 0) check_alternatives(t);
    }
  }

 private:
  // All values, or the ends, of a column of the model as rows of the table; the other columns are ignored.
  struct Shown {
    Table rows;
    bool known = false, all = false;
  };
  Shown shown_by(int source) const {
    const Column& learned = columns_.learned().columns[static_cast<size_t>(source)];
    if (kind_of(learned).regenerated) return {};
    const Encoder::Reach reach = model_.encoder.reach(source);
    std::vector<double> numbers = !reach.only.empty() ? reach.only : std::vector{reach.low, reach.high};
    if (!reach.present) numbers.clear();
    const bool numeric = has_numbers(learned);
    const size_t present = numeric ? numbers.size() : reach.present ? learned.values.size() : 0;
    const size_t rows = present + (reach.missing ? 1 : 0);
    Table shown = columns_.first_levels(static_cast<int64_t>(rows));
    Column& c = shown.columns[static_cast<size_t>(source)];
    c.values = learned.values;
    for (size_t i = 0; i < rows; ++i) {
      if (numeric) c.numbers[i] = i < present ? numbers[i] : kMissing;
      else c.codes[i] = i < present ? static_cast<int32_t>(i) : -1;
    }
    columns_.restore(shown);
    return {std::move(shown), true, !numeric || !reach.only.empty()};
  }

  // The possible cells of one column of the table.
  Cells cells_of(int column) const {
    const int source = columns_.source(column);
    if (source < 0) return computed_cells(column);
    Shown shown = shown_by(source);
    if (!shown.known) return {};
    Cells cells{std::move(shown.rows.columns[static_cast<size_t>(column)]), true, shown.all};
    if (leaves_gaps(cells.column.name)) cells.column.push_missing();
    std::sort(cells.column.numbers.begin(), cells.column.numbers.end(),
              [](double a, double b) { return a == a && (b != b || a < b); });
    return cells;
  }

  // Bounds of a computed column from the ends of its inputs; a row need not reach them.
  Cells computed_cells(int column) const {
    const Column& of = schema_.columns[static_cast<size_t>(column)];
    Cells cells{of, false, false};
    if (has_texts(of)) return cells;
    for (const FoundRule& f : model_.rules.found()) {
      if (f.rule->column() != of.name) continue;
      if (f.rule->makes() == TableRule::Makes::missing) return cells;
      if (f.rule->expression().empty()) continue;
      for (const std::string& name : f.rule->columns(schema_))
        if (place_of(schema_, name) < 0) return cells;  // a time that numbers spell
      const Arithmetic is = parse_arithmetic(f.rule->expression(), schema_, "a rule");
      const Interval range = range_of(is);
      if (!std::isfinite(range.low) || !std::isfinite(range.high)) return cells;
      const double unit = kind_of(of.type).unit;
      const double bits = 1e-12 * std::max(std::abs(range.low), std::abs(range.high));
      const int digits = digits_of(of);
      cells.column.numbers = {rounded((range.low - bits) * unit, digits), rounded((range.high + bits) * unit, digits)};
      if (can_be_missing(is) || f.rule->leaves_gaps()) cells.column.numbers.push_back(kMissing);
      cells.known = true;
    }
    return cells;
  }
  bool leaves_gaps(const std::string& column) const {
    const std::vector<FoundRule>& rules = model_.rules.found();
    return std::any_of(rules.begin(), rules.end(),
                       [&](const FoundRule& f) { return f.rule->column() == column && f.rule->leaves_gaps(); });
  }
  bool can_be_missing(const Arithmetic& a) const {
    if (a.op == Arithmetic::Op::divide) {
      const Interval by = range_of(a.operands[1]);
      if (by.low <= 0 && by.high >= 0) return true;
    }
    if (a.is_function() && !std::isfinite(range_of(a).low)) return true;
    if (a.op == Arithmetic::Op::coalesce) return can_be_missing(a.operands[0]) && can_be_missing(a.operands[1]);
    if (a.is_column()) {
      const Cells cells = cells_of(a.column);
      return !cells.known ||
             std::any_of(cells.column.numbers.begin(), cells.column.numbers.end(), [](double x) { return x != x; });
    }
    return std::any_of(a.operands.begin(), a.operands.end(), [&](const Arithmetic& o) { return can_be_missing(o); });
  }

  void check_column(int column) const {
    std::vector<const WhereTerm*> terms;
    for (const WhereTerm& t : where_.terms)
      if (t.column == column) terms.push_back(&t);
    if (terms.empty()) return;
    const Cells cells = cells_of(column);
    if (!cells.known) return;
    const Column tried = cells.all ? cells.column : points_between(cells.column, terms);
    Table t;
    t.rows = tried.size();
    t.columns.resize(static_cast<size_t>(column) + 1);
    t.columns.back() = tried;
    const auto kept_by = [&](const std::vector<const WhereTerm*>& some) {
      Where one;
      for (const WhereTerm* term : some) one.terms.push_back(*term);
      std::vector<char> keep;
      std::vector<int64_t> failed;
      match_where(one, t, keep, failed);
      return keep;
    };
    const auto any = [](const std::vector<char>& keep) { return std::find(keep.begin(), keep.end(), 1) != keep.end(); };
    if (any(kept_by(terms))) return;
    const std::string holds = said(cells);
    std::vector<std::vector<char>> kept;  // by each of the first terms
    for (const WhereTerm* term : terms) {
      std::vector<char> keep = kept_by({term});
      if (!any(keep)) refuse(fmt::format("no row can satisfy \"{}\": {}.", term->text, holds));
      if (kept.size() < kMaxPaired) kept.push_back(std::move(keep));
    }
    for (size_t a = 0; a < kept.size(); ++a)
      for (size_t b = a + 1; b < kept.size(); ++b)
        if (std::inner_product(kept[a].begin(), kept[a].end(), kept[b].begin(), 0, std::plus<>(), std::bit_and<>()) ==
            0)
          refuse(fmt::format("no row can satisfy both \"{}\" and \"{}\": {}.", terms[a]->text, terms[b]->text, holds));
    std::string all;
    for (const WhereTerm* t : terms) all += (all.empty() ? "\"" : ", \"") + t->text + '"';
    refuse(fmt::format("no row can satisfy {} together: {}.", all, holds));
  }

  // Columns with fixed combinations come from one column of the model.
  void check_combinations(int source) const {
    Where those;
    std::string terms;
    for (const WhereTerm& t : where_.terms) {
      if (t.column < 0 || columns_.source(t.column) != source) continue;
      those.terms.push_back(t);
      terms += (terms.empty() ? "\"" : " and \"") + t.text + '"';
    }
    if (those.terms.size() < 2) return;
    const Shown shown = shown_by(source);
    if (!shown.known || !shown.all) return;
    std::vector<char> keep;
    std::vector<int64_t> failed;
    match_where(those, shown.rows, keep, failed);
    if (std::find(keep.begin(), keep.end(), 1) == keep.end())
      refuse(fmt::format("no row can satisfy {} together: these columns have fixed combinations.", terms));
  }

  // Test points of a range: if any number of the range satisfies the terms, one of these does. They are, for each end
  // of the range or of a term, the nearest numbers of the column beside it, one number between each two, and missing.
  static Column points_between(const Column& ends, const std::vector<const WhereTerm*>& terms) {
    std::vector<double> edges;
    bool missing = false;
    double low = INFINITY, high = -INFINITY;
    for (const double x : ends.numbers) {
      if (x != x) missing = true;
      else low = std::min(low, x), high = std::max(high, x), edges.push_back(x);
    }
    for (const WhereTerm* t : terms)
      for (const double x : numbers_of(*t))
        if (std::isfinite(x)) edges.push_back(x);
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    std::vector<double> points;
    for (size_t i = 0; i < edges.size(); ++i) {
      add_near(ends, edges[i], points);
      if (i > 0) add_near(ends, (edges[i] + edges[i - 1]) / 2, points);
    }
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
    Column out = ends;
    out.numbers.clear();
    for (const double x : points)
      if (x >= low && x <= high) out.numbers.push_back(x);
    if (missing) out.numbers.push_back(kMissing);
    return out;
  }
  // The numbers of the column at x and next to it.
  static void add_near(const Column& c, double x, std::vector<double>& points) {
    if (has_fractions(c) && (digits_of(c) == kAllDigits || c.decimals > 15 || has_significant_digits(c))) {
      points.insert(points.end(), {x, std::nextafter(x, -INFINITY), std::nextafter(x, INFINITY)});
      return;
    }
    const double grid = grid_of(decimals_of(c)), down = std::floor(x * grid);
    for (const double k : {-1.0, 0.0, 1.0, 2.0}) points.push_back((down + k) / grid);
  }

  static std::string written(const Column& c, size_t row) {
    if (has_texts(c)) return "'" + c.values[static_cast<size_t>(c.codes[row])] + "'";
    std::string out;
    NumberWriter(c).write(c.numbers[row], out);
    return out;
  }

  static std::string said(const Cells& cells) {
    const Column& c = cells.column;
    std::vector<std::string> values;
    std::unordered_set<std::string> known;  // a value may occur in several fixed combinations
    bool missing = false;
    for (int64_t i = 0; i < c.size(); ++i) {
      if (c.is_missing(i)) missing = true;
      else if (const std::string v = written(c, static_cast<size_t>(i)); known.insert(v).second) values.push_back(v);
    }
    std::string out = fmt::format("column \"{}\" ", c.name);
    if (values.empty()) return out + "is always missing";
    if (!cells.all || (is_ordered(c) && values.size() > kShown)) {
      out += fmt::format("holds {} to {}", values.front(), values.back());
    } else {
      out += values.size() == 1 ? "holds only " : "holds ";
      for (size_t i = 0; i < std::min(values.size(), kShown); ++i) out += (i == 0 ? "" : ", ") + values[i];
      if (values.size() > kShown) out += ", …";
    }
    return out + (missing ? ", or is missing" : " and is never missing");
  }

  // ---- comparisons of two sides ----

  Interval range_of(int column) const {
    const Cells cells = cells_of(column);
    Interval out{INFINITY, -INFINITY};
    for (const double x : cells.column.numbers)
      if (x == x) out = {std::min(out.low, x), std::max(out.high, x)};
    if (!(out.low <= out.high)) return {};
    out.low /= kind_of(cells.column).unit, out.high /= kind_of(cells.column).unit;
    return out;
  }

  Interval range_of(const Arithmetic& a) const {
    using Op = Arithmetic::Op;
    if (a.op == Op::column) return range_of(a.column);
    if (a.op == Op::number) return {a.number, a.number};
    const Interval x = range_of(a.operands[0]);
    if (a.is_function()) {  // all of them rise
      const Interval out{value_of_function(a.op, x.low), value_of_function(a.op, x.high)};
      return out.low <= out.high ? out : Interval{};
    }
    const Interval y = range_of(a.operands[1]);
    if (a.op == Op::add) return {x.low + y.low, x.high + y.high};
    if (a.op == Op::subtract) return {x.low - y.high, x.high - y.low};
    if (a.op == Op::add_months) {
      const Interval out{add_months(x.low, y.low), add_months(x.high, y.high)};
      return out.low <= out.high ? out : Interval{};
    }
    if (a.op == Op::greatest) return {std::max(x.low, y.low), std::max(x.high, y.high)};
    if (a.op == Op::least) return {std::min(x.low, y.low), std::min(x.high, y.high)};
    if (a.op == Op::coalesce) return {std::min(x.low, y.low), std::max(x.high, y.high)};
    if (a.op == Op::divide && y.low <= 0 && y.high >= 0) return {};
    Interval out{INFINITY, -INFINITY};
    for (const double l : {x.low, x.high})
      for (const double r : {y.low, y.high}) {
        const double v = a.op == Op::multiply ? l * r : l / r;
        if (v != v) return {};
        out = {std::min(out.low, v), std::max(out.high, v)};
      }
    return out;
  }

  void check_sides(const WhereTerm& t) const {
    using Relation = WhereTerm::Relation;
    const Interval l = range_of(t.left), r = range_of(t.right);
    const bool never_less = l.low > r.high + t.tolerance, never_more = l.high < r.low - t.tolerance;
    const bool less = t.relation == Relation::less || t.relation == Relation::less_equal;
    const bool more = t.relation == Relation::greater || t.relation == Relation::greater_equal;
    const bool equal = t.relation == (t.negated ? Relation::unequal : Relation::equal);
    const bool lower = t.negated ? more : less, higher = t.negated ? less : more;
    if (!(equal && (never_less || never_more)) && !(lower && never_less) && !(higher && never_more)) return;
    refuse(fmt::format("no row can satisfy \"{}\": the left side is {}, the right side {}.", t.text,
                       said(l, t.left.instant), said(r, t.right.instant)));
  }
  static std::string said(const Interval& x, bool instant) {
    Column c;
    if (instant) become_moment(c, true, false);
    else become_count(c, kAllDigits);
    std::string low, high;
    NumberWriter(c).write(instant ? std::floor(x.low) : x.low, low);
    NumberWriter(c).write(instant ? std::floor(x.high) : x.high, high);
    return low == high ? low : fmt::format("{} to {}", low, high);
  }

  // Tests each alternative with the plain terms; of two terms with alternatives, combinations are not tested.
  void check_alternatives(const WhereTerm& any) const {
    std::string first;
    for (const Where& alternative : any.alternatives) {
      Where tried = alternative;
      for (const WhereTerm& t : where_.terms)
        if (t.kind != WhereTerm::Kind::any || t.column >= 0) tried.terms.push_back(t);
      try {
        Checker(tried, model_).run();
        return;
      } catch (const Error& e) {
        if (e.code() != ErrorCode::condition) throw;
        if (first.empty()) first = e.what();
      }
    }
    constexpr std::string_view kBefore = "`where`: ";
    refuse(fmt::format("no row can satisfy \"{}\": none of its alternatives; of the first, {}", any.text,
                       first.substr(kBefore.size(), first.find('\n') - kBefore.size() - 1)));
  }

  void check_texts(const WhereTerm& t) const {
    if ((t.relation == WhereTerm::Relation::equal) == t.negated) return;
    const std::vector<std::string>& left = schema_.columns[static_cast<size_t>(t.left.column)].values;
    std::vector<std::string> right = schema_.columns[static_cast<size_t>(t.right.column)].values;
    std::sort(right.begin(), right.end());
    for (const std::string& v : left)
      if (std::binary_search(right.begin(), right.end(), v)) return;
    refuse(fmt::format("no row can satisfy \"{}\": the two columns have no value in common.", t.text));
  }

  [[noreturn]] static void refuse(const std::string& why) {
    throw Error(ErrorCode::condition, fmt::format("`where`: {}\n  Change the condition. Nothing was sampled.", why));
  }

  const Where& where_;
  const RowModel& model_;
  ShownColumns columns_;
  const Table& schema_;
};

}  // namespace

void check_possible(const Where& where, const RowModel& model) {
  if (!where.empty()) Checker(where, model).run();
}

}  // namespace tessera
