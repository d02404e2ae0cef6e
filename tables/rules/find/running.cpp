// Numbers of sequences that change from step to step by other columns: a sum of up to three, a product of two, or one
// whose sign follows from a category (deposit, withdrawal).
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
constexpr size_t kLookedAt = 64;         // rows, before all are

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
  bool late = false;
};

class RunningSearch {
 public:
  explicit RunningSearch(const RuleSearch& search)
      : search_(search), steps_{search.options.key, search.options.index, search.options.key.empty(), false} {
    if (steps_.windows) steps_.key = free_name(search.table, "sequence");
    previous_ = steps_before(search.table, steps_);
    for (const int64_t row : search.proposing)
      if (before(row) >= 0 && rows_.size() < kLookedAt) rows_.push_back(row);
    parts_ = search.usable_columns(kMaxRunningParts, [](const Column& c) { return is_quantity(c) && is_complete(c); });
  }

  std::vector<FoundRule> run() {
    if (rows_.size() < kLookedAt / 2 ||
        (!steps_.windows && std::count(previous_.begin(), previous_.end(), -1) < search_.options.least_rows))
      return {};
    std::vector<Balance> balances;
    for (const int target : parts_) {
      if (std::all_of(rows_.begin(), rows_.end(), [&](int64_t row) { return change(target, row) == 0; })) continue;
      for (const bool late : {false, true}) {
        steps_.late = late;
        std::optional<Balance> found = sum_of(target);
        if (!found && !late) found = signed_by_category(target);
        if (!found) continue;
        found->target = target, found->late = late;
        balances.push_back(std::move(*found));
        taken_.push_back(target);
        break;
      }
    }
    // rules are restored from the last one on
    std::vector<FoundRule> computed, out;
    for (const Balance& late : balances) {
      auto within = computed_within_rows(balances, late);
      if (!within && has_floor(late.target))
        out.push_back({make_rule(FloorData{search_.column(late.target).name, steps_.key}), {search_.table.rows}});
      if (within) computed.push_back(std::move(*within));
      else out.push_back(late.rule);
    }
    computed.insert(computed.end(), out.begin(), out.end());
    return computed;
  }

 private:
  // Columns that are sums already: only their first values remain.
  bool is_taken(int j) const { return std::find(taken_.begin(), taken_.end(), j) != taken_.end(); }
  int32_t before(int64_t row) const { return previous_[static_cast<size_t>(row)]; }
  double number(int column, int64_t row) const { return search_.column(column).numbers[static_cast<size_t>(row)]; }
  double change(int column, int64_t row) const { return number(column, row) - number(column, before(row)); }
  int64_t said_by(int64_t row) const { return steps_.late ? before(row) : row; }

  double sum(const std::vector<RunningTerm>& terms, int64_t row) const {
    double out = 0;
    for (const RunningTerm& t : terms) out += t.sign * number(t.column, row) * (t.by < 0 ? 1 : number(t.by, row));
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
    for (const int64_t row : rows_)
      if (!gives(target, terms, row, row)) return {};
    const auto holds = [&](int64_t row, int64_t other) {
      return before(row) < 0 || before(other) < 0 ? -1 : gives(target, terms, row, other) ? 1 : 0;
    };
    const double parts = 2 * static_cast<double>(parts_.size());
    const auto evidence = search_.evidence_of(holds, std::pow(parts, static_cast<double>(terms.size() + 1)));
    if (!evidence) return {};
    return Balance{
        running(target, make_rule(ComputedData{head_of_change(target), text_of(terms, " + ", " - ")}), *evidence),
        terms};
  }

  // A table of changes, one column that has their size, and the categories.
  std::optional<Balance> signed_by_category(int target) const {
    for (const int part : parts_) {
      const auto has_size = [&](int64_t row) {
        const double x = change(target, row), digits = half_unit(search_.column(target));
        return std::abs(x) <= digits ||
               std::abs(std::abs(x) - std::abs(number(part, row))) <= digits + 1e-12 * std::abs(x);
      };
      if (part == target || is_taken(part) || !std::all_of(rows_.begin(), rows_.end(), has_size)) continue;
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
      const auto found = find_rates(RuleSearch(steps, search_.options, Holders(steps, search_.options), search_.team));
      if (found && found->rule->column() == name) return Balance{running(target, found->rule, found->evidence), {}};
    }
    return {};
  }

  FoundRule running(int target, RulePtr change, const Evidence& evidence) const {
    RunningData data{head_of(search_.column(target)), head_of_change(target).name, std::move(change), steps_};
    return {make_rule(std::move(data)), evidence};
  }

  const RuleSearch& search_;
  RunningSteps steps_;
  std::vector<int32_t> previous_;
  std::vector<int64_t> rows_;
  std::vector<int> parts_, taken_;
};

}  // namespace

std::vector<FoundRule> find_running(const RuleSearch& search) {
  return search.options.steps ? RunningSearch(search).run() : std::vector<FoundRule>{};
}

}  // namespace tessera
