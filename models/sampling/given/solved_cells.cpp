#include "models/sampling/given/solved_cells.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tables/formats/calendar.h"
#include "tables/formats/number_format.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/number_writer.h"
#include "tables/rules/rule/columns.h"

namespace tessera {
namespace {

constexpr int kMaxSteps = 40;
constexpr double kMet = 1.0 / 256;  // share of a column's range that contains enough of 1,024 candidates

// How a column is computed.
struct Chain {
  std::string target;
  std::vector<const TableRule*> rules;  // in the order of restoring
  std::vector<std::string> leaves;      // their input columns
};

class Solver {
 public:
  Solver(const RowModel& model, const ShownColumns& columns, Table& given)
      : model_(model), columns_(columns), given_(given), solved_(given.columns.size()) {
    for (const FoundRule& f : model.rules.found())
      if (f.rule->makes() == TableRule::Makes::values) rules_.push_back({f.rule.get(), f.rule->columns(given)});
  }

  // Solves equations with one solution first, then those with more; and single columns before chains of columns.
  std::vector<std::vector<SolvedCell>> run() {
    for (const double most : {0.0, kMet / 4096, kMet / 64, kMet})
      for (const bool whole : {false, true}) {
        most_ = most;
        while (pass(whole)) {}
      }
    return std::move(solved_);
  }

 private:
  bool pass(bool whole) {
    find_blank();
    bool any = false;
    for (const Computed& c : rules_) {
      Chain chain{c.columns.front(), {}, {}};
      expand(c, whole, chain);
      // a time that numbers spell is in no table
      if (std::ranges::any_of(chain.leaves, [&](const auto& leaf) { return place_of(given_, leaf) < 0; })) continue;
      for (const std::string& leaf : chain.leaves) any |= solve(chain, leaf);
      any |= split(chain);
    }
    return any;
  }

  struct Computed {
    const TableRule* rule;
    std::vector<std::string> columns;  // the one that is computed first
  };

  void expand(const Computed& c, bool whole, Chain& chain) const {
    const auto add = [](auto& list, const auto& value) {
      if (std::ranges::find(list, value) == list.end()) list.push_back(value);
    };
    for (size_t k = 1; k < c.columns.size(); ++k) {
      const auto before = std::ranges::find_if(rules_, [&](const Computed& r) { return r.columns[0] == c.columns[k]; });
      if (whole && before != rules_.end()) expand(*before, whole, chain);
      else add(chain.leaves, c.columns[k]);
    }
    add(chain.rules, c.rule);
  }

  // Cells that a rule requires to be missing, as far as given cells show: they are no inputs to solve for.
  void find_blank() {
    for (const FoundRule& f : model_.rules.found()) {
      if (f.rule->makes() != TableRule::Makes::missing) continue;
      const std::vector<std::string> columns = f.rule->columns(given_);  // the one that is missing where the other says
      if (place_of(given_, columns[0]) < 0 || place_of(given_, columns[1]) < 0) continue;
      const Column &c = column_of(given_, columns[0]), &other = column_of(given_, columns[1]);
      const std::vector<char> broken = f.rule->broken(given_, given_);
      for (int64_t i = 0; i < given_.rows; ++i)
        if (c.is_missing(i) && !other.is_missing(i) && broken[static_cast<size_t>(i)] == 0)
          mark(blank_[columns[0]], i, kBlank);
    }
  }

  // Rows in which only this leaf is missing.
  std::vector<int64_t> rows_of(const Chain& chain, const std::string& leaf) const {
    const Column &target = column_of(given_, chain.target), &lacking = column_of(given_, leaf);
    std::vector<const Column*> others;
    for (const std::string& name : chain.leaves)
      if (name != leaf) others.push_back(&column_of(given_, name));
    const auto blank = blank_.find(leaf);
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < given_.rows; ++i)
      if (!target.is_missing(i) && lacking.is_missing(i) &&
          (blank == blank_.end() || blank->second[static_cast<size_t>(i)] == kOpen) &&
          std::ranges::none_of(others, [&](const Column* c) { return c->is_missing(i); }))
        rows.push_back(i);
    return rows;
  }

