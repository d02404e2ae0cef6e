#include "tables/sequence/step_coding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>
#include <unordered_set>

#include "base/text/json_fields.h"
#include "tables/kinds/kind.h"
#include "tables/protection/protected_numbers.h"
#include "tables/sequence/sequences.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

using Code = StepCoding::Code;
using Form = Code::Form;

constexpr int64_t kMinPairs = 50;    // with a step before, to choose codes from
constexpr size_t kSurveyed = 4096;   // rows
constexpr size_t kFewValues = 32;    // of a column that is learned value by value
constexpr double kGain = 0.05;       // nats by which another base must be better
constexpr int kHorizon = 12;         // steps over which a column that reverts has come back
constexpr int kShortestHorizon = 4;  // below, a column without memory looks like one that reverts
constexpr double kReverts = 0.3;     // variance over the horizon, relative to that of as many independent steps
constexpr int kDigitsOfRatio = 9;    // significant ones
constexpr size_t kMaxTerms = 8, kMaxTermColumns = 64, kMaxTermTexts = 12;
constexpr double kTermGain = 0.01;  // nats by which all terms together must be better
constexpr double kBound = 3;        // of a standardized value in a term: no row has much weight
constexpr double kMaxFactor = 2;    // standard deviations of the column: else terms cancel each other
constexpr double kGrows = 1.5;      // ratio of what is left above and below the median prediction
constexpr double kAtom = 0.05;      // share of rows with one value, which terms would smear
constexpr int kDigitsOfTerm = 4;    // significant ones
constexpr const char* kTermsOf[] = {"before", "here", "statics"};
constexpr const char* kForms[] = {"level", "difference", "ratio", "between"};

using Term = StepCoding::Term;

double few_digits(double x) { return std::stod(fmt::format("{:.{}e}", x, kDigitsOfTerm - 1)); }

// A term's value before its factor; 0: missing.
double standardized(const Term& t, double x) {
  return x == x ? std::clamp((x - t.center) / t.scale, -kBound, kBound) : 0;
}
double standardized(const Term& t, const Table& statics, int64_t row) {
  const Column& c = statics.columns[static_cast<size_t>(t.column)];
  const auto at = static_cast<size_t>(row);
  if (t.text.empty()) return standardized(t, c.numbers[at]);
  return c.codes[at] >= 0 && c.values[static_cast<size_t>(c.codes[at])] == t.text ? 1 : 0;
}

double combine(const Code& c, double code, double base, double upper) {
  switch (c.form) {
    case Form::difference: return base + (code == code ? code : 0);
    case Form::ratio: return base * (code == code ? code : 1);
    case Form::between: return base + (code == code ? code : 0.5) * (upper - base);
    default: return code;
  }
}

double reduced(const Code& c, double x, double base, double upper) {
  switch (c.form) {
    case Form::difference: return x - base;
    case Form::ratio: return x / base;
    case Form::between: return upper > base ? (x - base) / (upper - base) : 0.5;
    default: return x;
  }
}

double neutral(const Code& c) { return c.form == Form::ratio ? 1 : c.form == Form::between ? 0.5 : 0; }

// ln of the mean distance from the median; −∞ if all are equal.
double log_spread(std::vector<double> x) {
  std::erase_if(x, [](double v) { return v != v; });
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::nth_element(x.begin(), middle, x.end());
  const double median = *middle;
  double sum = 0;
  for (const double v : x) sum += std::fabs(v - median);
  return std::log(sum / static_cast<double>(x.size()));
}

bool has_few_values(const Column& c) {
  std::unordered_set<double> values;
  for (const double x : c.numbers)
    if (values.insert(x).second && values.size() > kFewValues) return false;
  return true;
}

bool has_any_missing(const Column& c) {
  return std::any_of(c.numbers.begin(), c.numbers.end(), [](double x) { return x != x; });
}

bool has_atom(std::vector<double> x) {
  std::erase_if(x, [](double v) { return v != v; });
  std::sort(x.begin(), x.end());
  const auto share = static_cast<std::ptrdiff_t>(kAtom * static_cast<double>(x.size())) + 1;
  for (auto i = x.begin(); x.end() - i > share; ++i)
    if (i[share] == *i) return true;
  return x.empty();
}

