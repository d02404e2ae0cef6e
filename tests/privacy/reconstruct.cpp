#include "privacy/reconstruct.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tessera::privacy {
namespace {

// Fractions p/q with q ≤ 6 in [−5, 6], 0 and 1 left out: those are the two numbers themselves.
std::vector<double> small_fractions() {
  std::set<double> out;
  for (int q = 1; q <= 6; ++q)
    for (int p = -5 * q; p <= 6 * q; ++p)
      if (p != 0 && p != q) out.insert(static_cast<double>(p) / q);
  return {out.begin(), out.end()};
}

// Lists that an attacker would take for a distribution: points beside ascending shares.
struct Distribution {
  std::string place;
  const std::vector<double>* points;
  const std::vector<double>* shares;
};
std::vector<Distribution> distributions(const ModelFile& file) {
  const std::string ending = ".points";
  std::vector<Distribution> out;
  for (const Numbers& n : file.numbers()) {
    if (!n.place.ends_with(ending)) continue;
    const std::string stem = n.place.substr(0, n.place.size() - ending.size());
    const std::vector<double>* shares = file.find(stem + ".shares");
    if (shares != nullptr && shares->size() == n.values.size()) out.push_back({stem, &n.values, shares});
  }
  return out;
}

// Means of consecutive groups whose ends are given as shares: values of single rows out of sums that end at nearly the
// same row. `count`: of rows the shares are of.
void sums_between(const Distribution& d, double count, std::map<int64_t, double>& sum_up_to) {
  double sum = 0, before = 0;
  for (size_t k = 0; k < d.points->size(); ++k) {
    const double upto = std::round((*d.shares)[k] * count);
    sum += (*d.points)[k] * (upto - before);
    before = upto;
    sum_up_to[static_cast<int64_t>(upto)] = sum;
  }
}

}  // namespace

std::vector<Guesses> guess_numbers(const ModelFile& file, int64_t rows) {
  Guesses stored{"stored", {}}, combined{"combined of two", {}}, differences{"differences of sums", {}};
  const std::vector<double> fractions = small_fractions();
  for (const Numbers& n : file.numbers()) {
    stored.values.insert(stored.values.end(), n.values.begin(), n.values.end());
    if (n.values.size() > 2048) continue;  // weights
    for (size_t i = 0; i < n.values.size(); ++i)
      for (size_t j = i + 1; j < std::min(i + 3, n.values.size()); ++j)
        for (const double t : fractions) combined.values.push_back(n.values[i] + t * (n.values[j] - n.values[i]));
  }
  // Two lists about one column end in the same number ("real.3", "free.3"); a few rows may be in one and not in the
  // other.
  for (const Distribution& d : distributions(file))
    for (int64_t missing = 0; missing <= 4; ++missing) {
      std::map<int64_t, double> sums{{0, 0}};
      sums_between(d, static_cast<double>(rows - missing), sums);
      for (const Distribution& other : distributions(file))
        if (other.place != d.place && other.place.substr(other.place.rfind('.')) == d.place.substr(d.place.rfind('.')))
          sums_between(other, static_cast<double>(rows), sums);
      for (auto a = sums.begin(), b = std::next(a); b != sums.end(); ++a, ++b)
        if (b->first - a->first < 5)
          differences.values.push_back((b->second - a->second) / static_cast<double>(b->first - a->first));
    }
  std::vector<Guesses> out{stored, combined, differences, solve_interpolated_quantiles(file, rows)};
  for (Guesses& g : out) std::sort(g.values.begin(), g.values.end());
  return out;
}

Guesses solve_interpolated_quantiles(const ModelFile& file, int64_t rows) {
  Guesses out{"interpolated quantiles", {}};
  for (const Distribution& d : distributions(file)) {
    const std::vector<double>&p = *d.points, &s = *d.shares;
    std::vector<int64_t> gap(p.size());
    std::vector<double> in(p.size());  // where in its gap a point lies
    for (size_t k = 0; k < p.size(); ++k) {
      const double at = s[k] * static_cast<double>(rows - 1);
      gap[k] = static_cast<int64_t>(std::floor(at));
      in[k] = at - std::floor(at);
    }
    std::map<int64_t, double> known;
    for (size_t k = 0; k + 1 < p.size(); ++k)
      if (gap[k] == gap[k + 1] && in[k + 1] - in[k] > 1e-6) {
        const double slope = (p[k + 1] - p[k]) / (in[k + 1] - in[k]);
        known[gap[k]] = p[k] - in[k] * slope;
        known[gap[k] + 1] = p[k] + (1 - in[k]) * slope;
      }
    for (bool more = true; more;) {
      more = false;
      for (size_t k = 0; k < p.size(); ++k) {
        const auto low = known.find(gap[k]), high = known.find(gap[k] + 1);
        if (low != known.end() && high == known.end() && in[k] > 0.05)
          known[gap[k] + 1] = low->second + (p[k] - low->second) / in[k], more = true;
        else if (high != known.end() && low == known.end() && in[k] < 0.95)
          known[gap[k]] = (p[k] - in[k] * high->second) / (1 - in[k]), more = true;
      }
    }
    for (const auto& [row, value] : known) out.values.push_back(value);
    std::sort(out.values.begin(), out.values.end());
  }
  return out;
}

int64_t right(const Guesses& guesses, const std::vector<double>& values) {
  const std::vector<double>& g = guesses.values;
  return std::count_if(values.begin(), values.end(), [&](double x) {
    const double near = 1e-11 * std::abs(x);
    const auto at = std::lower_bound(g.begin(), g.end(), x - near);
    return at != g.end() && *at <= x + near;
  });
}

}  // namespace tessera::privacy
