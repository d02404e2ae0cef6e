// Sequences over time: quantiles of each feature at each step, and a few paths. A real quantile has at least
// kMinDrawn sequences on either side, and a path is the mean of kMinDrawn similar sequences, of both tables.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/quality/common/json_number.h"
#include "models/quality/common/statistics.h"
#include "models/quality/drawings/drawings.h"

namespace tessera::quality {
namespace {

using nlohmann::json;

constexpr size_t kDrawnFeatures = 24, kDrawnPaths = 4, kTogether = kMinDrawn;
constexpr int64_t kMaxSteps = 60, kMaxSequences = 2000;  // steps drawn; sequences among which paths are chosen
constexpr int64_t kMaxCounted = 20'000;                  // sequences whose quantiles are drawn
constexpr std::pair<const char*, double> kQuantiles[] = {
    {"p10", 0.1}, {"p25", 0.25}, {"p50", 0.5}, {"p75", 0.75}, {"p90", 0.9}};

// At most `most` of `count` sequences, evenly spaced.
std::vector<int64_t> evenly(int64_t count, int64_t most) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; i += (count + most - 1) / most) out.push_back(i);
  return out;
}

// One feature of one set at the drawn steps.
class Drawn {
 public:
  Drawn(const StepSet& set, const StepFeature& feature, size_t k, const std::vector<int64_t>& steps)
      : set_(set), feature_(feature), k_(k), steps_(steps) {
    counted_ = evenly(set.size(), kMaxCounted), some_ = evenly(set.size(), kMaxSequences);
  }

  json quantiles(bool protect) const {
    json out;
    for (const auto& [name, q] : kQuantiles) out[name] = json::array();
    for (const int64_t t : steps_) {
      std::vector<double> values = at_step(t);
      std::sort(values.begin(), values.end());
      for (const auto& [name, q] : kQuantiles) {
        const double beyond = std::min(q, 1 - q) * static_cast<double>(values.size());
        const bool shown = !values.empty() && (!protect || beyond >= static_cast<double>(kTogether));
        out[name].push_back(shown ? json(in_units(quantile_sorted(values, q))) : json(nullptr));
      }
    }
    return out;
  }

  // For a 0/1 feature: the share of sequences that have it.
  json shares(bool protect) const {
    json out = json::array();
    for (const int64_t t : steps_) {
      const std::vector<double> values = at_step(t);
      const double all = static_cast<double>(values.size()), with = std::accumulate(values.begin(), values.end(), 0.0),
                   few = std::min(with, all - with);
      const bool shown = all > 0 && (!protect || few == 0 || few >= static_cast<double>(kTogether));
      out.push_back(shown && !(protect && all < static_cast<double>(kTogether)) ? json(with / all) : json(nullptr));
    }
    return out;
  }

