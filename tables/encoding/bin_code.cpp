#include "tables/encoding/bin_code.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tables/encoding/tails.h"
#include "tables/table/decimals.h"

namespace tessera {

void BinCode::fit_bins(const std::vector<double>& ascending, int most, bool atoms) {
  body_ = with_tails(Quantiles::of(ascending, atoms), ascending);
  const std::vector<double>&points = body_.points(), &shares = body_.shares();
  const double rows = static_cast<double>(ascending.size());
  const int wanted = std::clamp(static_cast<int>(rows / kMinBinRows), 1, most);
  ends_.clear();
  const int last = static_cast<int>(points.size()) - 1;
  double filled = 0;  // share of the bins so far
  for (int k = 0; k <= last; ++k) {
    const auto at = static_cast<size_t>(k);
    if (k < last && points[at + 1] == points[at]) continue;  // a value shared by several quantiles belongs to one bin
    if (!body_.exact() && k == 0) continue;                  // a bin of only the smallest value would have no width
    const double left = static_cast<double>(wanted) - static_cast<double>(ends_.size());
    if (k == last || shares[at] - filled >= (1 - filled) / left * (1 - 1e-9)) ends_.push_back(k), filled = shares[at];
  }
  arrange();
}

bool BinCode::restore(Quantiles body, std::vector<int> ends) {
  const auto count = static_cast<int>(body.points().size());
  // Strictly ascending up to the last point; this check comes first, so that every end is a valid index.
  if (ends.empty() || ends.back() != count - 1 || ends.front() < 0) return false;
  if (std::adjacent_find(ends.begin(), ends.end(), std::greater_equal<>()) != ends.end()) return false;
  for (size_t k = 1; k < ends.size(); ++k)
    if (!(body.points()[static_cast<size_t>(ends[k - 1])] < body.points()[static_cast<size_t>(ends[k])])) return false;
  body_ = std::move(body), ends_ = std::move(ends);
  arrange();
  return true;
}

// Sorts bins and spikes into one ascending order; a spike inside a bin comes before it.
void BinCode::arrange() {
  upper_.clear(), bin_level_.clear(), spike_level_.clear(), kind_.clear();
  size_t spike = 0;
  for (size_t k = 0; k < ends_.size(); ++k) {
    upper_.push_back(body_.points()[static_cast<size_t>(ends_[k])]);
    for (; spike < spikes.size() && spikes[spike] <= upper_[k]; ++spike) {
      spike_level_.push_back(static_cast<int32_t>(kind_.size()));
      kind_.push_back(-1 - static_cast<int32_t>(spike));
    }
    bin_level_.push_back(static_cast<int32_t>(kind_.size()));
    kind_.push_back(static_cast<int32_t>(k));
  }
  for (; spike < spikes.size(); ++spike) {
    spike_level_.push_back(static_cast<int32_t>(kind_.size()));
    kind_.push_back(-1 - static_cast<int32_t>(spike));
  }
}

int64_t BinCode::encode(const double* x, int64_t n, int32_t* code, int64_t stride) const {
  for (int64_t i = 0; i < n; ++i) {
    int32_t& c = code[i * stride];
    if (x[i] != x[i]) {
      if (!missing) return i;
      c = levels();
      continue;
    }
    const auto spike = std::lower_bound(spikes.begin(), spikes.end(), x[i]);
    if (spike != spikes.end() && *spike == x[i]) {
      c = spike_level_[static_cast<size_t>(spike - spikes.begin())];
      continue;
    }
    const auto bin = std::lower_bound(upper_.begin(), upper_.end() - 1, x[i]);  // beyond the last: in the last
    c = bin_level_[static_cast<size_t>(bin - upper_.begin())];
  }
  return -1;
}

double BinCode::value(int32_t level, double uniform) const {
  if (level >= levels()) return std::numeric_limits<double>::quiet_NaN();
  const int32_t kind = kind_[static_cast<size_t>(level)];
  if (kind < 0) return spikes[static_cast<size_t>(-1 - kind)];
  const auto bin = static_cast<size_t>(kind);
  const auto share = [&](int point) { return body_.shares()[static_cast<size_t>(point)]; };
  const double low = bin == 0 ? 0 : share(ends_[bin - 1]), high = share(ends_[bin]);
  return on_grid_of_column(body_.at(low + uniform * (high - low)));
}

double BinCode::low() const {
  const double bin = on_grid_of_column(body_.at(0));
  return spikes.empty() ? bin : std::min(bin, spikes.front());
}

double BinCode::high() const {
  const double bin = on_grid_of_column(body_.at(1));
  return spikes.empty() ? bin : std::max(bin, spikes.back());
}

double BinCode::on_grid_of_column(double x) const {
  return step > 1 ? step * std::nearbyint(x / step) : round_decimals(x, decimals);
}

}  // namespace tessera
