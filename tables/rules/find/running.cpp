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
    std::vector<FoundRule> out;
    if (rows_.size() < kLookedAt / 2 ||
        (!steps_.windows && std::count(previous_.begin(), previous_.end(), -1) < search_.options.least_rows))
      return out;
    for (const int target : parts_) {
      if (std::all_of(rows_.begin(), rows_.end(), [&](int64_t row) { return change(target, row) == 0; })) continue;
      for (const bool late : {false, true}) {
        steps_.late = late;
        std::optional<FoundRule> found = sum_of(target);
        if (!found && !late) found = signed_by_category(target);
        if (!found) continue;
        out.push_back(std::move(*found));
        taken_.push_back(target);
        break;
      }
    }
    return out;
  }

 private:
  // Columns that are sums already: only their first values remain.
  bool is_taken(int j) const { return std::find(taken_.begin(), taken_.end(), j) != taken_.end(); }
  int32_t before(int64_t row) const { return previous_[static_cast<size_t>(row)]; }
  double number(int column, int64_t row) const { return search_.column(column).numbers[static_cast<size_t>(row)]; }
  double change(int column, int64_t row) const { return number(column, row) - number(column, before(row)); }
  int64_t said_by(int64_t row) const { return steps_.late ? before(row) : row; }

  bool gives(int target, const std::vector<RunningTerm>& terms, int64_t row, int64_t other) const {
    double sum = 0;
    for (const RunningTerm& t : terms)
      sum += t.sign * number(t.column, said_by(row)) * (t.by < 0 ? 1 : number(t.by, said_by(row)));
    // as a sum with the digits of the balance
    return same_number(number(target, other), number(target, before(other)) + sum, search_.column(target));
  }

  Column head_of_change(int target) const {
    Column head = head_of(search_.column(target));
    head.name = free_name(search_.table, "change of " + head.name);
    head.arrow.clear(), head.kind.clear();
    if (!is_shortest(head.format)) head.format.clear();
    return head;
  }

  // Terms in the order of the columns, each further one tried with all that follow; and products of two.
  std::optional<FoundRule> sum_of(int target) const {
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
  std::optional<FoundRule> longer(int target, std::vector<RunningTerm>& terms, size_t count, size_t from) const {
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
  std::optional<FoundRule> tried(int target, const std::vector<RunningTerm>& terms) const {
    for (const int64_t row : rows_)
      if (!gives(target, terms, row, row)) return {};
    const auto holds = [&](int64_t row, int64_t other) {
      return before(row) < 0 || before(other) < 0 ? -1 : gives(target, terms, row, other) ? 1 : 0;
    };
    const double parts = 2 * static_cast<double>(parts_.size());
    const auto evidence = search_.evidence_of(holds, std::pow(parts, static_cast<double>(terms.size() + 1)));
    if (!evidence) return {};
    std::string text;
    for (const double sign : {1.0, -1.0})
      for (const RunningTerm& t : terms)
        if (t.sign == sign)
          text += (text.empty() ? (sign < 0 ? "-" : "")
                   : sign < 0   ? " - "
                                : " + ") +
                  quoted_name(search_.column(t.column).name) +
                  (t.by < 0 ? "" : " * " + quoted_name(search_.column(t.by).name));
    return running(target, make_rule(ComputedData{head_of_change(target), text}), *evidence);
  }

  // A table of changes, one column that has their size, and the categories.
  std::optional<FoundRule> signed_by_category(int target) const {
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
      if (found && found->rule->column() == name) return running(target, found->rule, found->evidence);
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
