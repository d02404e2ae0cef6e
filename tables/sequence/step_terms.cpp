#include "tables/sequence/step_terms.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tables/kinds/kind.h"
#include "tables/sequence/step_code.h"

namespace tessera {
namespace {

using Code = StepCoding::Code;
using Form = Code::Form;
using Term = StepCoding::Term;

constexpr size_t kMaxTerms = 8, kMaxTermColumns = 64, kMaxTermTexts = 12;
constexpr double kTermGain = 0.01;  // nats by which all terms together must be better
constexpr double kMaxFactor = 2;    // standard deviations of the column: else terms cancel each other
constexpr double kGrows = 1.5;      // ratio of residuals above and below the median prediction
constexpr double kAtom = 0.05;      // share of rows with one value, which terms would smear

bool has_atom(std::vector<double> x) {
  std::erase_if(x, [](double v) { return v != v; });
  std::sort(x.begin(), x.end());
  const auto share = static_cast<std::ptrdiff_t>(kAtom * static_cast<double>(x.size())) + 1;
  for (auto i = x.begin(); x.end() - i > share; ++i)
    if (i[share] == *i) return true;
  return x.empty();
}

class TermSearch {
 public:
  explicit TermSearch(const StepSurvey& survey) : survey_(survey) {}

  // ln of the spread that `c` leaves, with the terms that it gets if they leave less than that and less than `bound`.
  double with_terms(size_t j, bool first, Code& c, double bound) const;

 private:
  struct Candidate {
    Term term;
    double units = 0;              // rows, or keys, as evidence that the term helps
    double mean = 0, squares = 0;  // before and after it is subtracted
    std::vector<double> values{};  // centered
  };

  static double dot(const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  }
  static std::vector<double> centered(std::vector<double> x) {
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
    for (double& v : x) v -= mean;
    return x;
  }
  // Mean and deviation of what is not missing, as a model file may hold them.
  static void measure(const std::vector<double>& x, Term& t) {
    double n = 0, sum = 0, squares = 0;
    for (const double v : x)
      if (v == v) ++n, sum += v;
    const double mean = n > 0 ? sum / n : 0;
    for (const double v : x)
      if (v == v) squares += (v - mean) * (v - mean);
    t.scale = n > 1 && squares > 0 ? few_digits(std::sqrt(squares / n)) : 1;
    t.center = t.scale * std::round(100 * mean / t.scale) / 100;
  }

  std::vector<Candidate> candidates_of(size_t j, bool first, const std::vector<size_t>& rows) const {
    std::vector<Candidate> out;
    const auto add = [&](Term term, double units, auto&& value) {
      if (out.size() >= 2 * kMaxTermColumns) return;
      std::vector<double> x;
      for (const size_t row : rows) x.push_back(value(row));
      if (term.text.empty()) {
        measure(x, term);
        for (double& v : x) v = standardized(term, v);
      }
      Candidate c{std::move(term), units};
      c.mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
      c.values = centered(std::move(x)), c.squares = dot(c.values, c.values);
      out.push_back(std::move(c));
    };
    const double units = static_cast<double>(rows.size());
    for (size_t k = 0; k < std::min(survey_.usable.size(), kMaxTermColumns); ++k) {
      if (!survey_.usable[k] || is_instant(survey_.steps.columns[k].type)) continue;
      if (!first)
        add({Term::Of::before, static_cast<int>(k)}, units, [&](size_t row) { return survey_.last(k, row - 1); });
      if (k < j) add({Term::Of::here, static_cast<int>(k)}, units, [&](size_t row) { return survey_.at(k, row); });
    }
    const double keys = static_cast<double>(std::min(survey_.begins.size(), rows.size()));
    if (keys < static_cast<double>(kMinPairs)) return out;
    for (size_t k = 0; k < survey_.statics.statics.columns.size(); ++k) {
      const Column& c = survey_.statics.statics.columns[k];
      const auto of = [&](size_t row) { return static_cast<size_t>(survey_.statics.row[row]); };
      if (is_quantity(c.type))
        add({Term::Of::statics, static_cast<int>(k)}, keys, [&](size_t row) { return c.numbers[of(row)]; });
      if (!c.numbers.empty() || !kind_of(c).varies || kind_of(c).regenerated) continue;
      std::map<int32_t, int64_t> holders;
      for (const size_t row : survey_.begins) ++holders[c.codes[of(row)]];
      size_t texts = 0;
      for (const auto& [code, count] : holders)
        if (code >= 0 && count >= kMinPairs / 2 && ++texts <= kMaxTermTexts)
          add({Term::Of::statics, static_cast<int>(k), c.values[static_cast<size_t>(code)]}, keys,
              [&, level = code](size_t row) { return c.codes[of(row)] == level ? 1.0 : 0.0; });
    }
    return out;
  }

  // Whether residuals grow or shrink with the prediction: then it is no sum, and terms would give small values the
  // spread of large ones.
  static bool grows(const std::vector<double>& target, const std::vector<double>& rest) {
    std::vector<double> predicted = centered(target);
    for (size_t i = 0; i < rest.size(); ++i) predicted[i] -= rest[i];
    std::vector<double> sorted = predicted;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    double above = 0, below = 0, n_above = 0, n_below = 0;
    for (size_t i = 0; i < rest.size(); ++i)
      if (predicted[i] > *middle) above += std::fabs(rest[i]), ++n_above;
      else below += std::fabs(rest[i]), ++n_below;
    if (n_above == 0 || n_below == 0) return false;
    above /= n_above, below /= n_below;
    return above > kGrows * below || below > kGrows * above;
  }