class CodeSearch {
 public:
  CodeSearch(const Table& steps, const std::vector<int32_t>& key, const std::vector<std::string>& uncoded,
             const StaticsOfSteps& statics)
      : steps_(steps),
        statics_(statics),
        key_(key),
        usable_(steps.columns.size(), 0),
        present_(usable_),
        serves_(usable_),
        lowest_(steps.columns.size(), 0) {
    std::vector<int32_t> rows;
    for (size_t row = 1; row < key.size(); ++row)
      if (key[row] == key[row - 1]) rows.push_back(static_cast<int32_t>(row));
    const size_t stride = std::max<size_t>(1, rows.size() / kSurveyed);
    for (size_t i = 0; i < rows.size(); i += stride) rows_.push_back(static_cast<size_t>(rows[i]));
    if (static_cast<int64_t>(rows_.size()) < kMinPairs) return;
    for (size_t row = 0; row < key.size(); ++row)
      if (row == 0 || key[row] != key[row - 1]) begins_.push_back(row);
    for (size_t j = 0; j < usable_.size(); ++j) {
      const Column& c = steps.columns[j];
      const bool missing = has_any_missing(c), few = has_few_values(c);
      usable_[j] = !c.numbers.empty() && c.codes.empty() && c.format != "%g" && !(missing && few) &&
                   std::find(uncoded.begin(), uncoded.end(), c.name) == uncoded.end();
      present_[j] = usable_[j] && !missing;
      serves_[j] = present_[j] && !few;
      if (present_[j]) lowest_[j] = *std::min_element(c.numbers.begin(), c.numbers.end());
    }
    carry();
  }

  bool usable(size_t j) const { return usable_[j] != 0; }

  // The best code within the step, and the best of all.
  std::pair<Code, Code> of(size_t j) {
    Best best{{}, spread_of(j, {})};
    spread_[j] = best.score;
    if (!serves_[j]) return {};  // few values, or missing ones
    const auto in_step = [&](Best& b) {
      for (int k = 0; k < static_cast<int>(j); ++k)
        if (serves_[static_cast<size_t>(k)]) try_both(j, k, false, b);
      for (const auto& [low, high] : brackets(j)) b.take({Form::between, low, high, false}, bracket(j, low, high));
    };
    Best first = best;
    in_step(first);
    if (!reverts(j)) {
      try_both(j, static_cast<int>(j), true, best);
      in_step(best);
      for (int k = 0; k < static_cast<int>(usable_.size()); ++k)
        if (serves_[static_cast<size_t>(k)] && k != static_cast<int>(j)) try_both(j, k, true, best);
    } else {
      in_step(best);
    }
    spread_[j] = best.score;
    return {first.code, best.code};
  }

  // Adds the terms that leave less of a level or difference; of a difference with few values, which terms would smear,
  // those of the level. `first`: of first steps, which windows have anywhere.
  void add_terms(size_t j, bool first, Code& c) const {
    if (c.form != Form::level && c.form != Form::difference) return;
    const double plain = with_terms(j, first, c, INFINITY);
    if (c.form == Form::level || !c.terms.empty()) return;
    if (Code level; with_terms(j, first, level, plain) < plain && !level.terms.empty()) c = std::move(level);
  }

  // The values that terms of the step before see: missing ones repeat the last of their key.
  double last(size_t j, size_t row) const { return carried_[j].empty() ? at(j, row) : carried_[j][row]; }

  // Pairs of which the first is never above the second, and comes as close as a step's own spread.
  std::vector<std::pair<int, int>> orders() const {
    std::vector<std::pair<int, int>> out;
    for (size_t a = 0; a < usable_.size(); ++a)
      for (size_t b = 0; b < usable_.size(); ++b) {
        if (a == b || !present_[a] || !present_[b] || !never_above(a, b)) continue;
        double nearest = INFINITY;
        for (size_t row = 0; row < key_.size(); ++row) nearest = std::min(nearest, at(b, row) - at(a, row));
        const double spread = std::exp(std::max(spread_.at(a), spread_.at(b)));
        if (nearest <= 2 * spread && !(never_above(b, a))) out.emplace_back(static_cast<int>(a), static_cast<int>(b));
      }
    return out;
  }

 private:
  struct Best {
    Code code;
    double score;
    void take(const Code& c, double s) {
      if (s < score - kGain) code = c, score = s;
    }
  };

