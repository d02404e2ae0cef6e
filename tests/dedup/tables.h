// Tables with planted copies, for tests and bench/dedup.cpp.
#pragma once
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "models/dedup/dedup.h"
#include "quality/tables.h"

namespace dedup_test {

using namespace tessera;
using namespace columns;

// Eight numbers and seven categories, as tables have them: skewed, few and many levels, missing cells.
inline Table mixed(int64_t rows, uint32_t seed) {
  std::mt19937 gen(seed);
  std::normal_distribution<> normal;
  std::vector<Column> all;
  for (int k = 0; k < 8; ++k)
    all.push_back(decimals_by("x" + std::to_string(k), rows, 0, [&](int64_t) {
      return gen() % 50 == 0 ? kMissing : k < 4 ? normal(gen) : std::exp(normal(gen) / 2);
    }));
  for (int k = 0; k < 7; ++k) {
    const auto levels = static_cast<uint32_t>(3 + 4 * k * k);
    all.push_back(texts_by("c" + std::to_string(k), rows, [&](int64_t) {
      return gen() % 50 == 0 ? "" : "v" + std::to_string(std::min(gen() % levels, gen() % levels));
    }));
  }
  return table(std::move(all));
}

inline double range(const Column& c) {
  double low = INFINITY, high = -INFINITY;
  for (const double x : c.numbers)
    if (!std::isnan(x)) low = std::min(low, x), high = std::max(high, x);
  return high - low;
}

// Appends copies of rows: numbers move by up to `jitter` of their range, and with `rewrites` one cell is another.
// Returns the original of each.
inline std::vector<int32_t> plant(Table& t, int copies, double jitter, uint32_t seed, bool rewrites = true) {
  std::mt19937 gen(seed + 77);
  std::vector<int32_t> of;
  const auto rows = static_cast<uint32_t>(t.rows);
  std::vector<double> ranges;
  for (const Column& c : t.columns) ranges.push_back(range(c));
  for (int i = 0; i < copies; ++i) {
    const size_t row = gen() % rows, one = gen() % t.columns.size(), from = gen() % rows;
    const size_t rewritten = rewrites ? one : t.columns.size();
    of.push_back(static_cast<int32_t>(row));
    for (size_t k = 0; k < t.columns.size(); ++k) {
      Column& c = t.columns[k];
      const size_t source = k == rewritten ? from : row;
      if (!is_numeric(c.type)) c.codes.push_back(c.codes[source]);
      else
        c.numbers.push_back(c.numbers[source] +
                            (k == rewritten ? 0 : std::uniform_real_distribution<>(-jitter, jitter)(gen) * ranges[k]));
    }
    ++t.rows;
  }
  return of;
}

struct Found {
  std::vector<RowCopy> copies;
  nlohmann::json report;
};

inline Found find(Table& table, const std::string& mode, double threshold = 0.9, Table* against = nullptr,
                  std::vector<std::string> columns = {}, int threads = 2,
                  std::shared_ptr<MemoryLimit> limit = nullptr) {
  Team team(threads, std::move(limit));
  Found out;
  out.copies = find_copies(table, against, {mode, threshold, std::move(columns)}, team, Monitor{}, out.report);
  return out;
}

}  // namespace dedup_test
