#include "models/quality/two_sample.h"

#include <algorithm>
#include <numeric>

#include "kernels/philox.h"
#include "models/quality/classification.h"
#include "models/quality/statistics.h"

namespace tessera::quality {
namespace {

constexpr uint32_t kDrawRows = 0x20, kDrawFolds = 0x21;

// 0 … n − 1 in an order drawn by seed.
std::vector<int64_t> shuffled(int64_t n, uint64_t seed, uint32_t use, uint32_t which) {
  std::vector<std::pair<uint64_t, int64_t>> keyed(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const Philox p = philox(static_cast<uint32_t>(i), which, static_cast<uint32_t>(static_cast<uint64_t>(i) >> 32), static_cast<uint32_t>(Purpose::evaluate) << 16 | use,
                            static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
    keyed[static_cast<size_t>(i)] = {uint64_t{p.word[0]} << 32 | p.word[1], i};
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<int64_t> order;
  order.reserve(keyed.size());
  for (const auto& [_, i] : keyed) order.push_back(i);
  return order;
}

// `count` of a table's rows (or of `given`), drawn by seed, in the order they have there.
std::vector<int64_t> choose(int64_t rows, std::span<const int64_t> given, int64_t count, uint64_t seed, uint32_t side) {
  std::vector<int64_t> from = given.empty() ? every_row(rows) : std::vector<int64_t>(given.begin(), given.end());
  if (count == static_cast<int64_t>(from.size())) return from;
  std::vector<int64_t> drawn = shuffled(static_cast<int64_t>(from.size()), seed, kDrawRows, side);
  drawn.resize(static_cast<size_t>(count));
  std::sort(drawn.begin(), drawn.end());
  for (int64_t& i : drawn) i = from[static_cast<size_t>(i)];
  return drawn;
}

}  // namespace

TwoSamples two_samples(const Comparison& c, size_t a, size_t b, uint64_t seed, int64_t most, std::span<const int64_t> a_rows, std::span<const int64_t> b_rows) {
  const auto size = [&](size_t t, std::span<const int64_t> given) { return given.empty() ? c.tables[t].rows : static_cast<int64_t>(given.size()); };
  TwoSamples out;
  out.rows = std::min({size(a, a_rows), size(b, b_rows), most});
  const std::vector<int64_t> side[2] = {choose(c.tables[a].rows, a_rows, out.rows, seed, 0), choose(c.tables[b].rows, b_rows, out.rows, seed, 1)};
  out.x.rows = 2 * out.rows;
  for (size_t k = 0; k < c.facts.size(); ++k) {
    const auto gather = [&](auto& storage, auto view) {
      auto& values = storage.emplace_back();
      values.reserve(static_cast<size_t>(out.x.rows));
      for (const size_t s : {size_t{0}, size_t{1}})
        for (const int64_t r : side[s]) values.push_back(view(c.tables[s == 0 ? a : b].columns[k])[static_cast<size_t>(r)]);
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
  for (const uint32_t s : {0u, 1u}) {
    const std::vector<int64_t> order = shuffled(out.rows, seed, kDrawFolds, s);
    for (size_t i = 0; i < order.size(); ++i) out.fold[static_cast<size_t>(order[i] + (s == 0 ? 0 : out.rows))] = static_cast<int>(i % kFolds);
  }
  return out;
}

double c2st_trees(const TwoSamples& samples, const TreeOptions& options, const Workers& workers, const char* note) {
  if (samples.rows < kFolds) return kUndefined;
  const BinnedRows x(FeatureBins(samples.x), samples.x);
  std::vector<double> target(static_cast<size_t>(x.rows()));
  for (int64_t i = 0; i < x.rows(); ++i) target[static_cast<size_t>(i)] = samples.second(i);
  std::vector<double> auc(kFolds);
  workers.for_each_part(note, "trees", kFolds, options.trees, [&](int64_t f, const Workers::Part& done) {
    std::vector<int64_t> learning, judged;
    for (int64_t i = 0; i < x.rows(); ++i) (samples.fold[static_cast<size_t>(i)] == f ? judged : learning).push_back(i);
    const BoostedTrees model = BoostedTrees::fit(x, learning, target, TreeLoss::logistic, options, done);
    std::vector<char> second;
    for (const int64_t r : judged) second.push_back(samples.second(r));
    auc[static_cast<size_t>(f)] = roc_auc(model.predict(x, judged), second);
  });
  return mean_defined(auc);
}

}  // namespace tessera::quality

namespace tessera {

double c2st_trees(const Table& real, const Table& synthetic, uint64_t seed, Team& team, std::span<const int64_t> real_rows, std::span<const int64_t> synthetic_rows) {
  using namespace quality;
  const Monitor silent;
  const Comparison c = compare_tables({{"real", &real}, {"synthetic", &synthetic}});
  TreeOptions options;
  options.seed = seed;
  return quality::c2st_trees(two_samples(c, 0, 1, seed, INT64_MAX, real_rows, synthetic_rows), options, {team, silent}, "c2st trees");
}

}  // namespace tessera