  struct Candidate {
    Term term;
    double units = 0;              // rows, or keys, that can tell whether it helps
    double mean = 0, squares = 0;  // before and after it is subtracted
    std::vector<double> values{};  // centered
  };

  double at(size_t j, size_t row) const { return steps_.columns[j].numbers[row]; }

  void carry() {
    carried_.resize(usable_.size());
    for (size_t j = 0; j < usable_.size(); ++j) {
      if (!usable_[j] || present_[j]) continue;
      const auto& numbers = steps_.columns[j].numbers;
      carried_[j].assign(numbers.begin(), numbers.end());
      for (size_t row = 1; row < numbers.size(); ++row)
        if (numbers[row] != numbers[row] && key_[row] == key_[row - 1]) carried_[j][row] = carried_[j][row - 1];
    }
  }

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
    for (size_t k = 0; k < std::min(usable_.size(), kMaxTermColumns); ++k) {
      if (!usable_[k] || is_instant(steps_.columns[k].type)) continue;
      if (!first) add({Term::Of::before, static_cast<int>(k)}, units, [&](size_t row) { return last(k, row - 1); });
      if (k < j) add({Term::Of::here, static_cast<int>(k)}, units, [&](size_t row) { return at(k, row); });
    }
    const double keys = static_cast<double>(std::min(begins_.size(), rows.size()));
    if (keys < static_cast<double>(kMinPairs)) return out;
    for (size_t k = 0; k < statics_.statics.columns.size(); ++k) {
      const Column& c = statics_.statics.columns[k];
      const auto of = [&](size_t row) { return static_cast<size_t>(statics_.row[row]); };
      if (is_quantity(c.type))
        add({Term::Of::statics, static_cast<int>(k)}, keys, [&](size_t row) { return c.numbers[of(row)]; });
      if (!c.numbers.empty() || !kind_of(c).varies || kind_of(c).regenerated) continue;
      std::map<int32_t, int64_t> holders;
      for (const size_t row : begins_) ++holders[c.codes[of(row)]];
      size_t texts = 0;
      for (const auto& [code, count] : holders)
        if (code >= 0 && count >= kMinPairs / 2 && ++texts <= kMaxTermTexts)
          add({Term::Of::statics, static_cast<int>(k), c.values[static_cast<size_t>(code)]}, keys,
              [&, level = code](size_t row) { return c.codes[of(row)] == level ? 1.0 : 0.0; });
    }
    return out;
  }

  // Whether what is left is larger where more is predicted, or less: it is no sum, and terms would give small values
  // the spread of large ones.
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

  // ln of the spread that `c` leaves, with the terms that it gets if they leave less than that and less than `bound`.
  double with_terms(size_t j, bool first, Code& c, double bound) const {
    const bool begins = first && begins_.size() >= static_cast<size_t>(kMinPairs);
    const std::vector<size_t>& rows = begins ? begins_ : rows_;
    std::vector<size_t> used;
    std::vector<double> left;
    for (const size_t row : rows) {
      const double base = c.base < 0 ? 0 : at(static_cast<size_t>(c.base), c.before ? row - 1 : row);
      const double code = reduced(c, at(j, row), base, 0);
      if (code == code) used.push_back(row), left.push_back(code);
    }
    if (left.empty()) return INFINITY;
    const double n = static_cast<double>(used.size()), before = log_spread(left);
    if (static_cast<int64_t>(used.size()) < kMinPairs || (first && !begins && begins_.size() > 1) ||
        has_few_values(steps_.columns[j]) || has_atom(left))
      return before;
    std::vector<Candidate> candidates = candidates_of(j, first, used);
    Term own;
    measure(left, own);
    for (double& v : left) v = std::clamp(v, own.center - 2 * kBound * own.scale, own.center + 2 * kBound * own.scale);
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

  double spread_of(size_t j, const Code& c) const {
    std::vector<double> codes;
    codes.reserve(rows_.size());
    double scale = 0;
    for (const size_t row : rows_) {
      const double base = c.form == Form::level ? 0 : at(static_cast<size_t>(c.base), c.before ? row - 1 : row);
      codes.push_back(reduced(c, at(j, row), base, 0));
      if (c.form == Form::ratio) scale += std::log(base);
    }
    return log_spread(std::move(codes)) + scale / static_cast<double>(rows_.size());
  }

  void try_both(size_t j, int base, bool before, Best& best) const {
    const Column &x = steps_.columns[j], &b = steps_.columns[static_cast<size_t>(base)];
    if (is_instant(x.type) != is_instant(b.type)) return;
    const Code difference{Form::difference, base, -1, before};
    best.take(difference, spread_of(j, difference));
    if (is_instant(x.type) || lowest_[static_cast<size_t>(base)] <= 0) return;
    const Code ratio{Form::ratio, base, -1, before};
    best.take(ratio, spread_of(j, ratio));
  }

  double unit(size_t j) const { return std::pow(10.0, -decimals_of(steps_.columns[j])); }

  double bracket(size_t j, int low, int high) const {
    std::vector<double> codes;
    double scale = 0;
    for (const size_t row : rows_) {
      const double base = at(static_cast<size_t>(low), row), upper = at(static_cast<size_t>(high), row);
      codes.push_back(reduced({Form::between, low, high, false}, at(j, row), base, upper));
      scale += std::log(std::max(upper - base, unit(j)));
    }
    return log_spread(std::move(codes)) + scale / static_cast<double>(rows_.size());
  }

  bool never_above(size_t a, size_t b) const {
    if (is_instant(steps_.columns[a].type) != is_instant(steps_.columns[b].type)) return false;
    for (const size_t row : rows_)
      if (at(a, row) > at(b, row)) return false;
    for (size_t row = 0; row < key_.size(); ++row)
      if (at(a, row) > at(b, row)) return false;
    return true;
  }

  // Earlier columns that it always lies between, on a grid that it can keep.
  std::vector<std::pair<int, int>> brackets(size_t j) const {
    std::vector<int> below, above;
    for (size_t k = 0; k < j; ++k) {
      if (!serves_[k] || decimals_of(steps_.columns[k]) > decimals_of(steps_.columns[j])) continue;
      if (never_above(k, j)) below.push_back(static_cast<int>(k));
      if (never_above(j, k)) above.push_back(static_cast<int>(k));
    }
    std::vector<std::pair<int, int>> out;
    for (const int low : below)
      for (const int high : above)
        if (low != high) out.emplace_back(low, high);
    return out;
  }

  double variance_over(size_t j, int steps, int64_t& pairs) const {
    double sum = 0, squares = 0;
    pairs = 0;
    const auto lag = static_cast<size_t>(steps);
    for (size_t row = lag; row < key_.size(); ++row) {
      if (key_[row] != key_[row - lag]) continue;
      const double d = at(j, row) - at(j, row - lag);
      sum += d, squares += d * d, ++pairs;
    }
    const auto n = static_cast<double>(std::max<int64_t>(pairs, 1));
    return squares / n - sum / n * (sum / n);
  }

  bool reverts(size_t j) const {
    for (int horizon = kHorizon; horizon >= kShortestHorizon; --horizon) {
      int64_t pairs = 0;
      const double far = variance_over(j, horizon, pairs);
      if (pairs < kMinPairs) continue;
      return far < kReverts * horizon * variance_over(j, 1, pairs);
    }
    return false;
  }

  const Table& steps_;
  const StaticsOfSteps& statics_;
  const std::vector<int32_t>& key_;
  std::vector<size_t> rows_, begins_;            // with a step before; without one
  std::vector<char> usable_, present_, serves_;  // serves: as a base, and is learned against one
  std::vector<std::vector<double>> carried_;     // of columns with missing cells
  std::vector<double> lowest_;
  std::map<size_t, double> spread_;  // ln, of the codes
};

