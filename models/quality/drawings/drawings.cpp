#include "models/quality/drawings/drawings.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/quality/common/json_number.h"
#include "models/quality/common/statistics.h"

namespace tessera::quality {
namespace {

using nlohmann::json;

constexpr int kBins = 40, kGridBins = 12;
constexpr size_t kLevels = 15, kGridLevels = 10, kWorstPairs = 8;

json draw_column(const Comparison& c, const Table& real, size_t k) {
  const Axis axis = make_axis(c, k, kBins, kLevels);
  json out = describe_axis(axis, c, real, k);
  for (const size_t t : {size_t{0}, size_t{1}}) {
    std::vector<int64_t> count(static_cast<size_t>(axis.slots), 0);
    for (size_t r = 0; r < static_cast<size_t>(c.tables[t].rows); ++r)
      ++count[static_cast<size_t>(axis.slot(c.tables[t].columns[k], r))];
    if (t == 0) out["withheld"] = withhold(count, count.size(), out["real"]);
    else out["synthetic"] = count;
  }
  return out;
}

// Cells of two axes, row after row.
json draw_pair(const Comparison& c, const Table& real, const PairTrend& p) {
  const auto ka = static_cast<size_t>(p.a), kb = static_cast<size_t>(p.b);
  const Axis a = make_axis(c, ka, kGridBins, kGridLevels), b = make_axis(c, kb, kGridBins, kGridLevels);
  json out{{"a", describe_axis(a, c, real, ka)},
           {"b", describe_axis(b, c, real, kb)},
           {"score", number_or_null(p.score_real_edges)}};
  for (const size_t t : {size_t{0}, size_t{1}}) {
    const ComparedTable& table = c.tables[t];
    std::vector<int64_t> count(static_cast<size_t>(a.slots * b.slots), 0);
    for (size_t r = 0; r < static_cast<size_t>(table.rows); ++r)
      ++count[static_cast<size_t>(a.slot(table.columns[ka], r) * b.slots + b.slot(table.columns[kb], r))];
    if (t == 0) out["withheld"] = withhold(count, static_cast<size_t>(b.slots), out["real"]);
    else out["synthetic"] = count;
  }
  return out;
}

// draw(i) for each i, in order, computed by all threads.
template <class Draw>
json draw_each(size_t count, const char* note, const char* unit, const Workers& workers, Draw&& draw) {
  std::vector<json> drawn(count);
  workers.for_each(note, unit, static_cast<int64_t>(count), 1, [&](int64_t i) {
    const auto k = static_cast<size_t>(i);
    drawn[k] = draw(k);
  });
  return drawn;
}

}  // namespace

json draw_columns(const Comparison& c, const Table& real, const Workers& workers) {
  return draw_each(c.facts.size(), "drawings", "columns", workers, [&](size_t k) { return draw_column(c, real, k); });
}

json draw_worst_pairs(const Comparison& c, const Table& real, const std::vector<PairTrend>& pairs,
                      const Workers& workers) {
  std::vector<PairTrend> worst;
  std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(worst),
               [](const PairTrend& p) { return !std::isnan(p.score_real_edges); });
  std::stable_sort(worst.begin(), worst.end(),
                   [](const PairTrend& a, const PairTrend& b) { return a.score_real_edges < b.score_real_edges; });
  worst.resize(std::min(worst.size(), kWorstPairs));
  return draw_each(worst.size(), "drawings", "pairs", workers, [&](size_t i) { return draw_pair(c, real, worst[i]); });
}

json draw_percentiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  json out = json::array();
  for (int i = 1; i < 100; ++i) out.push_back(number_or_null(quantile_sorted(values, i / 100.0)));
  return out;
}

}  // namespace tessera::quality
