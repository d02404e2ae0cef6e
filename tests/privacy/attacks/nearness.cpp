#include "privacy/attacks/nearness.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "models/quality/metrics/distances.h"
#include "privacy/attacks/rows.h"

namespace tessera::privacy {
namespace {

struct Distances {
  Team team{0};
  Monitor monitor;
  quality::Workers workers{team, monitor};
  quality::Comparison tables;  // 0: reference, 1: members, 2: held-out, 3: synthetic

  Distances(const Split& s, const Table& synthetic)
      : tables(quality::compare_tables({{"reference", s.reference},
                                        {"members", s.members},
                                        {"held-out", s.held_out},
                                        {"synthetic", &synthetic}})) {
    // One scale for every pair: the reference's.
    for (size_t t = 1; t < tables.tables.size(); ++t)
      for (size_t c = 0; c < tables.facts.size(); ++c)
        tables.tables[t].columns[c].low = tables.tables[0].columns[c].low,
        tables.tables[t].columns[c].high = tables.tables[0].columns[c].high;
  }
  std::vector<double> nearest(size_t query, size_t reference) {
    return quality::gower_nearest(tables, query, reference, workers);
  }
};
enum : size_t { kReference, kMembers, kHeldOut, kSynthetic };

constexpr double kTiny = 1e-9;  // of two rows that are equal; far below what one cell differs by

}  // namespace

Scores by_distance(const Split& split, const Table& synthetic) {
  Distances d(split, synthetic);
  Scores out{d.nearest(kMembers, kSynthetic), d.nearest(kHeldOut, kSynthetic)};
  for (auto* scores : {&out.members, &out.held_out})
    for (double& x : *scores) x = -x;
  return out;
}

Scores by_density_ratio(const Split& split, const Table& synthetic) {
  Distances d(split, synthetic);
  const auto score = [&](size_t who) {
    std::vector<double> to_synthetic = d.nearest(who, kSynthetic);
    const std::vector<double> to_reference = d.nearest(who, kReference);
    for (size_t i = 0; i < to_synthetic.size(); ++i)
      to_synthetic[i] = std::log((to_reference[i] + kTiny) / (to_synthetic[i] + kTiny));
    return to_synthetic;
  };
  return {score(kMembers), score(kHeldOut)};
}

Columns all_columns(const quality::Comparison& c) {
  Columns out(c.facts.size());
  std::iota(out.begin(), out.end(), size_t{0});
  return out;
}

double distance(const quality::Comparison& c, const Columns& columns, size_t a, size_t row_a, size_t b, size_t row_b,
                double enough) {
  double sum = 0;
  for (const size_t k : columns) {
    const quality::ComparedColumn &x = c.tables[a].columns[k], &y = c.tables[b].columns[k],
                                  &scale = c.tables[0].columns[k];
    const bool gone = x.is_missing(static_cast<int64_t>(row_a)), too = y.is_missing(static_cast<int64_t>(row_b));
    if (gone || too) sum += gone != too;
    else if (c.facts[k].kind == quality::Kind::categorical) sum += x.codes[row_a] != y.codes[row_b];
    else if (scale.high > scale.low)
      sum += std::min(std::abs(x.numbers[row_a] - y.numbers[row_b]) / (scale.high - scale.low), 1.0);
    if (sum >= enough) break;
  }
  return sum;
}

size_t nearest(const quality::Comparison& c, const Columns& columns, size_t table, size_t row, size_t reference) {
  size_t best = 0;
  double least = INFINITY;
  for (size_t i = 0; i < static_cast<size_t>(c.tables[reference].rows); ++i)
    if (const double d = distance(c, columns, table, row, reference, i, least); d < least) least = d, best = i;
  return best;
}

Copies copies(const Split& split, const Table& synthetic) {
  const int64_t rows = std::min(split.members->rows, split.held_out->rows);
  const Table members = rows_between(*split.members, 0, rows), held_out = rows_between(*split.held_out, 0, rows);
  Distances d({&members, &held_out, split.reference}, synthetic);
  const std::vector<double> to_members = d.nearest(kSynthetic, kMembers), to_held_out = d.nearest(kSynthetic, kHeldOut);
  Copies out{{0, synthetic.rows}, {0, synthetic.rows}, {}};
  const Columns columns = all_columns(d.tables);
  // how many synthetic rows have this one of all rows as their nearest
  std::map<std::pair<size_t, size_t>, double> nearest_of;
  double compared = 0, nearer = 0, squares = 0;
  for (size_t i = 0; i < to_members.size(); ++i) {
    out.of_members.hits += to_members[i] == 0;
    out.of_held_out.hits += to_held_out[i] == 0;
    if (to_members[i] == to_held_out[i]) continue;
    const size_t side = to_members[i] < to_held_out[i] ? kMembers : kHeldOut;
    nearer += side == kMembers;
    ++compared, ++nearest_of[{side, nearest(d.tables, columns, kSynthetic, i, side)}];
  }
  if (compared == 0) return out;
  // Under the null hypothesis each of these rows is a member with probability 1/2.
  for (const auto& [row, count] : nearest_of) squares += count * count;
  const double half = kZ * 0.5 * std::sqrt(squares) / compared;
  out.nearer = {nearer / compared - half, nearer / compared, nearer / compared + half};
  return out;
}

}  // namespace tessera::privacy