  bool solve(const Chain& chain, const std::string& leaf) {
    const std::vector<int64_t> rows = rows_of(chain, leaf);
    if (rows.empty()) return false;
    const Column& same = column_of(given_, chain.target);
    Column& to = column_of(given_, leaf);
    if (has_numbers(to)) return has_numbers(same) && solve_numbers(chain, leaf, rows);
    const auto computes = [](const TableRule* rule) { return !rule->expression().empty(); };
    if (has_numbers(same) || !std::ranges::all_of(chain.rules, computes)) return false;  // else a copy
    CellCopy cells(same, to);
    for (const int64_t i : rows) {
      cells.copy(static_cast<size_t>(i), static_cast<size_t>(i));
      mark(solved_of(leaf), i);
    }
    return true;
  }

  // The secant method, on all rows together.
  bool solve_numbers(const Chain& chain, const std::string& leaf, const std::vector<int64_t>& rows) {
    const size_t n = rows.size();
    Column& to = column_of(given_, leaf);
    const Column& target = column_of(given_, chain.target);
    const auto [low, high, known, learned] = range_of(leaf);
    std::vector<double> a(n, low), b(n, high), slope(n, 0), at_a = computed(chain, leaf, rows, a),
                                                            at_b = computed(chain, leaf, rows, b);
    std::vector<char> done(n, 0);
    for (int step = 0; step < kMaxSteps && std::ranges::count(done, 0) > 0; ++step) {
      for (size_t i = 0; i < n; ++i) {
        if (done[i] != 0) continue;
        const double wanted = target.numbers[static_cast<size_t>(rows[i])];
        if (at_b[i] != at_a[i]) slope[i] = (at_b[i] - at_a[i]) / (b[i] - a[i]);
        const double next = rounded(b[i] + (wanted - at_b[i]) / slope[i], digits_of(to));
        if (at_b[i] == wanted && step > 0) done[i] = 1;
        else if (!std::isfinite(next)) done[i] = 2;
        else a[i] = b[i], b[i] = next;
      }
      at_a = std::exchange(at_b, computed(chain, leaf, rows, b));
    }
    for (size_t i = 0; i < n; ++i)
      if (done[i] != 1) b[i] = low;
    const std::vector<double> seen = shown(leaf, b), at_seen = computed(chain, leaf, rows, seen),
                              at_none = computed(chain, leaf, rows, std::vector<double>(n, kMissing));
    bool any = false;
    for (size_t i = 0; i < n; ++i) {
      const auto row = static_cast<size_t>(rows[i]);
      const double width = unit_of(target) / std::abs(slope[i]);  // of the range of numbers that give the same result
      const bool one = width <= 1.0001 * unit_of(to);
      const bool keeps = at_seen[i] == target.numbers[row];  // as rules show it: the last day of a month, not any
      const bool few = known && width <= most_ * (high - low) && keeps;
      if (done[i] != 1 || !(one || few)) continue;
      // a blank that counts as 0, where the column never holds 0
      if (learned && at_none[i] == target.numbers[row] && !(b[i] >= low && b[i] <= high)) {
        mark(blank_[leaf], rows[i], kBlank);
        mark(solved_of(leaf), rows[i], kBlank);
        continue;
      }
      to.numbers[row] = keeps ? seen[i] : b[i];
      mark(solved_of(leaf), rows[i]);
      any = true;
    }
    return any;
  }

  // Numbers as rules show them, for example as whole minutes.
  std::vector<double> shown(const std::string& leaf, const std::vector<double>& x) const {
    const int source = columns_.source(place_of(given_, leaf));
    if (!columns_.learns_numbers(source)) return x;
    Table rows = columns_.first_levels(static_cast<int64_t>(x.size()));
    rows.columns[static_cast<size_t>(source)].numbers = x;
    columns_.restore(rows);
    return column_of(rows, leaf).numbers;
  }