std::string spoken(const Table& names, const Column& x, const Code& c) {
  if (!c.terms.empty()) {
    Code plain = c;
    plain.terms.clear();
    return spoken(names, x, plain) + " less its linear prediction";
  }
  if (c.form == Form::level) return x.name;
  const auto of = [&](int k) { return names.columns[static_cast<size_t>(k)].name; };
  const std::string before = c.before ? " of the step before" : "";
  if (c.form == Form::between) return fmt::format("{} between {} and {}", x.name, of(c.base), of(c.upper));
  return fmt::format("{} {} {}{}", x.name, c.form == Form::ratio ? "/" : "-", of(c.base), before);
}

nlohmann::json write_code(const Code& c) {
  nlohmann::json out{{"form", kForms[static_cast<int>(c.form)]}};
  if (c.form != Form::level) out["base"] = c.base;
  if (c.form == Form::between) out["upper"] = c.upper;
  if (c.before) out["before"] = true;
  if (c.terms.empty()) return out;
  out["shift"] = c.shift;
  for (const Term& t : c.terms) {
    out["terms"].push_back({{"of", kTermsOf[static_cast<int>(t.of)]}, {"column", t.column}, {"factor", t.factor}});
    nlohmann::json& one = out["terms"].back();
    if (t.text.empty()) one["center"] = t.center, one["scale"] = t.scale;
    else one["text"] = t.text;
  }
  return out;
}

