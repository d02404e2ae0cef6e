// Numbers of sequences that change from step to step by other columns: a sum of up to three, a product of two, or one
// whose sign follows from a category (deposit, withdrawal). An amount that is missing counts as 0. Numbers that count
// the time from the step before, or from the first one; columns that repeat what another one was at the step before,
// and greatest and least values so far.
#include "tables/rules/kinds/running.h"

#include <algorithm>
#include <cmath>

#include "tables/expression/arithmetic.h"
#include "tables/formats/number_format.h"
#include "tables/kinds/kind.h"
#include "tables/rules/find/factors.h"
#include "tables/rules/find/search.h"
#include "tables/rules/kinds/computed.h"
#include "tables/rules/rule/columns.h"
#include "tables/sequence/sequences.h"

namespace tessera {
namespace {

constexpr size_t kMaxRunningTerms = 3,
                 kMaxRunningParts = 30;  // candidate terms: the work grows with the cube of their number
constexpr size_t kMaxElapsedSources = 8;
constexpr size_t kLookedAt = 64;  // rows, before all are

struct RunningTerm {
  int column;
  double sign;
  int by = -1;  // times this column
  bool operator==(const RunningTerm&) const = default;
};
struct Balance {
  FoundRule rule;
  std::vector<RunningTerm> terms;  // of its changes; none: their sign follows from a category
  int target = -1;
  bool late = false, of_sum = false;  // of_sum: by another one
  int part = -1;                      // of a category: the amount
};

class RunningSearch {
 public:
  explicit RunningSearch(const RuleSearch& search)
      : search_(search), steps_{search.options.key, search.options.index, search.options.key.empty(), false} {
    if (steps_.windows) steps_.key = free_name(search.table, "sequence");
    previous_ = steps_before(search.table, steps_);
    for (const int64_t row : search.proposing)
      if (before(row) >= 0 && rows_.size() < kLookedAt) rows_.push_back(row);
    parts_ = search.usable_columns(kMaxRunningParts, [](const Column& c) { return is_quantity(c); });
  }