  // A date and time, or seconds since 1970, computed from a date and a time of day determines both.
  bool split(const Chain& chain) {
    if (chain.leaves.size() != 2 || has_texts(column_of(given_, chain.target))) return false;
    const bool first = is_day(column_of(given_, chain.leaves[0]));
    const std::string &date = chain.leaves[first ? 0 : 1], &clock = chain.leaves[first ? 1 : 0];
    const Column& time = column_of(given_, chain.target);
    Column &days = column_of(given_, date), &seconds = column_of(given_, clock);
    if (!is_day(days) || !is_clock_format(seconds.format)) return false;
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < given_.rows; ++i)
      if (!time.is_missing(i) && days.is_missing(i) && seconds.is_missing(i)) rows.push_back(i);
    if (rows.empty()) return false;
    for (const int64_t i : rows) seconds.numbers[static_cast<size_t>(i)] = 0;
    const std::vector<double> at = computed(chain, date, rows, std::vector<double>(rows.size(), 0)),
                              next = computed(chain, date, rows, std::vector<double>(rows.size(), 1));
    for (size_t k = 0; k < rows.size(); ++k) {
      const auto row = static_cast<size_t>(rows[k]);
      days.numbers[row] = std::floor((time.numbers[row] - at[k]) / (next[k] - at[k]));
      seconds.numbers[row] = kMissing;
      if (!std::isfinite(days.numbers[row])) days.numbers[row] = kMissing;
    }
    solve(chain, clock);
    bool any = false;
    for (const int64_t i : rows) {
      double &day = days.numbers[static_cast<size_t>(i)], &second = seconds.numbers[static_cast<size_t>(i)];
      const bool within = second >= 0 && second < kSecondsPerDay;
      if (within) mark(solved_of(date), i);
      else day = second = kMissing;
      any |= within;
    }
    return any;
  }

  struct Range {
    double low, high;
    bool known;  // all of its numbers can be drawn
    bool learned;
  };
  Range range_of(const std::string& leaf) const {
    int source = columns_.source(place_of(given_, leaf));
    if (source < 0) source = place_of(columns_.learned(), leaf);  // also decided by others
    if (!columns_.learns_numbers(source)) return {1, 1000, false, false};
    const Encoder::Reach reach = model_.encoder.reach(source);
    return {reach.low, reach.high > reach.low ? reach.high : reach.low + 1, reach.only.empty(), true};
  }

  static double unit_of(const Column& c) {
    const int digits = digits_of(c);
    return digits == kAllDigits ? 0 : std::pow(10.0, -digits);
  }

  // The target column of rows whose leaf is x.
  std::vector<double> computed(const Chain& chain, const std::string& leaf, const std::vector<int64_t>& rows,
                               const std::vector<double>& x) const {
    Table trial;
    trial.rows = static_cast<int64_t>(rows.size());
    for (const std::string& name : chain.leaves) {
      const Column& from = column_of(given_, name);
      Column c = head_of(from);
      c.values = from.values;
      for (const int64_t i : rows) c.push_from(from, static_cast<size_t>(i));
      if (name == leaf) std::ranges::copy(x, c.numbers.begin());
      trial.columns.push_back(std::move(c));
    }
    for (const TableRule* rule : chain.rules) rule->restore(trial);
    Column& target = column_of(trial, chain.target);
    round_as_written(target);
    return {target.numbers.begin(), target.numbers.end()};
  }

  void mark(std::vector<SolvedCell>& cells, int64_t row, SolvedCell as = kSolved) const {
    cells.resize(static_cast<size_t>(given_.rows), kOpen);
    cells[static_cast<size_t>(row)] = as;
  }
  std::vector<SolvedCell>& solved_of(const std::string& column) {
    return solved_[static_cast<size_t>(place_of(given_, column))];
  }

  const RowModel& model_;
  const ShownColumns& columns_;
  Table& given_;
  std::vector<std::vector<SolvedCell>> solved_;
  std::vector<Computed> rules_;
  std::map<std::string, std::vector<SolvedCell>> blank_;  // by column: no inputs to solve for
  double most_ = 0;  // largest share of a column's range that is treated as one number
};

}  // namespace

