// Columns that are the largest or the smallest of others in every row: best = greatest(first, second, third); or a line
// or a difference with ends: overtime = greatest(hours - 40, 0), paid = least(greatest(loss - excess, 0), limit).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tables/kinds/kind.h"
#include "tables/kinds/number_writer.h"
#include "tables/rules/find/factors.h"
#include "tables/rules/find/search.h"

namespace tessera {
namespace {

constexpr size_t kMaxExtremeColumns = 100;  // the work grows with their square
constexpr size_t kMaxCompared = 12, kMinExtremes = 5;
constexpr double kMinPartOfRows = 0.02;           // share of rows in which one column alone equals the target
constexpr size_t kMinAtColumn = 5, kMaxEnds = 3;  // proposing rows in which the target ends at a column; such columns
constexpr size_t kMinEnds = 3;                    // values of one

struct ProposedNumbers {
  int column;
  std::vector<double> x;  // of proposing rows
  size_t unit = 0;        // the same of comparable columns
  bool few = false;       // values: they are computed in other ways, but a deductible may have three
};

// The columns whose extreme is the target, those that equal it most often first; empty if some row has another value. A
// row in which a missing cell might be the extreme is ignored.
std::vector<int> columns_giving(const std::vector<const ProposedNumbers*>& bounds, const std::vector<double>& target) {
  std::vector<char> given(target.size());
  for (size_t i = 0; i < target.size(); ++i) given[i] = target[i] != target[i];
  std::vector<int> out;
  std::vector<char> taken(bounds.size()), unknown(target.size());
  while (std::find(given.begin(), given.end(), 0) != given.end() && out.size() < kMaxCompared) {
    size_t best = 0, most = 0;
    for (size_t k = 0; k < bounds.size(); ++k) {
      size_t gives = 0;
      for (size_t i = 0; i < target.size(); ++i) gives += given[i] == 0 && bounds[k]->x[i] == target[i];
      if (taken[k] == 0 && gives > most) best = k, most = gives;
    }
    if (static_cast<double>(most) < kMinPartOfRows * static_cast<double>(target.size())) break;
    for (size_t i = 0; i < target.size(); ++i) {
      const double x = bounds[best]->x[i];
      if (x == target[i]) given[i] = 1;
      else if (x != x) unknown[i] = 1;
    }
    taken[best] = 1, out.push_back(bounds[best]->column);
  }
  for (size_t i = 0; i < target.size(); ++i)
    if (given[i] == 0 && unknown[i] == 0) return {};
  std::sort(out.begin(), out.end());
  return out;
}

// Where a line ends: at a number, or at another column.
struct End {
  double number = kMissing;
  const ProposedNumbers* column = nullptr;

