#include "tables/rules/find/given.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tables/kinds/kind.h"
#include "tables/notice.h"
#include "tables/rules/find/waiting.h"
#include "tables/rules/kinds/joint.h"
#include "tables/rules/kinds/key.h"
#include "tables/rules/rule/columns.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

[[noreturn]] void refuse_of_steps(const std::string& text) {
  throw Error(ErrorCode::usage,
              fmt::format("Rule \"{}\" does not compute a column or order two in every row, nor is it >= 0 of a "
                          "balance that adds up from step to step, and steps of sequences cannot be drawn again.\n"
                          "  Omit it.",
                          text));
}

bool is_floor(const WhereTerm& term) {
  return term.kind == WhereTerm::Kind::range && !term.negated && term.low == 0 && !term.low_open &&
         term.high == INFINITY;
}

bool some_row_meets(const Table& table, const Where& where) {
  std::vector<char> met;
  std::vector<int64_t> failed;
  match_where(where, table, met, failed);
  return std::find(met.begin(), met.end(), 1) != met.end();
}

}  // namespace

void GivenRules::give(const std::string& text, const RuleSearch& search) {
  if (options_.unread &&
      (!columns_in(text, kInFixedCombinations).empty() || !columns_in(text, kUniqueTogether).empty()))
    throw Error(ErrorCode::usage, fmt::format("Rule \"{}\" would be read from the rows, without the noise of "
                                              "`epsilon`.\n  Omit it.",
                                              text));
  if (const std::vector<std::string> columns = columns_in(text, kInFixedCombinations); !columns.empty()) {
    if (std::ranges::all_of(columns, [&](const std::string& name) { return has(options_.statics, name); }))
      return once_.push_back(text);
    combinations_.emplace_back(text, columns);
    return;
  }
  if (const std::vector<std::string> columns = columns_in(text, kUniqueTogether); !columns.empty()) {
    keys_.emplace_back(text, columns);
    return;
  }
  const Where where = parse_where(text, table_, "Rule");
  if (where.empty()) throw Error(ErrorCode::usage, "A rule is empty. Write one such as: end >= start");
  if (where.terms.size() > 1)
    throw Error(ErrorCode::usage,
                fmt::format("Rule \"{}\" is {} rules; give each by a `rule` of its own.", text, where.terms.size()));
  const WhereTerm& term = where.terms.front();
  std::vector<int> of_steps = columns_of(term);
  std::erase_if(of_steps, [&](int j) { return has(options_.statics, table_.columns[static_cast<size_t>(j)].name); });
  if (of_steps.empty() && !options_.statics.empty()) return once_.push_back(text);
  check_not_excluded(of_steps, true);
  if (computes(term, search)) return;
  check_not_excluded(columns_of(term), true);
  if (orders(term)) return;
  if (!options_.unread && table_.rows > 0 && !some_row_meets(table_, where))
    throw Error(ErrorCode::usage, fmt::format("Rule \"{}\" holds in no row of the table, so no sampled row would "
                                              "keep it.\n  Correct it; tessera inspect shows what the columns hold.",
                                              text));
  report_broken(term);
  if (options_.by_rejection || !is_floor(term)) return check(term.text);
  floors_.emplace_back(term.text, quoted_name(table_.columns[static_cast<size_t>(term.column)].name) + " >= 0");
}

void GivenRules::report_broken(const WhereTerm& term) const {
  if (options_.unread) return;
  std::vector<char> breaks;
  std::vector<int64_t> failed;
  match_where(parse_where("not (" + term.text + ")", table_, "Rule"), table_, breaks, failed);
  const auto rows = std::ranges::count(breaks, 1);
  if (rows > 0)
    notice(monitor_,
           fmt::format("Rule \"{}\": {:.1f} % of the table's rows ({} of {}) break it. No sampled row will.", term.text,
                       100 * static_cast<double>(rows) / static_cast<double>(table_.rows), rows, table_.rows));
}

void GivenRules::check_floors() const {
  for (const auto& given : floors_)
    if (std::ranges::none_of(found_, [&](const FoundRule& f) { return f.rule->text() == given.second; }))
      refuse_of_steps(given.first);
}

void GivenRules::check(const std::string& text) {
  if (!options_.by_rejection) refuse_of_steps(text);
  checked_.push_back(text);
}

FoundRule GivenRules::key(size_t k, const RuleSearch& search) const {
  const auto& [text, columns] = keys_[k];
  if (!options_.by_rejection || of_keys_)
    throw Error(ErrorCode::usage, fmt::format("Rule {}: pairs are unique in tables of rows, not in sequences.\n"
                                              "  Omit it.",
                                              text));
  if (columns.size() != 2)
    throw Error(ErrorCode::usage, fmt::format("Rule {}: a key is of two columns.\n  Name the column of groups, then "
                                              "the one that numbers or names rows within a group.",
                                              text));
  std::vector<int> places;
  for (const std::string& name : columns) places.push_back(parse_column(quoted_name(name), table_, "a key"));
  check_not_excluded(places);
  return key_rule(search, places[0], places[1]);
}