std::vector<std::vector<SolvedCell>> solve_cells(const RowModel& model, const ShownColumns& columns, Table& given) {
  for (const FoundRule& f : model.rules.found()) f.rule->solve(given, columns.table());
  return Solver(model, columns, given).run();
}

// ln of a weight that counts only where all candidates have it: how likely the other bin is, is not known.
constexpr double kAnotherBin = -1e5;

OpenInputs::OpenInputs(const RowModel& model, const ShownColumns& columns, const Table& given)
    : model_(model), columns_(columns), given_(given) {
  for (const FoundRule& f : model.rules.found()) {
    if (f.rule->makes() != TableRule::Makes::values) continue;
    const std::vector<std::string> names = f.rule->columns(given);
    std::vector<int> places;
    for (const std::string& name : names) places.push_back(place_of(given, name));
    if (std::ranges::min(places) < 0 || has_texts(given.columns[static_cast<size_t>(places[0])])) continue;
    Input widest{places[0], -1, -1, {}};
    double width = 0;
    for (size_t k = 1; k < names.size(); ++k) {
      const int j = place_of(columns.learned(), names[k]);
      if (!columns.learns_numbers(j) || !columns.decides(j, places[k])) continue;
      const Encoder::Reach reach = model.encoder.reach(j);
      if (!reach.only.empty() || !(reach.high - reach.low > width)) continue;
      width = reach.high - reach.low, widest.leaf = places[k], widest.learned = j;
    }
    if (widest.leaf < 0) continue;
    const auto absent = [&](int c, int64_t row) { return given.columns[static_cast<size_t>(c)].is_missing(row); };
    for (int64_t i = 0; i < given.rows; ++i) {
      const auto missing = std::ranges::count_if(places, [&](int c) { return absent(c, i); });
      widest.open.push_back(!absent(widest.target, i) && absent(widest.leaf, i) && missing > 1 ? 1 : 0);
    }
    if (std::ranges::count(widest.open, 1) > 0) inputs_.push_back(std::move(widest));
  }
}

bool OpenInputs::any(int64_t row) const {
  return std::ranges::any_of(inputs_, [&](const Input& input) { return input.open[static_cast<size_t>(row)] != 0; });
}

std::vector<double> OpenInputs::solve(Table& learned, const std::vector<int64_t>& of) const {
  std::vector<double> share(of.size(), 0);
  for (const Input& input : inputs_) {
    const auto open = [&](size_t i) { return input.open[static_cast<size_t>(of[i])] != 0; };
    Table rows = learned;
    columns_.restore(rows);
    Column &target = rows.columns[static_cast<size_t>(input.target)],
           &leaf = rows.columns[static_cast<size_t>(input.leaf)];
    for (size_t i = 0; i < of.size(); ++i) {
      if (open(i)) leaf.numbers[i] = kMissing;
      target.numbers[i] =
          open(i) ? given_.columns[static_cast<size_t>(input.target)].numbers[static_cast<size_t>(of[i])] : kMissing;
    }
    solve_cells(model_, columns_, rows);
    Column& drawn = learned.columns[static_cast<size_t>(input.learned)];
    const Encoder::Reach reach = model_.encoder.reach(input.learned);
    for (size_t i = 0; i < of.size(); ++i) {
      const double x = rows.columns[static_cast<size_t>(input.leaf)].numbers[i];
      const int32_t level = model_.encoder.level_of_number(input.learned, drawn.numbers[i]);
      if (!open(i) || !(x >= reach.low && x <= reach.high)) continue;
      drawn.numbers[i] = x;
      if (model_.encoder.level_of_number(input.learned, x) != level) {
        share[i] += kAnotherBin;
        continue;
      }
      const double width = model_.encoder.number_of_level(input.learned, level, 1) -
                           model_.encoder.number_of_level(input.learned, level, 0);
      if (width > 0) share[i] -= std::log(width);
    }
  }
  return share;
}

}  // namespace tessera