  // Factors of the taken candidates: normal equations, by elimination, with a ridge.
  static std::vector<double> least_squares(const std::vector<Candidate>& all, const std::vector<size_t>& taken,
                                           const std::vector<double>& target) {
    const size_t n = taken.size();
    std::vector<std::vector<double>> a(n, std::vector<double>(n + 1));
    for (size_t i = 0; i < n; ++i) {
      const std::vector<double>& x = all[taken[i]].values;
      for (size_t k = 0; k < n; ++k) a[i][k] = dot(x, all[taken[k]].values);
      a[i][i] *= 1 + 1e-6, a[i][n] = dot(x, target);
    }
    for (size_t i = 0; i < n; ++i)
      for (size_t k = 0; k < n; ++k) {
        if (k == i) continue;
        const double share = a[k][i] / a[i][i];
        for (size_t c = i; c <= n; ++c) a[k][c] -= share * a[i][c];
      }
    std::vector<double> out;
    for (size_t i = 0; i < n; ++i) out.push_back(a[i][n] / a[i][i]);
    return out;
  }

  const StepSurvey& survey_;
};

double TermSearch::with_terms(size_t j, bool first, Code& c, double bound) const {
  const bool begins = first && survey_.begins.size() >= static_cast<size_t>(kMinPairs);
  const std::vector<size_t>& rows = begins ? survey_.begins : survey_.rows;
  std::vector<size_t> used;
  std::vector<double> left;
  for (const size_t row : rows) {
    const double base = c.base < 0 ? 0 : survey_.at(static_cast<size_t>(c.base), c.before ? row - 1 : row);
    const double code = reduced(c, survey_.at(j, row), base, 0);
    if (code == code) used.push_back(row), left.push_back(code);
  }
  if (left.empty()) return INFINITY;
  const double n = static_cast<double>(used.size()), before = log_spread(left);
  if (static_cast<int64_t>(used.size()) < kMinPairs || (first && !begins && survey_.begins.size() > 1) ||
      has_few_values(survey_.steps.columns[j]) || has_atom(left))
    return before;
  std::vector<Candidate> candidates = candidates_of(j, first, used);
  Term own;
  measure(left, own);
  for (double& v : left)
    v = std::clamp(v, own.center - 2 * kTermBound * own.scale, own.center + 2 * kTermBound * own.scale);
  std::vector<size_t> taken;
  std::vector<double> factors, rest = centered(left);
  double squares = dot(rest, rest);
  while (taken.size() < kMaxTerms && squares > 0) {
    size_t best = candidates.size();
    double most = 0;
    for (size_t k = 0; k < candidates.size(); ++k) {
      const double along = dot(candidates[k].values, rest);
      const double gain = candidates[k].squares > 0 ? along * along / candidates[k].squares : 0;
      if (gain > most && std::find(taken.begin(), taken.end(), k) == taken.end()) best = k, most = gain;
    }
    if (best == candidates.size()) break;
    taken.push_back(best);
    std::vector<double> next_factors = least_squares(candidates, taken, left), next_rest = centered(left);
    for (size_t t = 0; t < taken.size(); ++t)
      for (size_t i = 0; i < next_rest.size(); ++i) next_rest[i] -= next_factors[t] * candidates[taken[t]].values[i];
    const double fewer = dot(next_rest, next_rest);
    const bool cancel = std::any_of(next_factors.begin(), next_factors.end(),
                                    [&](double f) { return std::fabs(f) > kMaxFactor * own.scale; });
    // by the Bayesian criterion, for the best of all candidates
    const double cost = std::log(candidates[best].units) + 2 * std::log(static_cast<double>(candidates.size()));
    if (cancel || fewer <= 0 || candidates[best].units * std::log(squares / fewer) < cost) {
      taken.pop_back();
      if (fewer > 0) break;
      return before;
    }
    factors = std::move(next_factors), rest = std::move(next_rest), squares = fewer;
  }
  if (taken.empty() || grows(left, rest)) return before;
  const double after = log_spread(rest);
  if (after > std::min(before, bound) - kTermGain) return before;
  double shift = std::accumulate(left.begin(), left.end(), 0.0) / n;
  for (size_t t = 0; t < taken.size(); ++t) {
    Term& term = candidates[taken[t]].term;
    term.factor = few_digits(factors[t]);
    shift -= term.factor * candidates[taken[t]].mean;
    c.terms.push_back(std::move(term));
  }
  c.shift = few_digits(shift);
  return after;
}

}  // namespace

void add_terms(const StepSurvey& survey, size_t j, bool first, Code& c) {
  if (c.form != Form::level && c.form != Form::difference) return;
  if (first && c.form == Form::level && survey.begins_on_values(j)) return;
  const TermSearch search(survey);
  if (c.form == Form::difference && survey.has_spike(j, c)) return;
  const double plain = search.with_terms(j, first, c, INFINITY);
  if (c.form == Form::level || !c.terms.empty()) return;
  if (Code level; search.with_terms(j, first, level, plain) < plain && !level.terms.empty()) c = std::move(level);
}

}  // namespace tessera