Term read_term(const nlohmann::json& json, int column, int columns, const Table& statics) {
  const Fields f(json, "the coding of a step");
  Term out;
  const std::string of = f.text("of");
  const auto known = std::find(std::begin(kTermsOf), std::end(kTermsOf), of);
  f.check(known != std::end(kTermsOf), "has a term of something unknown");
  out.of = static_cast<Term::Of>(known - std::begin(kTermsOf));
  const bool is_static = out.of == Term::Of::statics;
  out.column = static_cast<int>(f.integer("column", 0, (is_static ? std::ssize(statics.columns) : columns) - 1));
  out.factor = f.number("factor");
  if (f.has("text")) out.text = f.text("text");
  else out.center = f.number("center"), out.scale = f.number("scale");
  const bool numbers = !is_static || is_ordered(statics.columns[static_cast<size_t>(out.column)]);
  f.check(out.scale > 0 && numbers == out.text.empty() && (out.of != Term::Of::here || out.column < column),
          "has a term that is not known yet");
  return out;
}

Code read_code(const nlohmann::json& json, int column, int columns, const Table& statics) {
  const Fields f(json, "the coding of a step");
  Code out;
  const std::string form = f.text("form");
  const auto known = std::find(std::begin(kForms), std::end(kForms), form);
  f.check(known != std::end(kForms), "has an unknown form");
  out.form = static_cast<Form>(known - std::begin(kForms));
  if (f.has("before")) out.before = f.flag("before");
  if (out.form != Form::level) out.base = static_cast<int>(f.integer("base", 0, columns - 1));
  if (out.form == Form::between) out.upper = static_cast<int>(f.integer("upper", 0, columns - 1));
  if (f.has("terms")) {
    out.shift = f.number("shift");
    for (const nlohmann::json& one : f.array("terms")) out.terms.push_back(read_term(one, column, columns, statics));
  }
  const bool linear = out.form == Form::level || out.form == Form::difference;
  f.check(linear || out.terms.empty(), "has terms of a ratio");
  f.check(
      out.before ? out.form == Form::difference || out.form == Form::ratio : out.base < column && out.upper < column,
      "has a base that is not known yet");
  return out;
}

}  // namespace

StepCoding StepCoding::find(const Table& steps, const std::vector<int32_t>& key,
                            const std::vector<std::string>& uncoded, const StaticsOfSteps& statics) {
  StepCoding out;
  CodeSearch search(steps, key, uncoded, statics);
  for (size_t j = 0; j < steps.columns.size(); ++j) {
    Coded& c = out.columns_.emplace_back();
    if (!search.usable(j)) continue;
    std::tie(c.first, c.next) = search.of(j);
    search.add_terms(j, true, c.first), search.add_terms(j, false, c.next);
    c.column = steps.columns[j].pick(std::vector<int32_t>{});
  }
  out.orders_ = search.orders();
  out.place_starts(static_cast<int>(steps.columns.size()));
  return out;
}

void StepCoding::place_starts(int first) {
  for (Coded& c : columns_)
    if (c.next.needs_before()) c.start_at = first++;
}