  std::vector<FoundRule> run() {
    if (rows_.size() < kLookedAt / 2 ||
        (!steps_.windows && std::count(previous_.begin(), previous_.end(), -1) < search_.options.least_rows))
      return {};
    std::vector<FoundRule> passed = elapsed(), computed, out;
    std::vector<Balance> balances;
    for (const int target : parts_) {
      if (is_taken(target) || !is_complete(search_.column(target))) continue;
      if (std::all_of(rows_.begin(), rows_.end(), [&](int64_t row) { return change(target, row) == 0; })) continue;
      for (const auto& [few, late] : {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
        steps_.late = late, few_break_it_ = few;
        std::optional<Balance> found = sum_of(target);
        if (!found && !late && !few) found = signed_by_category(target);
        if (!found) continue;
        found->target = target, found->late = late;
        balances.push_back(std::move(*found));
        taken_.push_back(target);
        break;
      }
    }
    // rules are restored from the last one on
    for (const Balance& late : balances) {
      auto within = computed_within_rows(balances, late);
      if (within) {
        computed.push_back(std::move(*within));
        continue;
      }
      std::vector<FoundRule> own;
      if (has_floor(late.target))
        own.push_back({make_rule(FloorData{search_.column(late.target).name, steps_.key, amounts_of(late)}),
                       {search_.table.rows}});
      own.push_back(late.rule);
      out.insert(late.of_sum ? out.begin() : out.end(), own.begin(), own.end());
    }
    std::vector<FoundRule> all = carried();
    for (const auto* later : {&computed, &out, &passed}) all.insert(all.end(), later->begin(), later->end());
    return all;
  }

 private:
  // Columns that are sums already: only their first values remain.
  bool is_taken(int j) const { return std::find(taken_.begin(), taken_.end(), j) != taken_.end(); }
  int32_t before(int64_t row) const { return previous_[static_cast<size_t>(row)]; }
  double number(int column, int64_t row) const { return search_.column(column).numbers[static_cast<size_t>(row)]; }
  double change(int column, int64_t row) const { return number(column, row) - number(column, before(row)); }
  double amount(int column, int64_t row) const {
    const double x = number(column, row);
    return x == x ? x : 0;
  }
  int64_t said_by(int64_t row) const { return steps_.late ? before(row) : row; }

  double sum(const std::vector<RunningTerm>& terms, int64_t row) const {
    double out = 0;
    for (const RunningTerm& t : terms) out += t.sign * amount(t.column, row) * (t.by < 0 ? 1 : amount(t.by, row));
    return out;
  }
  bool gives(int target, const std::vector<RunningTerm>& terms, int64_t row, int64_t other) const {
    // as a sum with the digits of the balance
    return same_number(number(target, other), number(target, before(other)) + sum(terms, said_by(row)),
                       search_.column(target));
  }
  // plus: what is added comes first
  std::string text_of(const std::vector<RunningTerm>& terms, const std::string& plus, const std::string& minus,
                      std::string text = "") const {
    for (const double sign : {1.0, -1.0})
      for (const RunningTerm& t : terms)
        if (t.sign == sign)
          text += (sign < 0       ? text.empty() ? "-" : minus
                   : text.empty() ? ""
                                  : plus) +
                  quoted_name(search_.column(t.column).name) +
                  (t.by < 0 ? "" : " * " + quoted_name(search_.column(t.by).name));
    return text;
  }

  // From the index, or from another date or time.
  std::vector<FoundRule> elapsed() {
    std::vector<int> sources =
        search_.usable_columns(kMaxElapsedSources, [](const Column& c) { return is_instant(c) && is_complete(c); });
    if (const int index = search_.index(); index >= 0) sources.insert(sources.begin(), index);
    const std::vector<int32_t> first = first_steps(previous_);
    std::vector<FoundRule> out;
    for (const int target : parts_)
      for (const int of : sources)
        for (const bool gap : {true, false})
          for (const auto& [units, unit] : units_of(search_.column(of))) {
            if (is_taken(target) || of == target) continue;
            auto found = elapsed_of(target, {{}, search_.column(of).name, units, unit, gap, steps_}, of, first);
            if (!found) continue;
            out.push_back(std::move(*found));
            taken_.push_back(target);
          }
    return out;
  }
  static std::vector<std::pair<double, const char*>> units_of(const Column& c) {
    if (!is_instant(c)) return {{1, ""}};
    const double day = kind_of(c).unit;
    if (!has_time(c)) return {{day, "days"}, {7 * day, "weeks"}};
    return {{1, "seconds"}, {60, "minutes"}, {3600, "hours"}, {day, "days"}};
  }
  std::optional<FoundRule> elapsed_of(int target, ElapsedData data, int of, const std::vector<int32_t>& first) const {
    const Column& c = search_.column(target);
    const auto holds = [&](int64_t row, int64_t other) {
      if (before(row) < 0 || before(other) < 0) return -1;
      const auto from = [&](int64_t at) { return data.gap ? before(at) : first[static_cast<size_t>(at)]; };
      const double passed = (number(of, row) - number(of, from(row))) / data.units;
      return same_number(number(target, other), passed + (data.gap ? 0 : number(target, from(other))), c) ? 1 : 0;
    };
    for (const int64_t row : rows_)
      if (holds(row, row) == 0) return {};
    // the first steps are learned: all of them, or none
    if (std::any_of(first.begin(), first.end(),
                    [&](int32_t row) { return c.is_missing(row) != c.is_missing(first[0]); }))
      return {};
    const auto evidence = search_.evidence_of(holds, 10.0 * static_cast<double>(parts_.size()));
    if (!evidence) return {};
    data.target = head_of(c);
    return FoundRule{make_rule(std::move(data)), *evidence};
  }

  // Of any other column, sums among them: these rules are restored last.
  std::vector<FoundRule> carried() {
    const std::vector<int> columns = search_.usable_columns(kMaxRunningParts, [](const Column&) { return true; });
    std::vector<FoundRule> out;
    std::vector<int> targets, sources;
    const auto in = [](const std::vector<int>& all, int j) { return std::ranges::find(all, j) != all.end(); };
    for (const int target : columns)
      for (const int of : columns)
        for (const std::string_view how : {CarriedData::kHows[0], CarriedData::kHows[1], CarriedData::kHows[2]}) {
          if (of == target || is_taken(target) || in(sources, target) || in(targets, of)) continue;
          auto found = carried_of(target, of, {{}, search_.column(of).name, std::string(how), false, steps_});
          if (!found) continue;
          out.push_back(std::move(*found));
          targets.push_back(target), sources.push_back(of), taken_.push_back(target);
        }
    return out;
  }
  // A row in which nothing has changed since the step before tells nothing, unless it breaks the rule.
  std::optional<FoundRule> carried_of(int target, int of, CarriedData data) const {
    const Column &c = search_.column(target), &source = search_.column(of);
    const bool copies = data.how == CarriedData::kHows[0], greatest = data.how == CarriedData::kHows[1];
    if (c.type != source.type && !(is_quantity(c) && is_quantity(source))) return {};
    if (!copies && (!is_ordered(c) || !is_complete(c) || !is_complete(source))) return {};
    const std::vector<int32_t> codes = codes_in(c, source);
    const auto has_gap = [&](const Column& of_cells) {
      for (int64_t row = 0; row < search_.table.rows; ++row)
        if (of_cells.is_missing(row)) return true;
      return false;
    };
    const auto said = [&](int64_t row) {
      if (source.is_missing(row)) return kMissing;
      const double x = source.key(static_cast<size_t>(row));
      return has_numbers(source) ? x : codes[static_cast<size_t>(x)];
    };
    const auto cell = [&](int64_t row) { return c.is_missing(row) ? kMissing : c.key(static_cast<size_t>(row)); };
    const auto equal = [&](double x, double y) { return has_numbers(c) ? same_number(x, y, c) : x == y; };
    const auto expected = [&](int64_t row) {
      if (copies) return said(before(row));
      return greatest ? std::max(cell(before(row)), said(row)) : std::min(cell(before(row)), said(row));
    };
    const auto holds = [&](int64_t row, int64_t other) {
      if (before(row) < 0 || before(other) < 0) return -1;
      const double is = cell(other), by = expected(row);
      if (is != is || by != by) return is != is && by != by ? -1 : 0;
      if (!equal(is, by)) return 0;
      return row == other && equal(by, copies ? said(row) : cell(before(row))) ? -1 : 1;
    };
    for (const int64_t row : rows_)
      if (holds(row, row) == 0) return {};
    const auto evidence = search_.evidence_of(
        holds, 3.0 * static_cast<double>(search_.columns()) * static_cast<double>(search_.columns()));
    if (!evidence) return {};
    data.begins = !copies;
    for (int64_t row = 0; !copies && row < search_.table.rows; ++row) {
      if (before(row) >= 0) continue;
      if (greatest ? cell(row) < said(row) : cell(row) > said(row)) return {};
      data.begins &= cell(row) == said(row);
    }
    if (copies && !has_gap(c) && has_gap(source)) data.how = CarriedData::kHows[3];
    data.target = head_of(c);
    return FoundRule{make_rule(std::move(data)), *evidence};
  }

  // What another balance was before the step: opening = stock - received + issued. Each by its own first value, the two
  // would not agree.
  std::optional<FoundRule> computed_within_rows(const std::vector<Balance>& balances, const Balance& late) const {
    for (const Balance& b : balances) {
      if (!late.late || b.late || b.terms.empty() || b.terms != late.terms) continue;
      const auto agrees = [&](int64_t row) {
        return same_number(number(late.target, row), number(b.target, row) - sum(b.terms, row),
                           search_.column(late.target));
      };
      bool all = true;
      for (int64_t row = 0; all && row < search_.table.rows; ++row) all = agrees(row);
      if (!all) continue;
      const std::string is = text_of(b.terms, " - ", " + ", quoted_name(search_.column(b.target).name));
      return FoundRule{make_rule(ComputedData{head_of(search_.column(late.target)), is}), late.rule.evidence};
    }
    return {};
  }

  // Whether it falls, but never below 0.
  bool has_floor(int target) const {
    const auto& numbers = search_.column(target).numbers;
    bool falls = false;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] < 0) return false;
      falls |= previous_[i] >= 0 && numbers[i] < numbers[static_cast<size_t>(previous_[i])];
    }
    return falls;
  }

