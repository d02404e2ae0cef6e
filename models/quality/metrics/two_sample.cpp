#include "models/quality/metrics/two_sample.h"

#include <algorithm>
#include <cmath>

#include "models/quality/common/sampling.h"
#include "models/quality/common/statistics.h"
#include "models/quality/learners/classification.h"
#include "models/quality/learners/logistic_regression.h"

namespace tessera::quality {
namespace {

std::vector<double> sides(const TwoSamples& samples) {
  std::vector<double> target(static_cast<size_t>(samples.x.rows), 0);
  std::fill(target.begin() + samples.rows, target.end(), 1);
  return target;
}

struct Fold {
  std::vector<int64_t> learning, judged;
};

// Mean of vectors of equal length; empty ones are ignored.
std::vector<double> mean_of(const std::vector<std::vector<double>>& all) {
  std::vector<double> sum;
  double count = 0;
  for (const auto& one : all) {
    if (one.empty()) continue;
    sum.resize(one.size(), 0);
    for (size_t i = 0; i < one.size(); ++i) sum[i] += one[i];
    count += 1;
  }
  for (double& x : sum) x /= count;
  return sum;
}

// judge(fold, part, number) scores every test row of a fold.
template <class Judge>
Detection detect(const TwoSamples& samples, const Workers& workers, const char* note, int64_t parts, Judge&& judge) {
  std::vector<double> auc(kFolds), score(kFolds);
  std::vector<std::vector<double>> roc(kFolds);
  workers.for_each_part(note, parts > 1 ? "trees" : "folds", kFolds, parts, [&](int64_t f, const Workers::Part& done) {
    Fold fold;
    for (int64_t i = 0; i < samples.x.rows; ++i)
      (samples.fold[static_cast<size_t>(i)] == f ? fold.judged : fold.learning).push_back(i);
    std::vector<char> second;
    for (const int64_t r : fold.judged) second.push_back(samples.second(r));
    const auto at = static_cast<size_t>(f);
    const std::vector<double> answers = judge(fold, done, at);
    auc[at] = roc_auc(answers, second);
    score[at] = 2 * std::max(auc[at], 0.5) - 1;
    roc[at] = roc_curve(answers, second, kRocSteps);
  });
  return {mean_defined(auc), 1 - mean_defined(score), mean_of(roc)};
}

std::vector<double> shares(std::span<const double> parts) {
  double sum = 0;
  for (const double p : parts) sum += p;
  std::vector<double> out(parts.begin(), parts.end());
  for (double& p : out) p = sum > 0 ? p / sum : 0;
  return out;
}

DesignRows design(const TwoSamples& samples) {
  DesignRows x;
  x.rows = samples.x.rows;
  std::vector<const FeatureColumn*> numbers, hots;
  for (size_t k = 0; k < samples.kinds.size(); ++k)
    (samples.kinds[k] == Kind::categorical ? hots : numbers).push_back(&samples.x.columns[k]);
  x.numbers = numbers.size();
  x.hots = hots.size();
  x.number.resize(static_cast<size_t>(x.rows) * x.numbers);
  x.hot.resize(static_cast<size_t>(x.rows) * x.hots);
  for (size_t k = 0; k < x.numbers; ++k) {
    const std::span<const double> from = numbers[k]->numbers;
    const double mean = mean_defined({from.begin(), from.begin() + samples.rows}),
                 filling = std::isnan(mean) ? 0 : mean;
    for (size_t i = 0; i < from.size(); ++i) x.number[i * x.numbers + k] = std::isnan(from[i]) ? filling : from[i];
  }
  x.features = static_cast<int32_t>(x.numbers);
  for (size_t k = 0; k < x.hots; ++k) {
    const std::span<const int32_t> from = hots[k]->codes;
    for (size_t i = 0; i < from.size(); ++i) x.hot[i * x.hots + k] = x.features + from[i] + 1;
    x.features += hots[k]->levels + 1;
  }
  return x;
}

// Centers by the median and divides by the interquartile range of `rows`, if not 0. For one-hot features that range is
// 1, except in rare cases.
void scale(DesignRows& x, std::span<const int64_t> rows) {
  std::vector<double> sorted(rows.size());
  for (size_t k = 0; k < x.numbers; ++k) {
    for (size_t i = 0; i < rows.size(); ++i) sorted[i] = x.number[static_cast<size_t>(rows[i]) * x.numbers + k];
    std::sort(sorted.begin(), sorted.end());
    const double middle = quantile_sorted(sorted, 0.5),
                 spread = quantile_sorted(sorted, 0.75) - quantile_sorted(sorted, 0.25),
                 width = spread > 0 ? spread : 1;
    for (size_t i = 0; i < static_cast<size_t>(x.rows); ++i)
      x.number[i * x.numbers + k] = (x.number[i * x.numbers + k] - middle) / width;
  }
}

}  // namespace

TwoSamples two_samples(const Comparison& c, size_t a, size_t b, uint64_t seed, int64_t most,
                       std::span<const int64_t> a_rows, std::span<const int64_t> b_rows) {
  const auto size = [&](size_t t, std::span<const int64_t> given) {
    return given.empty() ? c.tables[t].rows : static_cast<int64_t>(given.size());
  };
  TwoSamples out;
  out.rows = std::min({size(a, a_rows), size(b, b_rows), most});
  const auto choose = [&](size_t t, std::span<const int64_t> given, uint32_t which) {
    return drawn(given.empty() ? every_row(c.tables[t].rows) : std::vector<int64_t>(given.begin(), given.end()),
                 out.rows, seed, Draw::sample_rows, which);
  };
  const std::vector<int64_t> side[2] = {choose(a, a_rows, 0), choose(b, b_rows, 1)};
  out.x.rows = 2 * out.rows;
  for (size_t k = 0; k < c.facts.size(); ++k) {
    out.kinds.push_back(c.facts[k].kind);
    const auto gather = [&](auto& storage, auto view) {
      auto& values = storage.emplace_back();
      values.reserve(static_cast<size_t>(out.x.rows));
      for (const size_t s : {size_t{0}, size_t{1}})
        for (const int64_t r : side[s])
          values.push_back(view(c.tables[s == 0 ? a : b].columns[k])[static_cast<size_t>(r)]);
    };
    if (c.facts[k].kind == Kind::categorical) {
      gather(out.codes, [](const ComparedColumn& column) { return column.codes; });
      out.x.columns.push_back({{}, out.codes.back(), c.facts[k].levels});
    } else {
      gather(out.numbers, [](const ComparedColumn& column) { return column.numbers; });
      out.x.columns.push_back({out.numbers.back(), {}, 0});
    }
  }
  out.fold.resize(static_cast<size_t>(out.x.rows));
  const std::vector<int64_t> order = shuffled(out.rows, seed, Draw::folds);
  for (size_t i = 0; i < order.size(); ++i)
    for (const int64_t side_start : {int64_t{0}, out.rows})
      out.fold[static_cast<size_t>(order[i] + side_start)] = static_cast<int>(i % kFolds);
  return out;
}

TwoSamples two_halves(const Comparison& c, size_t table, uint64_t seed, int64_t most) {
  const std::vector<int64_t> order = shuffled(c.tables[table].rows, seed, Draw::halves);
  const size_t half = order.size() / 2;
  if (half == 0) return {};
  return two_samples(c, table, table, seed, most, std::span(order).first(half), std::span(order).subspan(half, half));
}

Detection c2st_trees(const TwoSamples& samples, const TreeOptions& options, const Workers& workers, const char* note) {
  if (samples.rows < kFolds) return {kUndefined, kUndefined};
  const BinnedRows x(FeatureBins(samples.x), samples.x);
  const std::vector<double> target = sides(samples);
  std::vector<std::vector<double>> gain(kFolds);
  Detection found =
      detect(samples, workers, note, options.trees, [&](const Fold& fold, const Workers::Part& done, size_t at) {
        const auto model = BoostedTrees::fit(x, fold.learning, target, TreeLoss::logistic, options, done);
        gain[at] = shares(model.gains());
        return model.predict(x, fold.judged);
      });
  found.gain = mean_of(gain);
  return found;
}

Detection c2st_logistic(const TwoSamples& samples, const Workers& workers, const char* note) {
  if (samples.rows < kFolds) return {kUndefined, kUndefined};
  const DesignRows plain = design(samples);
  const std::vector<double> target = sides(samples);
  return detect(samples, workers, note, 1, [&](const Fold& fold, const Workers::Part&, size_t) {
    DesignRows x = plain;
    scale(x, fold.learning);
    const LogisticRegression model = LogisticRegression::fit(x, fold.learning, target);
    std::vector<double> score;
    for (const int64_t r : fold.judged) score.push_back(model.log_odds(x, r));
    return score;
  });
}

}  // namespace tessera::quality

namespace tessera {

double c2st_trees(const Table& real, const Table& synthetic, uint64_t seed, Team& team,
                  std::span<const int64_t> real_rows, std::span<const int64_t> synthetic_rows) {
  using namespace quality;
  const Monitor silent;
  const Comparison c = compare_tables({{"real", &real}, {"synthetic", &synthetic}});
  TreeOptions options;
  options.seed = seed;
  return quality::c2st_trees(two_samples(c, 0, 1, seed, INT64_MAX, real_rows, synthetic_rows), options, {team, silent},
                             "c2st trees")
      .auc;
}

}  // namespace tessera
