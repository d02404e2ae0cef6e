// Columns of numbers regressed on others, by Gram–Schmidt orthogonalization, for the finders of sums.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "tables/rules/find/factors.h"
#include "tables/rules/find/search.h"

namespace tessera {

constexpr size_t kMaxSumColumns = 256;  // the work grows with their square
constexpr double kExact = 1e-9;         // of a deviation: floating-point error of sums of products
constexpr double kRounding = 0.8;       // of half a unit: standard deviation of rounding errors

// The values of a column in the units of expressions, centred.
struct Centred {
  int column;
  double mean = 0, deviation = 0;
  std::vector<double> x;
};

Centred centred(int column, std::vector<double> x);
// Of values that are centred already.
Centred with_mean(double mean, std::vector<double> x);
// Without some rows.
Centred without(const Centred& c, const std::vector<char>& left_out);

// Columns that are sums of others, with their factors.
class Regression {
 public:
  explicit Regression(size_t rows) : rows_(static_cast<double>(rows)) {}

  // Residual of a column given those added so far, and its projection on them.
  struct Residual {
    std::vector<double> rest, along;
    double deviation = 0;  // of the rest
  };
  Residual residual(const Centred& c) const {
    Residual out{c.x, std::vector<double>(basis_.size(), 0)};
    for (int pass = 0; pass < 2; ++pass)  // the second removes the first one's rounding errors
      for (size_t k = 0; k < basis_.size(); ++k) {
        const double part = dot(basis_[k], out.rest);
        out.along[k] += part;
        for (size_t i = 0; i < out.rest.size(); ++i) out.rest[i] -= part * basis_[k][i];
      }
    out.deviation = std::sqrt(dot(out.rest, out.rest) / rows_);
    return out;
  }

  bool exact(const Residual& r, const Centred& c) const {
    return !basis_.empty() && r.deviation <= kExact * c.deviation;
  }
  // Rounding leaves a deviation of 0.58 half units, or of 0.71 where every other number ends in a half, as 1.5 * km
  // does; a column of few units would be explained by anything.
  bool but_for_rounding(const Residual& r, const Centred& c, double half) const {
    return !basis_.empty() && r.deviation <= kRounding * half && c.deviation >= 10 * half;
  }

  void add(Residual r) {
    const double norm = r.deviation * std::sqrt(rows_);
    for (double& v : r.rest) v /= norm;
    basis_.push_back(std::move(r.rest));
    r.along.push_back(norm);
    triangle_.push_back(std::move(r.along));
  }

  // Solves R f = along, where R is upper triangular and stored by columns: the factors of the columns added so far.
  std::vector<double> factors(std::vector<double> along) const {
    for (size_t k = along.size(); k-- > 0;) {
      along[k] /= triangle_[k][k];
      for (size_t i = 0; i < k; ++i) along[i] -= along[k] * triangle_[k][i];
    }
    return along;
  }

  // How far each factor is off for an error of one in the numbers that are explained: large for columns that others
  // nearly determine.
  std::vector<double> spread() const {
    std::vector<double> out(basis_.size(), 0);
    for (size_t j = 0; j < basis_.size(); ++j) {
      std::vector<double> one(basis_.size(), 0);
      one[j] = 1;
      const std::vector<double> inverse = factors(std::move(one));
      for (size_t k = 0; k < out.size(); ++k) out[k] += inverse[k] * inverse[k];
    }
    for (double& x : out) x = std::sqrt(x);
    return out;
  }

 private:
  double rows_;
  std::vector<std::vector<double>> basis_, triangle_;
};

// Columns of numbers in proposing rows that have all of them.
struct Sample {
  std::vector<Centred> columns;  // without constant columns
  std::vector<int64_t> rows = {};
  double tried = 0;
};

// Columns of a regression, and the proposing rows in which none of them is missing. While there are too few such rows,
// the column with most missing cells is dropped, but never `first` (−1: any; kAlwaysThere: all that miss any).
inline constexpr int kAlwaysThere = -2;
Sample sample_with(const RuleSearch& search, int first);
// Keeps at most `rows` rows.
void limit_rows(Sample& sample, size_t rows);
// Whether each column takes part in the sum even without the few holders that determine most of its factor: two columns
// may differ in few rows only, which would disclose them. `least_weight`: min contribution, factor times deviation.
bool has_shared_factors(const RuleSearch& search, const Sample& sample, const std::vector<const Centred*>& columns,
                        const std::vector<double>& factors, int64_t least, double least_weight);

// The first rule that `find` returns for a sample; then for one without the columns that miss values, as the rows that
// have all may be special; then for others, of the columns that were dropped because of missing values.
template <class Find>
std::optional<FoundRule> first_in_samples(const RuleSearch& search, Find&& find) {
  constexpr int kMaxSamples = 4;
  std::set<int> seen;
  int samples = 0;
  size_t rows = 0;  // of the last sample
  const auto look = [&](int first) {
    const Sample sample = sample_with(search, first);
    rows = sample.rows.size();
    for (const Centred& c : sample.columns) seen.insert(c.column);
    ++samples;
    return find(sample);
  };
  if (auto found = look(-1)) return found;
  if (const Sample whole = sample_with(search, kAlwaysThere); whole.rows.size() > rows)
    if (auto found = find(whole)) return found;
  for (const int j : search.usable_numbers(kMaxSumColumns)) {
    if (samples == kMaxSamples) break;
    const auto is_missing = [&](int64_t row) { return search.column(j).is_missing(row); };
    if (seen.contains(j) || std::none_of(search.proposing.begin(), search.proposing.end(), is_missing)) continue;
    if (auto found = look(j)) return found;
  }
  return {};
}

}  // namespace tessera
