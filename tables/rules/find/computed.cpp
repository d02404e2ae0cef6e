// Columns computed from others: equal texts, and the test of an expression.
#include "tables/rules/kinds/computed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tables/kinds/kind.h"
#include "tables/rules/find/factors.h"
#include "tables/rules/find/search.h"
#include "tables/rules/kinds/function.h"
#include "tables/rules/rule/columns.h"
#include "tables/sequence/sequences.h"

namespace tessera {
namespace {

constexpr int kMaxNumberDigits = 15;

// The part of a whole that a product takes, as 1 - discount / 100: no value of the table makes it negative.
bool is_rest(const Arithmetic& a) {
  return a.op == Arithmetic::Op::subtract && a.operands[0].op == Arithmetic::Op::number && a.operands[0].number > 0;
}

// A date minus the epoch: no date of a sampled row precedes those of the table.
bool is_count(const Arithmetic& a) {
  return a.op == Arithmetic::Op::subtract && a.operands[1].op == Arithmetic::Op::number && a.operands[1].instant;
}

bool negative_terms(const Arithmetic& a) {
  if (is_count(a)) return false;
  if (a.op == Arithmetic::Op::subtract || (a.op == Arithmetic::Op::number && a.number < 0)) return true;
  if (a.op == Arithmetic::Op::greatest) return std::all_of(a.operands.begin(), a.operands.end(), negative_terms);
  const bool product = a.op == Arithmetic::Op::multiply || a.op == Arithmetic::Op::divide;
  return std::any_of(a.operands.begin(), a.operands.end(), [=](const Arithmetic& operand) {
    return !(product && is_rest(operand)) && negative_terms(operand);
  });
}

struct NumberInside {
  double* number;
  bool divides;  // a value is linear in the reciprocal of the number
};

// The epoch of dates and times is not a number of the table, and each row alone says how many months one is later.
void numbers_in(Arithmetic& a, bool divides, std::vector<NumberInside>& out) {
  if (a.op == Arithmetic::Op::number && !a.instant) out.push_back({&a.number, divides});
  if (a.op == Arithmetic::Op::add_months) return numbers_in(a.operands[0], divides, out);
  if (a.op == Arithmetic::Op::coalesce) return;  // 0 for a missing cell
  for (Arithmetic& operand : a.operands)
    numbers_in(operand, a.op == Arithmetic::Op::divide && &operand != a.operands.data(), out);
}

// Numbers proposed by few rows for a rule of most rows may be slightly off; the bound of greatest() and least() is a
// value of the rows themselves.
bool has_plain_numbers(Arithmetic expression) {
  if (expression.op == Arithmetic::Op::greatest || expression.op == Arithmetic::Op::least) return true;
  std::vector<NumberInside> numbers;
  numbers_in(expression, false, numbers);
  return std::ranges::all_of(numbers, [](const NumberInside& inside) {
    const double digits = std::log10(std::abs(*inside.number));
    return digits == std::floor(digits);
  });
}

// Whether each number of the expression, given the others, is the simplest one that the rows allow, also without any
// holders too few to be disclosed: the factor of a column that is 0 in all rows but one would reveal that row.
template <class Holds>
bool has_stable_numbers(const RuleSearch& search, Arithmetic expression, const Column& target, double halves,
                        Holds&& holds) {
  std::vector<int> places = columns_of(expression);
  std::vector<const Column*> columns = search.columns_at(places);
  columns.push_back(&target);
  const int64_t least = search.holders.least(columns);
  std::vector<NumberInside> numbers;
  numbers_in(expression, false, numbers);
  std::vector<int64_t> rows = search.proposing;
  rows.insert(rows.end(), search.testing.begin(), search.testing.end());
  std::erase_if(rows, [&](int64_t row) { return !holds(row); });
  rows = search.holders.together(std::move(rows));
  return std::all_of(numbers.begin(), numbers.end(), [&](const NumberInside& inside) {
    const double own = *inside.number, at = inside.divides ? 1 / own : own;
    const double change = 1e-3 * (at == 0 ? std::max(half_unit(target), 1e-9) : std::abs(at));
    const auto value = [&](int64_t row, double x) {
      *inside.number = inside.divides ? 1 / x : x;
      const double out = exact_value(expression, search.table, static_cast<size_t>(row), target);
      *inside.number = own;
      return out;
    };
    Outermost low(-1, least), high(1, least);
    for (const int64_t row : rows) {
      const double t = target.numbers[static_cast<size_t>(row)], here = value(row, at);
      const double slope = (value(row, at + change) - here) / change;
      if (t != t || !(std::abs(slope) > 0)) continue;
      const double middle = at + (t - here) / slope, reach = reach_of(t, here, target, halves) / std::abs(slope);
      low.add(middle - reach, search.holders.of(row)), high.add(middle + reach, search.holders.of(row));
    }
    const auto stable = stable_between(low, high, [&](double a, double b) {
      if (inside.divides && !(a > 0)) return kMissing;
      return inside.divides ? simplest_between(1 / b, 1 / a, Ends::both, kMaxNumberDigits)
                            : simplest_between(a, b, Ends::both, kMaxNumberDigits);
    });
    return stable && *stable == own;
  });
}

// Whether some share has a limit that the others do not explain: of ranks from 1 to 5 that sum to 15, none is 11.
bool are_limited(const RuleSearch& search, const std::vector<int>& shares, int64_t least) {
  double whole = kMissing, smallest = 0;
  for (const int64_t row : search.proposing) {
    double sum = 0;
    for (const int j : shares) sum += search.column(j).numbers[static_cast<size_t>(row)];
    if (sum == sum) whole = sum;
  }
  std::vector<double> low;
  for (const int j : shares) {
    low.push_back(INFINITY);
    for (const double x : search.column(j).numbers) low.back() = std::min(low.back(), x == x ? x : INFINITY);
    smallest += low.back();
  }
  for (size_t k = 0; k < shares.size(); ++k)
    if (search.limit_of(search.column(shares[k]), true, least) < whole - (smallest - low[k])) return true;
  return false;
}

// The column is computed in every sampled row; with `gaps`, except where it or one of its inputs is missing.
std::optional<FoundRule> by_construction(const RuleSearch& search, const Computed& rule, const Evidence& evidence,
                                         bool gaps = false, bool given = false) {
  const Column& target = search.column(rule.target);
  const Arithmetic expression = parse_arithmetic(rule.expression, search.table, "a rule");
  FoundRule found;
  found.evidence = evidence;
  const std::vector<int> of = columns_of(expression);
  const auto has_negative = [](const Column& c) {
    return std::ranges::any_of(c.numbers, [](double x) { return x < 0; });
  };
  // A difference of columns, or a sum with negative numbers, may come out below zero where no real one does.
  // Balances of sequences do not: they are computed from step to step. A given rule has the last word.
  const bool falls =
      negative_terms(expression) || (search.options.by_rejection && of.size() > 1 &&
                                     std::ranges::any_of(of, [&](int j) { return has_negative(search.column(j)); }));
  // Of shares of a whole, the largest is lowered.
  const bool shared = rule.shares && of.size() > 1 && std::ranges::none_of(of, [&](int j) {
                        return has_negative(search.column(j)) || !is_quantity(search.column(j));
                      });
  if (is_quantity(target) && falls && !has_negative(target)) {
    if (is_spelled(target) || (!search.options.by_rejection && !given && !shared)) return {};
    if (search.options.by_rejection) found.check = quoted_name(target.name) + " >= 0";
  }
  bool limited = false;
  if (rule.shares && !gaps) {
    std::vector<int> shares = of;
    shares.push_back(rule.target);
    const int64_t least = search.holders.least(search.columns_at(shares));
    limited = are_limited(search, shares, least);
    if (limited && !found.check.empty()) {
      const double low = search.limit_of(target, false, least), high = search.limit_of(target, true, least);
      if (low <= high) found.check = fmt::format("{} between {} and {}", quoted_name(target.name), low, high);
    }
  }
  ComputedData data{head_of(target), rule.expression, {rule.rounded}};
  // With one input, the column is as informative as its input.
  data.seen = search.seen_as(target, gaps, search.options.by_rejection && is_quantity(target) && of.size() > 1);
  if (rule.shares && !gaps && (search.options.by_rejection ? !data.seen.column.empty() && !limited : shared))
    for (const int j : of) data.shares.push_back(search.column(j).name);
  found.rule = make_rule(std::move(data));
  return found;
}

}  // namespace

std::optional<FoundRule> find_copy(const RuleSearch& search) {
  const std::vector<int> texts = search.usable_texts();
  const double tried = static_cast<double>(texts.size() * texts.size()) / 2;
  for (size_t b = 1; b < texts.size(); ++b)
    for (size_t a = 0; a < b; ++a) {
      const Column &kept = search.column(texts[a]), &copy = search.column(texts[b]);
      const std::vector<int32_t> code = codes_in(kept, copy);
      const auto holds = [&](int64_t row, int64_t other) {
        const int32_t is = copy.codes[static_cast<size_t>(other)], of = kept.codes[static_cast<size_t>(row)];
        return is < 0 && of < 0 ? -1 : (is < 0 ? -1 : code[static_cast<size_t>(is)]) == of ? 1 : 0;
      };
      const auto evidence = search.evidence_of(holds, tried);
      kept.relax(), copy.relax();
      if (evidence) return FoundRule{make_rule(ComputedData{head_of(copy), quoted_name(kept.name)}), *evidence};
    }
  return {};
}

std::optional<FoundRule> usual_rule(const RuleSearch& search, const Computed& rule, double tried) {
  constexpr double kBreaks = 0.1;  // of the number of rows expected by chance
  constexpr double kSurely = 200;  // rows that suffice as evidence
  const Column& target = search.column(rule.target);
  const Arithmetic expression = parse_arithmetic(rule.expression, search.table, "a rule");
  const auto given = [&](int64_t row) {
    return exact_value(expression, search.table, static_cast<size_t>(row), target);
  };
  const auto holds = [&](int64_t row, int64_t other) {
    return same_number(target.numbers[static_cast<size_t>(other)], given(row), target, rule.rounded);
  };
  double complete = 0, kept = 0, chance = 1;
  for (size_t i = 0; i < search.testing.size(); ++i) {
    const int64_t row = search.testing[i];
    if (target.is_missing(row) || given(row) != given(row)) continue;
    if (complete == kSurely && kept < (1 - 2 * kBreaks) * kSurely) return {};
    ++complete, kept += holds(row, row), chance += holds(row, search.testing[(i + 1) % search.testing.size()]);
  }
  if (complete - kept > kBreaks * (complete - chance) ||
      !RuleSearch::beyond_chance(static_cast<int64_t>(kept), chance / std::max(complete, 1.0), tried) ||
      !has_stable_numbers(search, expression, target, rule.rounded, [&](int64_t row) { return holds(row, row); }))
    return {};
  Evidence evidence{0, static_cast<int64_t>(kept), chance / complete};
  // Rows that break it and that a model may not know anyway do not come again.
  std::vector<const Column*> columns = search.columns_at(columns_of(expression));
  columns.push_back(&target);
  Held breaks;
  bool missing = false;
  search.holders.each([&](int64_t row, int64_t holder) {
    const bool none = given(row) != given(row);
    missing |= none != target.is_missing(row);
    if (holds(row, row)) ++evidence.rows;
    else if (!none && !target.is_missing(row)) breaks.add(holder);
  });
  const bool few = breaks.holders < search.holders.least(columns);
  return few && (!missing || search.gaps_may_be()) ? by_construction(search, rule, evidence, missing)
                                                   : repeated_rule(search, rule, evidence);
}

std::optional<FoundRule> computed_rule(const RuleSearch& search, const Computed& rule, double tried, bool given) {
  const Column& target = search.column(rule.target);
  const Arithmetic expression = parse_arithmetic(rule.expression, search.table, "a rule");
  const std::vector<int> of = columns_of(expression);
  if (!search.may_give(rule.target, of)) return {};
  if (!search.zeros.empty() && std::ranges::none_of(of, [&](int j) { return search.blank_is_0(j); })) return {};
  if (search.usual) return has_plain_numbers(expression) ? usual_rule(search, rule, tried) : std::nullopt;
  bool gaps = false;
  const auto holds = [&](int64_t row, int64_t other) {
    const double value = target.numbers[static_cast<size_t>(other)];
    const double computed = exact_value(expression, search.table, static_cast<size_t>(row), target);
    if (value == value && computed == computed) return same_number(value, computed, target, rule.rounded) ? 1 : 0;
    return search.of_missing(value != value, computed != computed, row == other, gaps);
  };
  FoundRule found;
  if (given && search.options.unread) {
    found.rule = make_rule(ComputedData{head_of(target), rule.expression});
    return found;
  }
  if (given) {
    const auto rows = search.kept_rows(holds);
    if (!rows) return {};
    found.evidence.rows = *rows;
  } else {
    const auto evidence = search.evidence_of(holds, tried);
    if (!evidence || !has_stable_numbers(search, expression, target, rule.rounded, [](int64_t) { return true; }))
      return {};
    found.evidence = *evidence;
  }
  for (const int j : of) {  // enough rows say what a missing cell counts as
    Held blank;
    if (!given && search.blank_is_0(j))
      search.holders.each([&](int64_t row, int64_t holder) {
        if (search.column(j).is_missing(row) && holds(row, row) > 0) blank.add(holder);
      });
    if (!given && search.blank_is_0(j) && blank.holders < search.holders.least(search.columns_at(of))) return {};
  }
  return by_construction(search, rule, found.evidence, gaps, given);
}

}  // namespace tessera
