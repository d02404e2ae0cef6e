#include "models/quality/metrics/distances.h"

#include <algorithm>
#include <cmath>

#include "models/quality/common/sampling.h"
#include "models/quality/common/statistics.h"
#include "models/quality/learners/nearest_on_device.h"

namespace tessera::quality {
namespace {

constexpr int64_t kPiece = 128;  // query rows per work item

// Reference and query in the form of the index, with their memory.
struct DistancePair {
  DistanceTable query, reference;
  std::vector<std::vector<double>> numbers;
  std::vector<std::vector<int32_t>> codes;
};

L1Nearest search_all(const DistancePair& pair, const DistanceForm& form, bool want_second, const char* note,
                     const Workers& workers) {
  const int64_t rows = pair.query.rows;
  L1Nearest result{std::vector<double>(static_cast<size_t>(rows)),
                   std::vector<double>(want_second ? static_cast<size_t>(rows) : 0)};
  const NearestIndex index(pair.reference, form);
  if (workers.device != nullptr) {
    const std::vector<Neighbors> found =
        NearestOnDevice(index, *workers.device).search(pair.query, want_second, note, workers);
    for (size_t i = 0; i < found.size(); ++i) {
      result.first[i] = found[i].first;
      if (want_second) result.second[i] = found[i].second;
    }
    return result;
  }
  workers.for_each(note, "rows", (rows + kPiece - 1) / kPiece, kPiece, [&](int64_t piece) {
    NearestIndex::Scratch scratch;
    for (int64_t i = piece * kPiece; i < std::min(rows, (piece + 1) * kPiece); ++i) {
      const Neighbors n = index.search(pair.query, i, want_second, scratch);
      result.first[static_cast<size_t>(i)] = n.first;
      if (want_second) result.second[static_cast<size_t>(i)] = n.second;
    }
  });
  return result;
}

// For a reference column without a range, only equality counts.
std::vector<int32_t> equal_to(std::span<const double> numbers, double value) {
  std::vector<int32_t> codes(numbers.size());
  std::transform(numbers.begin(), numbers.end(), codes.begin(), [&](double x) {
    return std::isnan(x) ? -1 : x == value ? 0 : 1;
  });
  return codes;
}

double mean_present(std::span<const double> numbers) {
  double sum = 0;
  int64_t n = 0;
  for (const double x : numbers)
    if (!std::isnan(x)) sum += x, ++n;
  return sum / static_cast<double>(n);
}

std::vector<int64_t> some_rows(int64_t rows, int64_t kept, uint64_t seed) {
  std::vector<std::pair<uint64_t, int64_t>> key(static_cast<size_t>(rows));
  for (size_t i = 0; i < key.size(); ++i) {
    const Philox p = random_words(seed, Draw::distance_rows, 0, i);
    key[i] = {uint64_t{p.word[0]} << 32 | p.word[1], static_cast<int64_t>(i)};
  }
  std::nth_element(key.begin(), key.begin() + kept, key.end());
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < kept; ++i) chosen.push_back(key[static_cast<size_t>(i)].second);
  return chosen;
}

// Missing numbers last.
template <class T>
std::vector<T> in_order(std::span<const T> values) {
  std::vector<T> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end(), [](T a, T b) { return a < b || (a == a && b != b); });
  return sorted;
}

template <class T>
std::vector<T> gathered(std::span<const T> all, const std::vector<int64_t>& rows) {
  std::vector<T> some(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) some[i] = all[static_cast<size_t>(rows[i])];
  return some;
}

}  // namespace

std::vector<double> gower_nearest(const Comparison& c, size_t query, size_t reference, const Workers& workers) {
  const ComparedTable &q = c.tables[query], &r = c.tables[reference];
  DistancePair pair{{q.rows, {}}, {r.rows, {}}, {}, {}};
  for (size_t k = 0; k < c.facts.size(); ++k) {
    const ComparedColumn &qc = q.columns[k], &rc = r.columns[k];
    const double width = rc.high - rc.low;
    if (c.facts[k].kind != Kind::categorical && width > 0) {
      pair.query.columns.push_back({qc.numbers, {}, width});
      pair.reference.columns.push_back({rc.numbers, {}, width});
    } else if (c.facts[k].kind != Kind::categorical) {
      pair.query.columns.push_back({{}, pair.codes.emplace_back(equal_to(qc.numbers, rc.low)), 1});
      pair.reference.columns.push_back({{}, pair.codes.emplace_back(equal_to(rc.numbers, rc.low)), 1});
    } else {
      pair.query.columns.push_back({{}, qc.codes, 1});
      pair.reference.columns.push_back({{}, rc.codes, 1});
    }
  }
  std::vector<double> nearest = search_all(pair, {1, 1}, false, "distances", workers).first;
  for (double& d : nearest) d /= static_cast<double>(c.facts.size());
  return nearest;
}

OverfittingProtection overfitting_protection(const std::vector<double>& to_training,
                                             const std::vector<double>& to_holdout) {
  const double closer = share_closer(to_training, to_holdout, 0);
  return {std::min(2 * (1 - closer), 1.0), closer, 1 - closer};
}

BaselineProtection baseline_protection(const std::vector<double>& synthetic_to_real,
                                       const std::vector<double>& random_to_real) {
  const double synthetic = median(synthetic_to_real), random = median(random_to_real);
  return {random == 0 ? kUndefined : std::min(synthetic / random, 1.0), synthetic, random};
}

