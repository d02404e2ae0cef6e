#include "models/privacy/private_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "tables/kinds/kind.h"

namespace tessera {
namespace {

constexpr int64_t kAllPoints = 256, kFirstCells = 128, kSplit = 32;  // of a grid of numbers
constexpr int64_t kSmooth = 16;                                      // points of a range with similar counts
constexpr int kSmallestPower = -20, kLargestPower = 52;              // of the ranges that are found
constexpr double kClearly = 4.5;                                     // standard deviations

[[noreturn]] void refuse_column(const Column& c, const std::string& what, const std::string& way_out) {
  throw Error(ErrorCode::usage, fmt::format("`epsilon`: column \"{}\" {}.\n  {}", c.name, what, way_out));
}

double read_end(const Column& c, const nlohmann::json& end, const char* key) {
  double x = 0;
  if (end.is_number()) x = end.get<double>();
  if (end.is_number() ? is_instant(c) : !kind_of(c).read(c, end.get<std::string>(), x))
    refuse_column(c, fmt::format("has a \"{}\" of {}, which is not {}", key, end.dump(), kind_of(c).cell),
                  "Correct the schema file.");
  return x;
}

// The standard normal quantile, by bisection.
double normal_above(double p) {
  double low = 0, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double z = (low + high) / 2;
    (std::erfc(z / std::sqrt(2.0)) / 2 > p ? low : high) = z;
  }
  return high;
}

// Takes noise off the counts of neighboring ranges: Haar wavelets of every shift, without coefficients below three of
// its deviations (Coifman, Donoho 1995, 10.1007/978-1-4612-2544-7_9). Both ends are mirrored.
void drop_noise(std::vector<double>& counts, double sigma) {
  constexpr double kThreshold = 3;
  const size_t n = counts.size(), m = 2 * std::bit_ceil(n);
  std::vector<double> sums(m);
  for (size_t i = 0; i < m; ++i) sums[i] = counts[i % (2 * n) < n ? i % n : n - 1 - i % n];
  std::vector<std::vector<double>> details;
  for (size_t shift = 1; shift < m; shift *= 2) {
    std::vector<double> next(m), detail(m);
    for (size_t i = 0; i < m; ++i) {
      const double a = sums[i], b = sums[(i + shift) % m];
      next[i] = (a + b) / std::numbers::sqrt2, detail[i] = (a - b) / std::numbers::sqrt2;
      if (std::abs(detail[i]) < kThreshold * sigma) detail[i] = 0;
    }
    sums = std::move(next);
    details.push_back(std::move(detail));
  }
  for (size_t shift = m / 2; shift > 0; shift /= 2) {
    const std::vector<double>& detail = details.back();
    std::vector<double> next(m);
    for (size_t i = 0; i < m; ++i) {
      const size_t before = (i + m - shift) % m;
      next[i] = (sums[i] + detail[i] + sums[before] - detail[before]) / (2 * std::numbers::sqrt2);
    }
    sums = std::move(next);
    details.pop_back();
  }
  std::copy_n(sums.begin(), n, counts.begin());
}

// Beside values that many rows share, the others have few: those below three deviations get their mean.
void pool_small(std::vector<double>& counts, double sigma) {
  const auto is_small = [&](double count) { return count < 3 * sigma; };
  double sum = 0, n = 0;
  for (const double count : counts)
    if (is_small(count)) sum += count, n += 1;
  for (double& count : counts)
    if (is_small(count)) count = sum / n;
}

// The nearest counts that are not negative and add up to `total`.
void project(std::vector<double>& counts, double total) {
  std::vector<double> sorted = counts;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double sum = 0, cut = 0;
  for (size_t k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    const double t = (sum - total) / static_cast<double>(k + 1);
    if (k + 1 == sorted.size() || sorted[k + 1] <= t) {
      cut = t;
      break;
    }
  }
  for (double& c : counts) c = std::max(0.0, c - cut);
}

}  // namespace

void keep_declared(Column& c) {
  const PrivateColumn declared(c);
  c.decimals = declared.head().decimals, c.format = declared.head().format, c.reason = declared.head().reason;
  c.arrow.clear();
}