  double at(size_t i) const { return column != nullptr ? column->x[i] : number; }
  std::string text(const RuleSearch& search) const {
    return column != nullptr ? quoted_name(search.column(column->column).name) : fmt::format("{}", number);
  }
};

// The line that the target follows from another column where it is at neither of its ends.
std::optional<Line> line_between_ends(const RuleSearch& search, const ProposedNumbers& target,
                                      const ProposedNumbers& of, const End& low, const End& high) {
  const Column& c = search.column(target.column);
  std::vector<double> x, y;
  std::optional<double> difference;  // the same in all of these rows
  bool same = true;
  for (size_t i = 0; i < target.x.size(); ++i) {
    const double t = target.x[i];
    if (t != t || t == low.at(i) || t == high.at(i) || (of.x[i] != of.x[i] && search.gaps_may_be())) continue;
    const double here = rounded(t - of.x[i], digits_of(c));
    if (!difference) difference = here;
    same = same && here == *difference;
    x.push_back(of.x[i]), y.push_back(t);
  }
  if (!difference || static_cast<double>(x.size()) < kMinPartOfRows * static_cast<double>(target.x.size())) return {};
  if (same) return search.usual && *difference == 0 ? std::nullopt : std::optional(Line{1, *difference});
  return search.usual ? std::nullopt : line_through(x, y, half_unit(c));
}

std::pair<double, double> ends_of(const std::vector<double>& x) {
  double low = INFINITY, high = -INFINITY;
  for (const double v : x) low = std::fmin(low, v), high = std::fmax(high, v);
  return {low, high};
}
// Whether many rows hold the smallest or the largest number.
bool has_limits(const std::vector<double>& x) {
  const auto [low, high] = ends_of(x);
  const auto rows = static_cast<double>(std::max(std::ranges::count(x, low), std::ranges::count(x, high)));
  return rows >= kMinPartOfRows * static_cast<double>(x.size());
}

// A line over what `x` holds and `text` says, with the ends that some rows do not reach.
std::optional<FoundRule> clipped_line(const RuleSearch& search, const ProposedNumbers& target,
                                      const std::vector<double>& x, const std::string& text, const Line& line,
                                      const End& low, const End& high, double tried) {
  double below = 0, above = 0;  // rows
  const double reach = 1.1 * half_unit(search.column(target.column));
  for (size_t i = 0; i < target.x.size(); ++i) {
    const double t = target.x[i], on_line = line.factor * x[i] + line.constant;
    if (t == low.at(i) && on_line < t - reach) ++below;
    else if (t == high.at(i) && on_line > t + reach) ++above;
    else if (std::abs(on_line - t) > reach) return {};
  }
  // a number is to be the same without some rows; a column is there anyway
  const auto few = [&](double rows, const End& end) {
    return rows > 0 && rows < (end.column != nullptr ? static_cast<double>(kMinAtColumn)
                                                     : kMinPartOfRows * static_cast<double>(target.x.size()));
  };
  if (below + above == 0 || few(below, low) || few(above, high)) return {};
  std::string expression = line_text(line, text);
  if (below > 0) expression = fmt::format("greatest({}, {})", expression, low.text(search));
  if (above > 0) expression = fmt::format("least({}, {})", expression, high.text(search));
  return computed_rule(search, {target.column, std::move(expression)}, tried);
}

bool may_be_clipped(const RuleSearch& search, const ProposedNumbers& target) {
  const Column& c = search.column(target.column);
  return is_quantity(c) && digits_of(c) != kAllDigits;
}

// A line over another column that ends at the smallest or at the largest number of the target, or at both.
std::optional<FoundRule> clipped_column(const RuleSearch& search, const ProposedNumbers& target,
                                        const ProposedNumbers& of, const End& low, const End& high, double tried) {
  if (!is_quantity(search.column(of.column))) return {};
  const auto line = line_between_ends(search, target, of, low, high);
  if (!line || ((low.column != nullptr || high.column != nullptr) && line->constant != 0)) return {};
  return clipped_line(search, target, of.x, quoted_name(search.column(of.column).name), *line, low, high, tried);
}

// The columns that the target is never below, or never above, and equals in some rows, as ends; the most frequent ones.
// Where it equals them, they have several values: one value would be an end that is a number.
std::vector<End> ends_among(const std::vector<const ProposedNumbers*>& bounds, const std::vector<double>& target) {
  std::vector<std::pair<size_t, const ProposedNumbers*>> often;
  for (const ProposedNumbers* bound : bounds) {
    std::vector<double> equal;
    for (size_t i = 0; i < target.size(); ++i)
      if (bound->x[i] == target[i]) equal.push_back(target[i]);
    const size_t rows = equal.size();
    if (rows >= kMinAtColumn && rows < target.size() && distinct_of(std::move(equal)) >= kMinEnds)
      often.emplace_back(rows, bound);
  }
  std::ranges::stable_sort(often, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<End> out;
  for (const auto& [equal, bound] : often)
    if (out.size() < kMaxEnds) out.push_back({kMissing, bound});
  return out;
}

// Of a target that ends at columns, or is a difference that ends anywhere: least(greatest(loss - excess, 0), limit).
class BetweenEnds {
 public:
  BetweenEnds(const RuleSearch& search, const std::vector<ProposedNumbers>& all, const ProposedNumbers& target,
              const End& low, const End& high, double tried)
      : search_(search), all_(all), target_(target), low_(low), high_(high), tried_(tried) {
    std::vector<double> there;
    for (size_t i = 0; i < target.x.size(); ++i)
      if (const double t = target.x[i]; t == t && t != low.at(i) && t != high.at(i))
        free_.push_back(i), there.push_back(t);
    if (static_cast<double>(free_.size()) < kMinPartOfRows * static_cast<double>(target.x.size()) ||
        distinct_of(std::move(there)) < kMinExtremes)
      free_.clear();
  }

  std::optional<FoundRule> find() const {
    const bool at_column = low_.column != nullptr || high_.column != nullptr;
    for (const ProposedNumbers& of : all_) {
      if (!at_column || free_.empty() || !is_other(of) || of.unit != target_.unit || !is_multiple(of)) continue;
      if (auto found = clipped_column(search_, target_, of, low_, high_, tried_)) return found;
    }
    const Column& c = search_.column(target_.column);
    for (const ProposedNumbers& a : all_)
      for (const ProposedNumbers& b : all_) {
        if (&a == &b || a.unit != b.unit || &a == &target_ || &b == &target_ || !gives_free(a, b)) continue;
        const Column &first = search_.column(a.column), &second = search_.column(b.column);
        const bool days = is_day(first) && is_day(second) && !is_instant(c);
        if (!days && (a.unit != target_.unit || is_instant(c))) continue;
        std::vector<double> x;
        for (size_t i = 0; i < target_.x.size(); ++i) x.push_back(a.x[i] - b.x[i]);
        const std::string text = fmt::format("{} - {}", quoted_name(first.name), quoted_name(second.name));
        if (auto found = clipped_line(search_, target_, x, text, {1, 0}, low_, high_, tried_)) return found;
      }
    return {};
  }

 private:
  bool is_other(const ProposedNumbers& of) const {
    return &of != &target_ && &of != low_.column && &of != high_.column;
  }
  bool ignored(double x) const { return x != x && search_.gaps_may_be(); }
  // Whether some rows let the target be a multiple of the column.
  bool is_multiple(const ProposedNumbers& of) const {
    constexpr size_t kRows = 20;
    const double reach = 1.1 * half_unit(search_.column(target_.column));
    const size_t first = free_[0];
    for (size_t k = 1; k < std::min(free_.size(), kRows); ++k) {
      const double x = of.x[first], y = of.x[free_[k]], off = target_.x[first] * y - target_.x[free_[k]] * x;
      if (!ignored(x) && !ignored(y) && !(std::abs(off) <= reach * (std::abs(x) + std::abs(y)))) return false;
    }
    return true;
  }
  bool gives_free(const ProposedNumbers& a, const ProposedNumbers& b) const {
    const int digits = digits_of(search_.column(target_.column));
    size_t given = 0;
    for (const size_t i : free_) {
      const double x = a.x[i] - b.x[i];
      if (rounded(x, digits) == target_.x[i]) ++given;
      else if (!ignored(x)) return false;
    }
    return given > 0;
  }

  const RuleSearch& search_;
  const std::vector<ProposedNumbers>& all_;
  const ProposedNumbers& target_;
  const End &low_, &high_;
  double tried_;
  std::vector<size_t> free_;  // rows at no end
};

}  // namespace

std::optional<FoundRule> find_extremes(const RuleSearch& search) {
  std::vector<ProposedNumbers> all;
  for (const int j : search.usable_columns(kMaxExtremeColumns, is_ordered)) {
    all.push_back({j, numbers_in(search.column(j), search.proposing)});
    all.back().few = distinct_of(all.back().x) < kMinExtremes;
    while (!comparable(search.column(j), search.column(all[all.back().unit].column))) ++all.back().unit;
  }
  const auto many = std::ranges::count(all, false, &ProposedNumbers::few);
  const auto tried = static_cast<double>(2 * many * many);
  for (const ProposedNumbers& target : all) {
    if (target.few || !search.may_give(target.column, {})) continue;  // it has a rule
    const bool limits = has_limits(target.x);
    const bool clipped = may_be_clipped(search, target);
    const auto is_comparable = [&](const ProposedNumbers& other) {
      return &other != &target && other.unit == target.unit;
    };
    const auto [least, most] = ends_of(target.x);
    std::vector<End> lows{{least}}, highs{{most}};
    for (const ProposedNumbers& other : all)
      if (limits && clipped && !other.few && is_comparable(other))
        if (auto found = clipped_column(search, target, other, lows[0], highs[0], tried)) return found;
    for (const bool greatest : {true, false}) {
      std::vector<const ProposedNumbers*> bounds;
      for (const ProposedNumbers& other : all) {
        if (!is_comparable(other)) continue;
        bool bound = true;
        for (size_t i = 0; i < target.x.size() && bound; ++i) {
          const double t = target.x[i], x = other.x[i];
          bound = x != x ? t != t || search.gaps_may_be() : t != t || (greatest ? x <= t : x >= t);
        }
        if (bound) bounds.push_back(&other);
      }
      for (const End& end : ends_among(bounds, target.x)) (greatest ? lows : highs).push_back(end);
      std::erase_if(bounds, [](const ProposedNumbers* bound) { return bound->few; });
      const std::vector<int> of = columns_giving(bounds, target.x);
      if (of.size() < 2) continue;
      std::string expression;
      for (const int j : of) expression += (expression.empty() ? "" : ", ") + quoted_name(search.column(j).name);
      expression = fmt::format("{}({})", greatest ? "greatest" : "least", expression);
      if (auto found = computed_rule(search, {target.column, std::move(expression)}, tried)) return found;
    }
    const auto is_copied = [&](const ProposedNumbers& other) { return &other < &target && other.x == target.x; };
    if (!clipped || search.usual || std::ranges::any_of(all, is_copied)) continue;
    for (const End& low : lows)
      for (const End& high : highs) {
        if (low.column == nullptr && high.column == nullptr && !limits) continue;
        const double all_tried = tried * static_cast<double>(all.size());
        if (auto found = BetweenEnds(search, all, target, low, high, all_tried).find()) return found;
      }
  }
  return {};
}

}  // namespace tessera
