#include "tables/sequence/base_search.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tables/kinds/kind.h"
#include "tables/sequence/step_code.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

using Code = StepCoding::Code;
using Form = Code::Form;

constexpr double kGain = 0.05;       // nats by which another base must be better
constexpr int kHorizon = 12;         // steps over which a column that reverts has come back
constexpr int kShortestHorizon = 4;  // below, a column without memory looks like one that reverts
constexpr double kReverts = 0.3;     // variance over the horizon, relative to a random walk with the same steps
constexpr double kOnLines = 0.2;     // share of the steps after a move that repeat it
constexpr size_t kMinMoves = 32;     // different ones: a column with fewer repeats them by chance

}  // namespace

struct BaseSearch::Best {
  Code code;
  double score;
  void take(const Code& c, double s) {
    if (s < score - kGain) code = c, score = s;
  }
};

std::pair<Code, Code> BaseSearch::of(size_t j) {
  Best best{{}, spread_of(j, {})};
  spread_[j] = best.score;
  if (!survey_.serves[j]) return {};  // few values, or missing ones
  const auto in_step = [&](Best& b) {
    for (int k = 0; k < static_cast<int>(j); ++k)
      if (survey_.serves[static_cast<size_t>(k)]) try_both(j, k, false, b);
    for (const auto& [low, high] : brackets(j)) b.take({Form::between, low, high, false}, bracket(j, low, high));
  };
  Best first = best;
  in_step(first);
  const bool tied = first.code.form == Form::between || std::isinf(first.score);  // in order, or equal
  if (!tied && survey_.begins_on_values(j)) first.code = {};
  if (!reverts(j)) {
    try_both(j, static_cast<int>(j), true, best);
    in_step(best);
    for (int k = 0; k < static_cast<int>(survey_.usable.size()); ++k)
      if (survey_.serves[static_cast<size_t>(k)] && k != static_cast<int>(j)) try_both(j, k, true, best);
  } else {
    in_step(best);
  }
  spread_[j] = best.score;
  return {first.code, best.code};
}

std::vector<std::pair<int, int>> BaseSearch::orders() const {
  std::vector<std::pair<int, int>> out;
  for (size_t a = 0; a < survey_.usable.size(); ++a)
    for (size_t b = 0; b < survey_.usable.size(); ++b) {
      if (a == b || !survey_.present[a] || !survey_.present[b] || !survey_.never_above(a, b)) continue;
      double nearest = INFINITY;
      for (size_t row = 0; row < survey_.key.size(); ++row)
        nearest = std::min(nearest, survey_.at(b, row) - survey_.at(a, row));
      const double spread = std::exp(std::max(spread_.at(a), spread_.at(b)));
      if (nearest <= 2 * spread && !(survey_.never_above(b, a)))
        out.emplace_back(static_cast<int>(a), static_cast<int>(b));
    }
  return out;
}

double BaseSearch::spread_of(size_t j, const Code& c) const {
  std::vector<double> codes;
  codes.reserve(survey_.rows.size());
  double scale = 0;
  for (const size_t row : survey_.rows) {
    const double base = c.form == Form::level ? 0 : survey_.at(static_cast<size_t>(c.base), c.before ? row - 1 : row);
    codes.push_back(reduced(c, survey_.at(j, row), base, 0));
    if (c.form == Form::ratio) scale += std::log(base);
  }
  return log_spread(std::move(codes)) + scale / static_cast<double>(survey_.rows.size());
}

void BaseSearch::try_both(size_t j, int base, bool before, Best& best) const {
  const Column &x = survey_.steps.columns[j], &b = survey_.steps.columns[static_cast<size_t>(base)];
  if (is_instant(x.type) != is_instant(b.type)) return;
  const Code difference{Form::difference, base, -1, before};
  best.take(difference, spread_of(j, difference));
  if (is_instant(x.type) || survey_.lowest[static_cast<size_t>(base)] <= 0) return;
  const Code ratio{Form::ratio, base, -1, before};
  best.take(ratio, spread_of(j, ratio));
}

double BaseSearch::unit(size_t j) const { return std::pow(10.0, -decimals_of(survey_.steps.columns[j])); }

double BaseSearch::bracket(size_t j, int low, int high) const {
  std::vector<double> codes;
  double scale = 0;
  for (const size_t row : survey_.rows) {
    const double base = survey_.at(static_cast<size_t>(low), row), upper = survey_.at(static_cast<size_t>(high), row);
    codes.push_back(reduced({Form::between, low, high, false}, survey_.at(j, row), base, upper));
    scale += std::log(std::max(upper - base, unit(j)));
  }
  return log_spread(std::move(codes)) + scale / static_cast<double>(survey_.rows.size());
}

std::vector<std::pair<int, int>> BaseSearch::brackets(size_t j) const {
  std::vector<int> below, above;
  for (size_t k = 0; k < j; ++k) {
    if (!survey_.serves[k] || decimals_of(survey_.steps.columns[k]) > decimals_of(survey_.steps.columns[j])) continue;
    if (survey_.never_above(k, j)) below.push_back(static_cast<int>(k));
    if (survey_.never_above(j, k)) above.push_back(static_cast<int>(k));
  }
  std::vector<std::pair<int, int>> out;
  for (const int low : below)
    for (const int high : above)
      if (low != high) out.emplace_back(low, high);
  return out;
}

double BaseSearch::variance_over(size_t j, int steps, int64_t& pairs) const {
  double sum = 0, squares = 0;
  pairs = 0;
  const auto lag = static_cast<size_t>(steps);
  for (size_t row = lag; row < survey_.key.size(); ++row) {
    if (survey_.key[row] != survey_.key[row - lag]) continue;
    const double d = survey_.at(j, row) - survey_.at(j, row - lag);
    sum += d, squares += d * d, ++pairs;
  }
  const auto n = static_cast<double>(std::max<int64_t>(pairs, 1));
  return squares / n - sum / n * (sum / n);
}

bool BaseSearch::reverts(size_t j) const {
  for (int horizon = kHorizon; horizon >= kShortestHorizon; --horizon) {
    int64_t pairs = 0;
    const double far = variance_over(j, horizon, pairs);
    if (pairs < kMinPairs) continue;
    return far < kReverts * horizon * variance_over(j, 1, pairs);
  }
  return false;
}

bool lies_on_lines(const StepSurvey& survey, size_t j) {
  int64_t moved = 0, on_line = 0;
  std::set<double> moves;
  for (const size_t row : survey.rows) {
    if (row < 2 || survey.key[row - 2] != survey.key[row]) continue;
    const double last = survey.at(j, row - 1), move = last - survey.at(j, row - 2);
    if (std::fabs(move) <= 1e-9 * std::fabs(last)) continue;
    ++moved, on_line += continues_line(last, move, survey.at(j, row)) ? 1 : 0;
    if (moves.size() <= kMinMoves) moves.insert(few_digits(move));
  }
  return moved >= kMinPairs && moves.size() > kMinMoves &&
         static_cast<double>(on_line) > kOnLines * static_cast<double>(moved);
}

}  // namespace tessera