PrivateColumn::PrivateColumn(const Column& c) {
  const ColumnKind& kind = kind_of(c);
  if (c.domain.empty())
    refuse_column(
        c, "has a type that was found in its rows",
        "Declare it by `types`, or in a schema file (docs/data/schema.md), which can give values or range, too.");
  if (kind.regenerated || !kind.varies)
    refuse_column(c, fmt::format("is {}: private counts of its texts would say nothing", type_in_words(c)),
                  "Omit it, or declare it as category with its values.");
  const nlohmann::json domain = nlohmann::json::parse(c.domain, nullptr, false);
  if (!domain.is_object()) refuse_column(c, "has a declaration that is not JSON", "Pass rows as tessera wrote them.");
  head_.name = c.name, head_.type = c.type, head_.reason = "the type was given", head_.format = kind.pattern;
  numeric_ = is_ordered(c);
  if (!numeric_) {
    if (domain.contains("min")) refuse_column(c, "has a range, but no numbers", "Declare its \"values\".");
    if (domain.contains("values")) values_ = domain["values"].get<std::vector<std::string>>();
    std::sort(values_.begin(), values_.end());
    values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
    if (kind.truths && values_.size() > 2) refuse_column(c, "is boolean with more than 2 values", "Declare two.");
    return;
  }
  if (domain.contains("values"))
    refuse_column(c, "has a list of values, but holds numbers", "Declare \"min\" and \"max\", or the type category.");
  ranged_ = domain.contains("min");
  const double high = ranged_ ? read_end(c, domain["max"], "max") : 0;
  if (ranged_) low_ = read_end(c, domain["min"], "min");
  if (ranged_ && !(low_ <= high && std::abs(low_) < 1e15 && std::abs(high) < 1e15))
    refuse_column(c, "has a \"min\" above its \"max\", or a range beyond 1e15", "Correct the schema file.");
  constexpr double kDigitsOfRange = 1e4;
  int digits = 0;
  if (has_fractions(c)) {
    if (domain.contains("decimals")) digits = domain["decimals"].get<int>();
    else if (ranged_ && high > low_)
      digits = std::clamp(static_cast<int>(std::ceil(std::log10(kDigitsOfRange / (high - low_)))), 0, 15);
    else if (!ranged_) digits = 2;
  }
  head_.decimals = digits;
  step_ = std::pow(10.0, -digits);
  points_ = static_cast<int64_t>(std::min(std::floor((high - low_) / step_ + 0.5), 4e18)) + 1;
}

int64_t PrivateColumn::mechanisms() const { return numeric_ && !ranged_ ? 2 : 1; }

void PrivateColumn::measure(const Column& c, double rows, uint64_t sigma2, double threshold_delta, SecretNoise& noise,
                            Ledger& ledger) {
  rows_ = rows;
  if (!numeric_) {
    measure_texts(c, sigma2, threshold_delta, noise, ledger);
    return;
  }
  if (!ranged_) find_range(c, sigma2, noise, ledger);
  measure_numbers(c, sigma2, noise, ledger);
}