  // Those that are taken, if none of them is below 0.
  FloorAmounts amounts_of(const Balance& balance) const {
    FloorAmounts out{{}, !steps_.windows && !balance.terms.empty(), balance.late, balance.terms.empty()};
    for (const RunningTerm& t : balance.terms.empty() ? std::vector{RunningTerm{balance.part, -1}} : balance.terms) {
      const Column& c = search_.column(t.column);
      if (t.sign < 0 && t.by < 0 && std::ranges::none_of(c.numbers, [](double x) { return x < 0; }))
        out.names.push_back(c.name);
    }
    double begins = kMissing;
    for (int64_t row = 0; out.first && row < search_.table.rows; ++row) {
      if (before(row) >= 0) continue;
      const double x = number(balance.target, row) - (balance.late ? 0 : sum(balance.terms, row));
      out.first = begins != begins || same_number(x, begins, search_.column(balance.target));
      begins = x;
    }
    return out;
  }

  Column head_of_change(int target) const {
    Column head = head_of(search_.column(target));
    head.name = free_name(search_.table, "change of " + head.name);
    head.arrow.clear(), head.kind.clear();
    if (!is_shortest(head.format)) head.format.clear();
    return head;
  }

  // Terms in the order of the columns, each further one tried with all that follow; and products of two.
  std::optional<Balance> sum_of(int target) const {
    std::vector<RunningTerm> terms;
    for (size_t count = 1; count <= kMaxRunningTerms; ++count)
      if (auto found = longer(target, terms, count, 0)) return found;
    for (size_t a = 0; a < parts_.size(); ++a)
      for (size_t b = 0; b < a; ++b)
        for (const double sign : {1.0, -1.0})
          if (parts_[a] != target && parts_[b] != target && !is_taken(parts_[a]) && !is_taken(parts_[b]))
            if (auto found = tried(target, {{parts_[b], sign, parts_[a]}})) return found;
    return {};
  }
  std::optional<Balance> longer(int target, std::vector<RunningTerm>& terms, size_t count, size_t from) const {
    if (terms.size() == count) return tried(target, terms);
    for (size_t k = from; k < parts_.size(); ++k) {
      if (parts_[k] == target || is_taken(parts_[k])) continue;
      for (const double sign : {1.0, -1.0}) {
        terms.push_back({parts_[k], sign});
        auto found = longer(target, terms, count, k + 1);
        terms.pop_back();
        if (found) return found;
      }
    }
    return {};
  }
  std::optional<Balance> tried(int target, const std::vector<RunningTerm>& terms) const {
    int breaks = 0;
    for (const int64_t row : rows_)
      if (!gives(target, terms, row, row) && ++breaks > (few_break_it_ ? 1 : 0)) return {};
    const std::vector<char> exceptions = exceptions_of(target, terms);
    if (few_break_it_ && exceptions.empty()) return {};
    const auto is_exception = [&](int64_t row) { return few_break_it_ && exceptions[static_cast<size_t>(row)] != 0; };
    const auto holds = [&](int64_t row, int64_t other) {
      if (before(row) < 0 || before(other) < 0 || is_exception(row) || is_exception(other)) return -1;
      return gives(target, terms, row, other) ? 1 : 0;
    };
    const double parts = 2 * static_cast<double>(parts_.size());
    const auto evidence = search_.evidence_of(holds, std::pow(parts, static_cast<double>(terms.size() + 1)));
    if (!evidence) return {};
    return Balance{
        running(target, make_rule(ComputedData{head_of_change(target), text_of(terms, " + ", " - ")}), *evidence),
        terms};
  }