void StepCoding::encode(Table& steps, const std::vector<int32_t>& key, int64_t least, uint64_t seed, Team& team,
                        std::span<const int32_t> holder, const StaticsOfSteps& statics) {
  Table ranges;
  ranges.rows = steps.rows;
  for (size_t j = 0; j < columns_.size(); ++j)
    if (columns_[j].coded()) ranges.columns.push_back(steps.columns[j]);
  (void)protect_numbers(ranges, least, seed, team, holder);
  for (size_t j = 0, at = 0; j < columns_.size(); ++j) {
    if (!columns_[j].coded()) continue;
    const Column& c = ranges.columns[at++];
    double low = INFINITY, high = -INFINITY;  // all missing: too few keys, nothing is learned
    for (const double x : c.numbers) low = std::fmin(low, x), high = std::fmax(high, x);
    if (low <= high) columns_[j].low = low, columns_[j].high = high;
  }
  ranges = {};

  // `of`: columns of codes as they are computed; a level alone stays its column.
  const auto begun = [&](const Column& x, const Code& code, const std::string& name) {
    if (code.form == Form::level && code.terms.empty()) {
      Column same = x;
      same.name = name;
      return same;
    }
    Column c;
    c.name = name, c.least_rows = x.least_rows;
    if (code.base >= 0) c.least_rows = std::max(c.least_rows, steps.columns[static_cast<size_t>(code.base)].least_rows);
    become_count(c, 0);
    c.numbers.reserve(static_cast<size_t>(steps.rows));
    return c;
  };
  std::vector<Column> next(columns_.size()), starts(columns_.size());
  for (size_t j = 0; j < columns_.size(); ++j) {
    const Coded& c = columns_[j];
    if (!c.coded()) continue;
    next[j] = begun(steps.columns[j], c.next, c.column.name);
    if (c.start_at >= 0) starts[j] = begun(steps.columns[j], c.first, start_of(c.column.name));
  }
  const auto computed = [&](const Column& c) { return static_cast<int64_t>(c.numbers.size()) < steps.rows; };
  std::vector<char> written(2 * columns_.size(), 0);
  for (size_t j = 0; j < columns_.size(); ++j)
    written[2 * j] = columns_[j].coded() && computed(next[j]),
                written[2 * j + 1] = columns_[j].start_at >= 0 && computed(starts[j]);
  Values v;
  v.statics = &statics.statics;
  for (size_t row = 0; row < static_cast<size_t>(steps.rows); ++row) {
    if (row == 0 || key[row] != key[row - 1]) v.here.clear(), v.last.clear();
    v.step();
    v.here.assign(columns_.size(), kMissing);
    if (!statics.row.empty()) v.sequence = statics.row[row];
    for (size_t j = 0; j < columns_.size(); ++j)
      if (columns_[j].coded()) v.here[j] = steps.columns[j].numbers[row];
    for (size_t j = 0; j < columns_.size(); ++j) {
      if (written[2 * j] != 0) next[j].numbers.push_back(code(static_cast<int>(j), false, v));
      if (written[2 * j + 1] != 0) starts[j].numbers.push_back(code(static_cast<int>(j), true, v));
    }
  }
  const auto finish = [&](Column& c, const Column& x, const Code& of) {
    auto& codes = c.numbers;
    // A row without a step before repeats the next one's code: it is never learned there.
    for (size_t row = codes.size(); of.needs_before() && row-- > 0;)
      if (row == 0 || key[row] != key[row - 1])
        codes[row] = row + 1 < codes.size() && key[row + 1] == key[row] ? codes[row + 1] : neutral(of);
    double sizes = 0, known = 0;
    for (const double v : codes)
      if (v == v && v != 0) sizes += std::log10(std::fabs(v)), ++known;
    int decimals = std::clamp(kDigitsOfRatio - static_cast<int>(std::ceil(known > 0 ? sizes / known : 0)), 0, 15);
    if (of.form == Form::difference && of.terms.empty())
      decimals = std::max(decimals_of(x), decimals_of(steps.columns[static_cast<size_t>(of.base)]));
    become_count(c, decimals);
    for (double& v : codes) v = round_decimals(v, decimals);
  };
  for (size_t j = 0; j < columns_.size(); ++j) {
    if (written[2 * j] != 0) finish(next[j], steps.columns[j], columns_[j].next);
    if (written[2 * j + 1] != 0) finish(starts[j], steps.columns[j], columns_[j].first);
  }
  for (size_t j = 0; j < columns_.size(); ++j)
    if (columns_[j].coded()) steps.columns[j] = std::move(next[j]);
  for (size_t j = 0; j < columns_.size(); ++j)
    if (columns_[j].start_at >= 0) steps.columns.push_back(std::move(starts[j]));
}