void PrivateColumn::measure_texts(const Column& c, uint64_t sigma2, double threshold_delta, SecretNoise& noise,
                                  Ledger& ledger) {
  std::map<std::string, int64_t> counts;
  int64_t missing = 0;
  const bool declared = !values_.empty();
  for (const std::string& v : values_) counts[v] = 0;
  std::vector<int64_t> of_code(c.values.size());
  for (const int32_t code : c.codes) code < 0 ? ++missing : ++of_code[static_cast<size_t>(code)];
  int64_t others = 0;
  for (size_t k = 0; k < of_code.size(); ++k) {
    if (!declared || counts.contains(c.values[k])) counts[c.values[k]] += of_code[k];
    else others += of_code[k];
  }
  const auto variance = static_cast<double>(sigma2);
  const double least =
      declared ? -1e300 : 2 + std::sqrt(variance) * normal_above(threshold_delta);  // P(noise + 1 ≥ least) ≤ delta
  values_.clear(), leaves_.clear();
  size_t largest = 0;
  for (const auto& [text, n] : counts) {
    if (n == 0 && !declared) continue;
    const auto noisy = static_cast<double>(n + noise.discrete_gaussian(sigma2));
    if (noisy < least) continue;
    leaves_.push_back({static_cast<int64_t>(values_.size()), static_cast<int64_t>(values_.size()), noisy, variance});
    values_.push_back(text);
    if (noisy > leaves_[largest].count) largest = leaves_.size() - 1;
  }
  if (declared) {  // others are learned as the most frequent value
    const auto noisy = static_cast<double>(others + noise.discrete_gaussian(sigma2));
    if (noisy > kClearly * std::sqrt(variance)) leaves_[largest].count += noisy;
  }
  leaves_.push_back({-1, -1, static_cast<double>(missing + noise.discrete_gaussian(sigma2)), variance});
  ledger.add({declared ? "counts of values" : "counts of values above a threshold", c.name,
              static_cast<int64_t>(leaves_.size()) + (declared ? 1 : 0), 1, sigma2, declared ? 0 : threshold_delta});
  head_.values = values_;
}

void PrivateColumn::find_range(const Column& c, uint64_t sigma2, SecretNoise& noise, Ledger& ledger) {
  constexpr int kPowers = kLargestPower - kSmallestPower + 1;  // counts of −2^k, 0 and 2^k
  std::vector<int64_t> counts(2 * kPowers + 1);
  for (const double x : c.numbers) {
    if (x != x) continue;
    const int power = x == 0 ? 0 : std::clamp(std::ilogb(x), kSmallestPower, kLargestPower) - kSmallestPower + 1;
    ++counts[static_cast<size_t>(x < 0 ? kPowers - power : kPowers + power)];
  }
  int first = kPowers, last = kPowers;
  bool any = false;
  for (int k = 0; k < 2 * kPowers + 1; ++k) {
    const auto noisy = static_cast<double>(counts[static_cast<size_t>(k)] + noise.discrete_gaussian(sigma2));
    if (noisy < kClearly * std::sqrt(static_cast<double>(sigma2))) continue;
    if (!any) first = k;
    last = k, any = true;
  }
  const auto edge = [&](int k, bool outer) {
    if (k == kPowers) return 0.0;
    const int power = std::abs(k - kPowers) - 1 + kSmallestPower;
    return std::ldexp(k < kPowers ? -1.0 : 1.0, power + (outer ? 1 : 0));
  };
  const double low = edge(first, first < kPowers), high = edge(last, last > kPowers);
  low_ = std::floor(low / step_) * step_;
  points_ = static_cast<int64_t>(std::min((high - low_) / step_ + 0.5, 4e18)) + 1;
  ledger.add({"magnitudes", c.name, 2 * kPowers + 1, 1, sigma2, 0});
}

int64_t PrivateColumn::point_of(double x) const {
  return static_cast<int64_t>(std::clamp(std::floor((x - low_) / step_ + 0.5), 0.0, static_cast<double>(points_ - 1)));
}

size_t PrivateColumn::leaf_of(int64_t point) const {
  const auto after = std::upper_bound(leaves_.begin(), leaves_.end() - 1, point,
                                      [](int64_t p, const Leaf& leaf) { return p < leaf.first; });
  return static_cast<size_t>(after - leaves_.begin()) - 1;
}

void PrivateColumn::measure_numbers(const Column& c, uint64_t sigma2, SecretNoise& noise, Ledger& ledger) {
  leaves_ = parts_of({0, points_ - 1}, points_ > kAllPoints ? kFirstCells : kAllPoints);
  leaves_.push_back({-1, -1});
  count(c, std::vector<bool>(leaves_.size(), true), "counts of ranges", sigma2, noise, ledger);
  smooth(0, leaves_.size() - 1, false);
}

std::vector<PrivateColumn::Leaf> PrivateColumn::parts_of(const Leaf& leaf, int64_t parts) {
  std::vector<Leaf> out;
  const int64_t size = leaf.last - leaf.first + 1, n = std::min(parts, size);
  const auto cut = [&](int64_t i) { return leaf.first + size / n * i + std::min(i, size % n); };
  for (int64_t k = 0; k < n; ++k) out.push_back({cut(k), cut(k + 1) - 1});
  return out;
}

