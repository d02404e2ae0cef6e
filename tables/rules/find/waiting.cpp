#include "tables/rules/find/waiting.h"

#include "tables/rules/rule/columns.h"

namespace tessera {

const WaitingRules::Waiting* WaitingRules::find(const std::string& column) const {
  const auto at = std::ranges::find_if(rules_, [&](const Waiting& w) { return w.rule->column() == column; });
  return at == rules_.end() ? nullptr : &*at;
}

bool WaitingRules::follows_from(const std::string& column, const std::string& other) const {
  const Waiting* w = find(column);
  return w != nullptr && std::ranges::any_of(w->columns, [&](const std::string& of) {
           return of != column && (of == other || follows_from(of, other));
         });
}

bool WaitingRules::may_compute(const std::string& target, const std::vector<std::string>& of) const {
  return std::ranges::none_of(found_, [&](const FoundRule& f) { return f.rule->column() == target; }) &&
         std::ranges::none_of(of, [&](const std::string& name) { return follows_from(name, target); });
}

size_t WaitingRules::make_place(const std::string& target, const std::vector<std::string>& of) {
  const auto computes_input = [&](const FoundRule& f) {
    return find(f.rule->column()) != nullptr && has(of, f.rule->column());
  };
  const auto at = std::find_if(found_.begin(), found_.end(), computes_input);
  const auto reads = [&](const FoundRule& f) {
    const std::string& column = f.rule->column();
    return find(column) != nullptr ? follows_from(column, target) : has(f.rule->columns(table_), target);
  };
  return static_cast<size_t>(std::stable_partition(at, found_.end(), reads) - found_.begin());
}

bool WaitingRules::in_order_anyway(const RuleSearch& search, const std::vector<size_t>& row_of,
                                   const std::string& lower, const std::string& upper) const {
  constexpr int64_t kTries = 300;
  std::vector<std::string> needed{lower, upper};
  Table mixed;
  mixed.rows = std::min(kTries, std::ssize(search.testing));
  for (size_t k = 0; k < needed.size(); ++k) {
    const int at = place_of(table_, needed[k]);
    if (at < 0) return true;  // another kind of rule gives it: not tried
    if (const Waiting* w = find(needed[k])) {
      for (const std::string& name : w->columns)
        if (!has(needed, name)) needed.push_back(name);
      continue;
    }
    std::vector<int64_t> from;
    for (size_t i = 0; i < static_cast<size_t>(mixed.rows); ++i)
      from.push_back(search.testing[(i + 7 * row_of[static_cast<size_t>(at)]) % search.testing.size()]);
    mixed.columns.push_back(search.column(at).pick(from));
  }
  for (auto f = found_.rbegin(); f != found_.rend(); ++f) {
    const Waiting* w = find(f->rule->column());
    if (w != nullptr && w->rule == f->rule && has(needed, f->rule->column())) f->rule->restore(mixed);
  }
  const Column &low = column_of(mixed, lower), &up = column_of(mixed, upper);
  for (size_t i = 0; i < static_cast<size_t>(mixed.rows); ++i)
    if (in_unit_of(up, low, low.numbers[i]) > up.numbers[i]) return false;
  return true;
}

}  // namespace tessera