int StepCoding::column_starting_at(int start_at) const {
  const auto of =
      std::find_if(columns_.begin(), columns_.end(), [&](const Coded& c) { return c.start_at == start_at; });
  return static_cast<int>(of - columns_.begin());
}

bool StepCoding::Code::needs_before() const {
  return before || std::any_of(terms.begin(), terms.end(), [](const Term& t) { return t.of == Term::Of::before; });
}

void StepCoding::Values::step() {
  if (last.empty()) last = here;
  else
    for (size_t k = 0; k < here.size(); ++k)
      if (here[k] == here[k]) last[k] = here[k];
}

double StepCoding::linear(const Code& code, const Values& v) {
  double sum = code.shift;
  for (const Term& t : code.terms) {
    const auto at = static_cast<size_t>(t.column);
    sum += t.factor * (t.of == Term::Of::statics ? standardized(t, *v.statics, v.sequence)
                                                 : standardized(t, t.of == Term::Of::before ? v.last[at] : v.here[at]));
  }
  return sum;
}

double StepCoding::code(int column, bool first, const Values& v) const {
  const Coded& coded = columns_[static_cast<size_t>(column)];
  const Code& c = first ? coded.first : coded.next;
  if (c.needs_before() && v.last.empty()) return kMissing;
  const std::vector<double>& from = c.before ? v.last : v.here;
  const double base = c.base >= 0 ? from[static_cast<size_t>(c.base)] : 0,
               upper = c.upper >= 0 ? from[static_cast<size_t>(c.upper)] : 0;
  if (base != base || upper != upper) return kMissing;
  return reduced(c, v.here[static_cast<size_t>(column)], base, upper) - linear(c, v);
}

void StepCoding::decode(const Table& steps, int64_t row, Values& v, const double* known) const {
  v.here.assign(columns_.size(), kMissing);
  for (int j = 0; j < static_cast<int>(columns_.size()); ++j) {
    const Coded& c = columns_[static_cast<size_t>(j)];
    double& x = v.here[static_cast<size_t>(j)];
    const bool first = v.last.empty() && c.start_at >= 0;
    const auto& numbers = steps.columns[static_cast<size_t>(first ? c.start_at : j)].numbers;
    x = numbers.empty() ? kMissing : numbers[static_cast<size_t>(row)];
    if (c.coded()) {
      const Code& code = first ? c.first : c.next;
      const std::vector<double>& from = code.before ? v.last : v.here;
      const double base = code.base >= 0 ? from[static_cast<size_t>(code.base)] : 0,
                   upper = code.upper >= 0 ? from[static_cast<size_t>(code.upper)] : 0;
      x = combine(code, x, base, upper) + linear(code, v);
      if (code.form != Form::level || !code.terms.empty()) x = round_decimals(x, decimals_of(c.column));
      x = x == x ? std::clamp(x, c.low, c.high) : x;
      for (const auto& [below, above] : orders_) {
        if (above == j && below < j) x = std::fmax(x, v.here[static_cast<size_t>(below)]);
        if (below == j && above < j) x = std::fmin(x, v.here[static_cast<size_t>(above)]);
      }
    }
    if (known != nullptr && known[j] == known[j]) x = known[j];
  }
}

void StepCoding::restore_schema(Table& steps) const {
  if (empty()) return;
  for (size_t j = 0; j < columns_.size(); ++j)
    if (columns_[j].coded()) steps.columns[j] = columns_[j].column;
}

void StepCoding::restore(Table& steps, const std::vector<int32_t>& lengths, const Table& statics,
                         const std::vector<std::span<const double>>& known) const {
  if (empty()) return;
  const size_t n = columns_.size();
  std::vector<Column> out;
  for (const Coded& c : columns_) {
    out.push_back(c.column);
    if (c.coded()) out.back().numbers.reserve(static_cast<size_t>(steps.rows));
  }
  Values v;
  v.statics = &statics;
  int64_t row = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    v.here.clear(), v.last.clear(), v.sequence = static_cast<int64_t>(i);
    const std::span<const double> own = known.empty() ? std::span<const double>() : known[i];
    for (size_t t = 0; t < static_cast<size_t>(lengths[i]); ++t, ++row) {
      v.step();
      decode(steps, row, v, own.size() >= (t + 1) * n ? own.data() + t * n : nullptr);
      for (size_t j = 0; j < n; ++j)
        if (columns_[j].coded()) out[j].numbers.push_back(v.here[j]);
    }
  }
  for (size_t j = 0; j < n; ++j)
    if (columns_[j].coded()) steps.columns[j] = std::move(out[j]);
}