void PrivateColumn::count(const Column& c, const std::vector<bool>& wanted, const char* what, uint64_t sigma2,
                          SecretNoise& noise, Ledger& ledger) {
  std::vector<int64_t> counts(leaves_.size());
  for (const double x : c.numbers) ++counts[x != x ? leaves_.size() - 1 : leaf_of(point_of(x))];
  int64_t measured = 0;
  for (size_t k = 0; k < leaves_.size(); ++k) {
    if (!wanted[k]) continue;
    leaves_[k].count = static_cast<double>(counts[k] + noise.discrete_gaussian(sigma2));
    leaves_[k].variance = static_cast<double>(sigma2);
    ++measured;
  }
  ledger.add({what, c.name, measured, 1, sigma2, 0});
}

// Of leaves that were measured together. Ranges that are divided do not resemble their neighbors: here they count as
// these do. Nor do single values, such as round numbers.
void PrivateColumn::smooth(size_t begin, size_t end, bool parts) {
  const bool ranges = leaves_[begin].last - leaves_[begin].first >= kSmooth;
  if (end - begin < 4 || (!ranges && !parts)) return;
  std::vector<double> counts;
  std::vector<size_t> own;  // those that have many
  for (size_t k = begin; k < end; ++k) {
    if (has_many(leaves_[k])) own.push_back(k - begin);
    counts.push_back(has_many(leaves_[k]) ? k > begin ? counts.back() : 0 : leaves_[k].count);
  }
  for (size_t k = own.size(); k-- > 0;)  // from the right, too
    if (const size_t next = own[k] + 1; next < counts.size())
      counts[own[k]] = own[k] == 0 ? counts[next] : (counts[own[k]] + counts[next]) / 2;
  const double sigma = std::sqrt(leaves_[begin].variance);
  ranges ? drop_noise(counts, sigma) : pool_small(counts, sigma);
  for (size_t k = begin; k < end; ++k)
    if (!has_many(leaves_[k])) leaves_[k].count = counts[k - begin];
}

bool PrivateColumn::has_many(const Leaf& leaf) const {
  return leaf.first >= 0 && leaf.last > leaf.first && leaf.count > std::max(8 * std::sqrt(leaf.variance), rows_ / 16);
}

bool PrivateColumn::is_coarse() const {
  return numeric_ && std::any_of(leaves_.begin(), leaves_.end(), [&](const Leaf& leaf) { return has_many(leaf); });
}

void PrivateColumn::divide(const Column& c, uint64_t sigma2, SecretNoise& noise, Ledger& ledger) {
  struct Group {  // of parts
    size_t begin, end;
    double whole, variance;
  };
  std::vector<Leaf> next;
  std::vector<bool> fresh;
  std::vector<Group> groups;
  for (const Leaf& leaf : leaves_) {
    if (has_many(leaf)) {
      const std::vector<Leaf> parts = parts_of(leaf, kSplit);
      groups.push_back({next.size(), next.size() + parts.size(), leaf.count, leaf.variance});
      next.insert(next.end(), parts.begin(), parts.end());
    } else {
      next.push_back(leaf);
    }
    fresh.resize(next.size(), has_many(leaf));
  }
  leaves_ = std::move(next);
  count(c, fresh, "counts of parts of large ranges", sigma2, noise, ledger);
  for (const Group& g : groups) {
    // the whole was counted, too: both together are nearer to the truth
    double sum = 0;
    for (size_t k = g.begin; k < g.end; ++k) sum += leaves_[k].count;
    const auto own = static_cast<double>(sigma2);
    const double each = (g.whole - sum) * own / (g.variance + own * static_cast<double>(g.end - g.begin));
    for (size_t k = g.begin; k < g.end; ++k) leaves_[k].count += each;
    smooth(g.begin, g.end, true);
  }
}