  json paths() const {
    json out = json::array();
    if (some_.size() < kTogether) return out;
    std::vector<size_t> order(some_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::vector<double> level;
    for (const int64_t i : some_) level.push_back(mean_of_path(i));
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return level[a] < level[b]; });
    std::vector<char> used(some_.size(), 0);
    for (size_t p = 0; p < kDrawnPaths; ++p) {
      const size_t center = order[(2 * p + 1) * order.size() / (2 * kDrawnPaths)];
      if (used[center] == 0) add_path(center, used, out);
    }
    return out;
  }

 private:
  double value(int64_t sequence, int64_t t) const {
    return set_.values[static_cast<size_t>((set_.first[static_cast<size_t>(sequence)] + t) * set_.features) + k_];
  }
  int64_t length(int64_t sequence) const { return set_.length[static_cast<size_t>(sequence)]; }
  double in_units(double x) const { return feature_.number ? feature_.low + x * feature_.range : x; }

  std::vector<double> at_step(int64_t t) const {
    std::vector<double> out;
    for (const int64_t i : counted_)
      if (t < length(i)) out.push_back(value(i, t));
    return out;
  }

  double mean_of_path(int64_t sequence) const {
    double sum = 0;
    for (int64_t t = 0; t < length(sequence); ++t) sum += value(sequence, t);
    return sum / static_cast<double>(length(sequence));
  }

  // The mean of a sequence and those nearest to it, over the steps that all of them have. No sequence is in two paths,
  // because their difference would reveal single sequences.
  void add_path(size_t center, std::vector<char>& used, json& out) const {
    std::vector<int64_t> lengths;
    for (size_t s = 0; s < some_.size(); ++s)
      if (used[s] == 0) lengths.push_back(length(some_[s]));
    if (lengths.size() < kTogether) return;
    std::nth_element(lengths.begin(), lengths.begin() + kTogether - 1, lengths.end(), std::greater<>());
    const int64_t steps = std::min(length(some_[center]), lengths[kTogether - 1]);
    std::vector<std::pair<double, size_t>> near;
    for (size_t s = 0; s < some_.size(); ++s)
      if (used[s] == 0 && length(some_[s]) >= steps) near.emplace_back(distance(some_[s], some_[center], steps), s);
    std::sort(near.begin(), near.end());
    json path = json::array();
    for (const int64_t t : steps_) {
      double sum = 0;
      for (size_t n = 0; n < kTogether && t < steps; ++n) sum += value(some_[near[n].second], t);
      path.push_back(t < steps ? json(in_units(sum / static_cast<double>(kTogether))) : json(nullptr));
    }
    for (size_t n = 0; n < kTogether; ++n) used[near[n].second] = 1;
    out.push_back(std::move(path));
  }

  double distance(int64_t a, int64_t b, int64_t steps) const {
    double sum = 0;
    for (const int64_t t : steps_)
      if (t < steps) sum += (value(a, t) - value(b, t)) * (value(a, t) - value(b, t));
    return sum;
  }

  const StepSet& set_;
  const StepFeature& feature_;
  size_t k_;
  const std::vector<int64_t>& steps_;
  std::vector<int64_t> counted_, some_;  // sequences: for quantiles and shares; among which paths are chosen
};

// Evenly spaced, from the first to the last step of the longest sequence.
std::vector<int64_t> drawn_steps(int64_t longest) {
  const int64_t n = std::min(longest, kMaxSteps);
  std::vector<int64_t> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(n == 1 ? 0 : i * (longest - 1) / (n - 1));
  return out;
}

}  // namespace

json draw_sequences(const StepFeatures& f, const std::vector<double>& differ, const Workers& workers) {
  std::vector<size_t> order;
  for (size_t k = 0; k < f.features.size(); ++k)
    if (!f.features[k].fixed && !f.features[k].time) order.push_back(k);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return differ[a] > differ[b]; });
  if (order.size() > kDrawnFeatures) order.resize(kDrawnFeatures);
  const std::vector<int64_t> steps = drawn_steps(std::max(f.real.longest, f.synthetic.longest));
  std::vector<json> drawn(order.size());
  workers.for_each("paths", "features", static_cast<int64_t>(order.size()), 1, [&](int64_t i) {
    const size_t k = order[static_cast<size_t>(i)];
    const StepFeature& feature = f.features[k];
    const Drawn real(f.real, feature, k, steps), synthetic(f.synthetic, feature, k, steps);
    json& out = drawn[static_cast<size_t>(i)];
    out = {{"name", feature.name}, {"number", feature.number}, {"steps", steps}};
    if (!feature.number) {
      out["shares"] = {{"real", real.shares(true)}, {"synthetic", synthetic.shares(false)}};
      return;
    }
    out["quantiles"] = {{"real", real.quantiles(true)}, {"synthetic", synthetic.quantiles(false)}};
    out["paths"] = {{"real", real.paths()}, {"synthetic", synthetic.paths()}};
  });
  return drawn;
}

}  // namespace tessera::quality