size_t append_random_baseline(Comparison& c, int64_t rows, uint64_t seed) {
  ComparedTable table{rows, std::vector<ComparedColumn>(c.facts.size())};
  const auto n = static_cast<size_t>(rows);
  for (size_t k = 0; k < c.facts.size(); ++k) {
    const ComparedColumn& real = c.tables[0].columns[k];
    ComparedColumn& column = table.columns[k];
    if (c.facts[k].kind == Kind::categorical) {
      std::vector<int32_t> levels(real.codes.begin(), real.codes.end());
      std::sort(levels.begin(), levels.end());
      levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
      std::vector<int32_t> codes(n);
      for (size_t i = 0; i < n; ++i) {
        const Philox p = random_words(seed, Draw::baseline, static_cast<uint32_t>(k), i);
        codes[i] = levels[static_cast<size_t>(open_uniform(p.word[0], p.word[1]) * static_cast<double>(levels.size()))];
        column.missing += codes[i] < 0;
      }
      column.codes = c.code_storage.emplace_back(std::move(codes));
      continue;
    }
    std::vector<double> numbers(n, kMissing);
    column.missing = std::isnan(real.low) ? rows : 0;
    for (size_t i = 0; i < n && column.missing == 0; ++i) {
      const Philox p = random_words(seed, Draw::baseline, static_cast<uint32_t>(k), i);
      const double u = open_uniform(p.word[0], p.word[1]);
      const double x = c.facts[k].integer ? std::floor(real.low + u * (real.high - real.low + 1))
                                          : real.low + u * (real.high - real.low);
      numbers[i] = std::min(x, real.high);
      if (!(column.low <= numbers[i])) column.low = numbers[i];
      if (!(column.high >= numbers[i])) column.high = numbers[i];
    }
    column.numbers = c.number_storage.emplace_back(std::move(numbers));
  }
  c.tables.push_back(std::move(table));
  return c.tables.size() - 1;
}

size_t append_independent_rows(Comparison& c, int64_t rows, uint64_t seed) {
  const ComparedTable& real = c.tables[0];
  ComparedTable table{rows, std::vector<ComparedColumn>(c.facts.size())};
  for (size_t k = 0; k < c.facts.size(); ++k) {
    std::vector<int64_t> from(static_cast<size_t>(rows));
    for (size_t i = 0; i < from.size(); ++i) {
      const Philox p = random_words(seed, Draw::baseline, static_cast<uint32_t>(k), i);
      from[i] = static_cast<int64_t>(open_uniform(p.word[0], p.word[1]) * static_cast<double>(real.rows));
    }
    const ComparedColumn& column = real.columns[k];
    if (c.facts[k].kind == Kind::categorical)
      table.columns[k].codes = c.code_storage.emplace_back(gathered<int32_t>(in_order(column.codes), from));
    else table.columns[k].numbers = c.number_storage.emplace_back(gathered<double>(in_order(column.numbers), from));
  }
  c.tables.push_back(std::move(table));
  return c.tables.size() - 1;
}

double near_copy_similarity(const std::vector<double>& distances, double numbers, double searched) {
  constexpr double kMin = 0.9, kShare = 0.01, kDigits = 1000, kJitter = 0.01;
  const double most = std::floor(kDigits * (1 - kJitter * numbers)) / kDigits;
  const auto at = static_cast<size_t>(kShare * searched * static_cast<double>(distances.size()));
  const double reached = at < distances.size() ? std::floor(kDigits * (1 - distances[at]) + 1) / kDigits : 0;
  return std::clamp(reached, kMin, most);
}

L1Nearest l1_nearest(const Comparison& c, size_t query, size_t reference, const Workers& workers, int64_t kept,
                     uint64_t seed) {
  const ComparedTable &real = c.tables[0], &q = c.tables[query], &r = c.tables[reference];
  const bool some = kept > 0 && kept < r.rows;
  const std::vector<int64_t> rows = some ? some_rows(r.rows, kept, seed) : std::vector<int64_t>();
  DistancePair pair{{q.rows, {}}, {some ? kept : r.rows, {}}, {}, {}};
  for (size_t k = 0; k < c.facts.size(); ++k) {
    const ComparedColumn &qc = q.columns[k], &rc = r.columns[k];
    if (c.facts[k].kind == Kind::categorical) {
      pair.query.columns.push_back({{}, qc.codes, 1});
      pair.reference.columns.push_back(
          {{}, some ? std::span<const int32_t>(pair.codes.emplace_back(gathered(rc.codes, rows))) : rc.codes, 1});
      continue;
    }
    const double width = real.columns[k].high - real.columns[k].low;
    if (!(width > 0)) continue;
    const double mean = mean_present(real.columns[k].numbers);
    const auto scaled = [&](std::vector<double> x) -> std::span<const double> {
      for (double& v : x) v = (std::isnan(v) ? mean : v) / width;
      return pair.numbers.emplace_back(std::move(x));
    };
    pair.query.columns.push_back({scaled({qc.numbers.begin(), qc.numbers.end()}), {}, 1});
    pair.reference.columns.push_back(
        {scaled(some ? gathered(rc.numbers, rows) : std::vector<double>(rc.numbers.begin(), rc.numbers.end())), {}, 1});
  }
  return search_all(pair, {INFINITY, 2}, true, "distances", workers);
}

std::vector<double> nearest_ratios(const L1Nearest& nearest) {
  std::vector<double> ratio(nearest.first.size());
  for (size_t i = 0; i < ratio.size(); ++i) {
    const double d1 = nearest.first[i], d2 = nearest.second[i];
    ratio[i] = std::isinf(d2) ? kUndefined : d2 == 0 ? 0 : d1 / d2;
  }
  return ratio;
}

double share_closer(const std::vector<double>& a, const std::vector<double>& b, double ties) {
  double closer = 0;
  for (size_t i = 0; i < a.size(); ++i) closer += a[i] < b[i] ? 1 : a[i] == b[i] ? ties : 0;
  return closer / static_cast<double>(a.size());
}

}  // namespace tessera::quality