  // The rows that break it, which a model would not learn anyway: only the value before the first step is learned.
  // Empty: as many keys have some as a value that is stored needs.
  std::vector<char> exceptions_of(int target, const std::vector<RunningTerm>& terms) const {
    if (!few_break_it_) return {};
    std::vector<int> places{target};
    for (const RunningTerm& t : terms) places.push_back(t.column);
    const int64_t least = search_.holders.least(search_.columns_at(places));
    std::vector<char> out(previous_.size());
    Held breaks;
    search_.holders.each([&](int64_t row, int64_t holder) {
      if (before(row) < 0 || breaks.holders >= least || gives(target, terms, row, row)) return;
      out[static_cast<size_t>(row)] = 1, breaks.add(holder);
    });
    return breaks.holders < least ? out : std::vector<char>{};
  }

  // A table of changes, one column that has their size, and the categories.
  std::optional<Balance> signed_by_category(int target) const {
    for (const int part : parts_) {
      const auto has_size = [&](int64_t row) {
        const double x = change(target, row), digits = half_unit(search_.column(target));
        return std::abs(x) <= digits ||
               std::abs(std::abs(x) - std::abs(amount(part, row))) <= digits + 1e-12 * std::abs(x);
      };
      if (part == target || !std::all_of(rows_.begin(), rows_.end(), has_size)) continue;
      std::vector<int32_t> rows;
      for (size_t i = 0; i < previous_.size(); ++i)
        if (previous_[i] >= 0) rows.push_back(static_cast<int32_t>(i));
      Table steps;
      steps.rows = static_cast<int64_t>(rows.size());
      Column changes = head_of_change(target);
      for (const int32_t row : rows) changes.numbers.push_back(rounded(change(target, row), digits_of(changes)));
      const std::string name = changes.name;
      steps.columns.push_back(std::move(changes));
      for (int j = 0; j < static_cast<int>(search_.columns()); ++j)
        if (j == part || search_.column(j).name == search_.options.key ||
            (search_.usable(j) && !is_ordered(search_.column(j))))
          steps.columns.push_back(search_.column(j).pick(rows));
      for (double& x : steps.columns[static_cast<size_t>(place_of(steps, search_.column(part).name))].numbers)
        if (x != x) x = 0;
      const auto found = find_rates(RuleSearch(steps, search_.options, Holders(steps, search_.options), search_.team));
      if (found && found->rule->column() == name)
        return Balance{running(target, found->rule, found->evidence), {}, -1, false, is_taken(part), part};
    }
    return {};
  }

  FoundRule running(int target, RulePtr change, const Evidence& evidence) const {
    RunningData data{head_of(search_.column(target)), head_of_change(target).name, std::move(change), steps_};
    return {make_rule(std::move(data)), evidence};
  }

  const RuleSearch& search_;
  RunningSteps steps_;
  bool few_break_it_ = false;  // rows of fewer keys than a stored value needs may break a sum
  std::vector<int32_t> previous_;
  std::vector<int64_t> rows_;
  std::vector<int> parts_, taken_;
};

}  // namespace

std::vector<FoundRule> find_running(const RuleSearch& search) {
  return search.options.steps ? RunningSearch(search).run() : std::vector<FoundRule>{};
}

}  // namespace tessera