std::vector<std::string> StepCoding::describe() const {
  Table names;
  for (const Coded& c : columns_) names.columns.push_back(c.column);
  std::vector<std::string> out;
  for (const Coded& c : columns_)
    if (c.coded() && c.next != Code{}) out.push_back(spoken(names, c.column, c.next));
  return out;
}

nlohmann::json StepCoding::to_json() const {
  nlohmann::json columns = nlohmann::json::array();
  for (const Coded& c : columns_) {
    if (!c.coded()) {
      columns.push_back(nullptr);
      continue;
    }
    nlohmann::json one{{"first", write_code(c.first)}, {"next", write_code(c.next)},    {"name", c.column.name},
                       {"type", name(c.column.type)},  {"decimals", c.column.decimals}, {"format", c.column.format},
                       {"arrow", c.column.arrow},      {"reason", c.column.reason}};
    if (std::isfinite(c.low)) one["low"] = c.low, one["high"] = c.high;
    columns.push_back(std::move(one));
  }
  return {{"columns", std::move(columns)}, {"orders", orders_}};
}

StepCoding StepCoding::from_json(const nlohmann::json& json, const Table& steps, const Table& statics) {
  const Fields f(json, "the coding of steps");
  StepCoding out;
  const nlohmann::json& columns = f.array("columns");
  const int n = static_cast<int>(columns.size());
  int starts = 0;
  for (const nlohmann::json& one : columns) {
    Coded& c = out.columns_.emplace_back();
    if (one.is_null()) continue;
    const Fields of(one, "the coding of a step");
    const int j = static_cast<int>(out.columns_.size()) - 1;
    c.first = read_code(of.at("first"), j, n, statics), c.next = read_code(of.at("next"), j, n, statics);
    of.check(!c.first.needs_before(), "has a first step with a step before");
    c.column.name = of.text("name");
    of.check(!c.column.name.empty() && parse_column_type(of.text("type"), c.column.type) &&
                 (is_quantity(c.column.type) || is_instant(c.column.type)),
             "is of a column that is no number");
    c.column.decimals = static_cast<int>(of.integer("decimals", 0, 15));
    c.column.format = of.text("format"), c.column.arrow = of.text("arrow"), c.column.reason = of.text("reason");
    if (of.has("low")) c.low = of.number("low"), c.high = of.number("high");
    of.check(c.low <= c.high, "has an empty range");
    starts += c.next.needs_before() ? 1 : 0;
  }
  f.check(static_cast<int>(steps.columns.size()) == n + starts, "does not fit its columns");
  out.place_starts(n);
  for (int j = 0; j < n; ++j) {
    const Coded& c = out.columns_[static_cast<size_t>(j)];
    std::vector<int> needed{c.first.base, c.first.upper, c.next.base, c.next.upper};
    for (const Code* code : {&c.first, &c.next})
      for (const Term& t : code->terms)
        if (t.of != Term::Of::statics) needed.push_back(t.column);
    for (const int k : needed)
      f.check(k < 0 || out.columns_[static_cast<size_t>(k)].coded(), "has a base that is no number");
  }
  for (const nlohmann::json& pair : f.array("orders")) {
    f.check(pair.is_array() && pair.size() == 2 && pair[0].is_number_integer() && pair[1].is_number_integer(),
            "has an order that is no pair of columns");
    const auto below = pair[0].get<int64_t>(), above = pair[1].get<int64_t>();
    f.check(below >= 0 && below < n && above >= 0 && above < n && below != above &&
                out.columns_[static_cast<size_t>(below)].coded() && out.columns_[static_cast<size_t>(above)].coded(),
            "has an order that is no pair of numbers");
    out.orders_.emplace_back(static_cast<int>(below), static_cast<int>(above));
  }
  return out;
}

}  // namespace tessera