void PrivateColumn::form_levels(double least, int bins) {
  std::vector<double> counts;
  for (const Leaf& leaf : leaves_) counts.push_back(leaf.count);
  project(counts, rows_);
  double common = 0;  // rows of no large leaf
  for (size_t k = 0; k < leaves_.size(); ++k) {
    leaves_[k].count = counts[k];
    if (counts[k] < rows_ / bins) common += counts[k];
  }
  counts_.clear();
  const double wanted = std::max(least, common / bins);
  int others = -1, open = -1;  // the level of rare values; a level of numbers that is not full
  std::vector<double> noises;
  const auto new_level = [&] {
    counts_.push_back(0), noises.push_back(0);
    return levels() - 1;
  };
  for (Leaf& leaf : leaves_) {
    if (numeric_ && leaf.first >= 0) {
      const bool large = leaf.count >= rows_ / bins;
      if (large || open < 0) open = new_level();
      leaf.level = open;
      if (large || counts_[static_cast<size_t>(open)] + leaf.count >= wanted) open = -1;
    } else if (leaf.count >= least) {
      leaf.level = new_level();
    } else if (leaf.first < 0 && numeric_) {
      leaf.count = 0, leaf.level = 0;  // too few missing numbers to differ from noise
    } else {
      leaf.level = others = others < 0 ? new_level() : others;
    }
    counts_[static_cast<size_t>(leaf.level)] += leaf.count, noises[static_cast<size_t>(leaf.level)] += leaf.variance;
  }
  variance_ = std::accumulate(noises.begin(), noises.end(), 0.0) / static_cast<double>(noises.size());
}

std::vector<int> PrivateColumn::levels_of(const Column& c, int64_t rows) const {
  std::vector<int> out(static_cast<size_t>(rows));
  const int missing = leaves_.back().level;
  if (numeric_) {
    for (size_t r = 0; r < out.size(); ++r)
      out[r] = c.numbers[r] != c.numbers[r] ? missing : leaves_[leaf_of(point_of(c.numbers[r]))].level;
    return out;
  }
  // values that are not known count as the most frequent one
  size_t largest = leaves_.size() - 1;
  for (size_t k = 0; k < leaves_.size(); ++k)
    if (leaves_[k].count > leaves_[largest].count) largest = k;
  std::unordered_map<std::string, int> level;
  for (size_t k = 0; k < values_.size(); ++k) level[values_[k]] = leaves_[k].level;
  std::vector<int> of_code;
  for (const std::string& v : c.values) {
    const auto at = level.find(v);
    of_code.push_back(at == level.end() ? leaves_[largest].level : at->second);
  }
  for (size_t r = 0; r < out.size(); ++r) out[r] = c.codes[r] < 0 ? missing : of_code[static_cast<size_t>(c.codes[r])];
  return out;
}

Column PrivateColumn::draw(const std::vector<int>& rows, SecretNoise& noise) const {
  Column out = head_;
  std::vector<std::vector<size_t>> leaves(counts_.size());
  std::vector<double> sums(counts_.size());
  for (size_t k = 0; k < leaves_.size(); ++k) {
    leaves[static_cast<size_t>(leaves_[k].level)].push_back(k);
    sums[static_cast<size_t>(leaves_[k].level)] += leaves_[k].count;
  }
  for (const int level : rows) {
    const std::vector<size_t>& of = leaves[static_cast<size_t>(level)];
    double at = noise.uniform() * sums[static_cast<size_t>(level)];
    size_t k = 0;
    while (k + 1 < of.size() && at >= leaves_[of[k]].count) at -= leaves_[of[k++]].count;
    const Leaf& leaf = leaves_[of[k]];
    if (leaf.first < 0) out.push_missing();
    else if (!numeric_) out.codes.push_back(static_cast<int32_t>(leaf.first));
    else {
      const int64_t point =
          leaf.first + static_cast<int64_t>(noise.below(static_cast<uint64_t>(leaf.last - leaf.first + 1)));
      const double scale = std::pow(10.0, head_.decimals);
      out.numbers.push_back(std::round((low_ + static_cast<double>(point) * step_) * scale) / scale);
    }
  }
  return out;
}

}  // namespace tessera