std::optional<FoundRule> GivenRules::combination(size_t k, const RuleSearch& search) const {
  const auto& [text, columns] = combinations_[k];
  std::vector<int> places;
  for (const std::string& name : columns) {
    const int j = parse_column(quoted_name(name), table_, "Rule");
    const ColumnKind& kind = kind_of(table_.columns[static_cast<size_t>(j)]);
    if (kind.regenerated)
      throw Error(ErrorCode::usage, fmt::format("Rule \"{}\": column \"{}\" is an identifier, whose values are "
                                                "made up.\n  Omit it, or give it another type by `types`.",
                                                text, name));
    if (kind.varies) places.push_back(j);
  }
  check_not_excluded(places);
  if (places.size() < 2) return {};
  std::optional<FoundRule> found = joint_rule(search, places);
  if (!found)
    throw Error(
        ErrorCode::usage,
        fmt::format("Rule \"{}\": the table has more than 1,000 combinations, or more than 2 % of its rows "
                    "have one that fewer than {} {} share, which a model may not hold.\n  Omit the rule, or name "
                    "fewer columns.",
                    text, search.holders.least(search.columns_at(places)), options_.key.empty() ? "rows" : "keys"));
  return found;
}

void GivenRules::check_not_excluded(const std::vector<int>& columns, bool beside_index) const {
  for (const int j : columns) {
    const std::string& name = table_.columns[static_cast<size_t>(j)].name;
    if (beside_index && name == options_.index) continue;
    if (has(options_.excluded, name))
      throw Error(ErrorCode::usage, fmt::format("Rule: column \"{}\" is the key, the index or static: a rule of "
                                                "sequences may compute other columns from static ones, and is "
                                                "else of static columns alone, or of columns of steps.\n  Omit it.",
                                                name));
  }
}

bool GivenRules::computes(const WhereTerm& term, const RuleSearch& search) {
  if (term.kind != WhereTerm::Kind::compare || term.relation != WhereTerm::Relation::equal || term.negated)
    return false;
  for (const bool left : {true, false}) {
    const Arithmetic &target = left ? term.left : term.right, &other = left ? term.right : term.left;
    const std::vector<int> of = columns_of(other);
    if (!target.is_column() || target.column == search.index() || has(of, target.column)) continue;
    if (has(options_.statics, table_.columns[static_cast<size_t>(target.column)].name)) continue;
    auto found = computed_rule(search, {target.column, left ? term.right_text : term.left_text}, 1, true);
    if (!found) continue;
    if (place_in_order(std::move(*found), target.column, of)) return true;
    if (!options_.by_rejection)
      throw Error(ErrorCode::usage,
                  fmt::format("Rule \"{}\": other given rules compute its column already, or from its column those "
                              "that it names, and steps of sequences cannot be drawn again.\n  Omit one of them.",
                              term.text));
  }
  return false;
}

bool GivenRules::place_in_order(FoundRule found, int target, const std::vector<int>& of) {
  auto& rules = found_;
  size_t at = 0, after = 0;
  for (; at < rules.size() && !has(of, computed_[at].target); ++at) {}
  for (size_t k = 0; k < rules.size(); ++k) {
    if (computed_[k].target == target) return false;
    if (std::find(computed_[k].of.begin(), computed_[k].of.end(), target) != computed_[k].of.end()) after = k + 1;
  }
  if (after > at) return false;
  if (!found.check.empty()) checked_.push_back(found.check);
  rules.insert(rules.begin() + static_cast<std::ptrdiff_t>(at), std::move(found));
  computed_.insert(computed_.begin() + static_cast<std::ptrdiff_t>(at), {target, of});
  return true;
}

bool GivenRules::orders(const WhereTerm& term) {
  using Relation = WhereTerm::Relation;
  if (term.kind != WhereTerm::Kind::compare || term.negated || !term.left.is_column() || !term.right.is_column())
    return false;
  // Of rows, a > b is by rejection.
  const bool strict = !options_.by_rejection && (term.relation == Relation::greater || term.relation == Relation::less);
  const bool above = term.relation == Relation::greater_equal || (strict && term.relation == Relation::greater),
             below = term.relation == Relation::less_equal || (strict && term.relation == Relation::less);
  const Column& left = table_.columns[static_cast<size_t>(term.left.column)];
  const Column& right = table_.columns[static_cast<size_t>(term.right.column)];
  if ((!above && !below) || !have_order(left, right) || options_.unread) return false;
  const Column &lower = above ? right : left, &upper = above ? left : right;
  if (strict && (digits_of(lower) == kAllDigits || digits_of(upper) == kAllDigits)) return false;
  const bool gaps = options_.by_rejection || upper.name == options_.index;
  for (size_t i = 0; i < lower.numbers.size(); ++i) {
    const double low = in_unit_of(upper, lower, lower.numbers[i]), up = upper.numbers[i];
    if (up == up && !(gaps && low != low) && !(strict ? low < up : low <= up)) return false;
  }
  orders_.push_back({lower.name, upper.name, term.text, strict});
  return true;
}

std::vector<GivenBound> GivenRules::bounds() {
  std::vector<GivenBound> out;
  for (const auto& [lower, upper, text, strict] : orders_) {
    const int a = place_of(table_, lower), b = place_of(table_, upper);
    if (a >= 0 && b >= 0) {
      out.push_back({a, b, strict});
      continue;
    }
    const std::string& missing = a < 0 ? lower : upper;
    const auto computes = [&](const FoundRule& f) { return f.rule->column() == missing; };
    const auto by = std::ranges::find_if(found_, computes);
    if (!options_.by_rejection && by != found_.end())
      throw Error(ErrorCode::usage,
                  fmt::format("Rule \"{}\": its column \"{}\" is computed by another rule, {}, and steps of sequences "
                              "cannot be drawn again.\n  Omit it, or turn the search for rules off with `rules=off`.",
                              text, by->rule->column(), by->rule->text()));
    check(text);
  }
  return out;
}

}  // namespace tessera
