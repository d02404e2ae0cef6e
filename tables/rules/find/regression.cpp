#include "tables/rules/find/regression.h"

#include <numeric>

namespace tessera {
namespace {

constexpr size_t kMinSumRows = 30;  // complete ones; and three times the columns

Centred centred_at(const RuleSearch& search, int column, const std::vector<int64_t>& rows) {
  std::vector<double> x = search.numbers_of(column, rows);
  for (double& v : x) v /= kind_of(search.column(column)).unit;
  return centred(column, std::move(x));
}

// Residual of one column of a sum given the others, in the rows that are not excluded.
Regression::Residual rest_beside(const std::vector<const Centred*>& columns, size_t k,
                                 const std::vector<char>& left_out) {
  const auto rows = static_cast<size_t>(std::count(left_out.begin(), left_out.end(), 0));
  Regression others(rows);
  for (size_t o = 0; o < columns.size(); ++o) {
    if (o == k) continue;
    const Centred of = without(*columns[o], left_out);
    if (auto rest = others.residual(of); rest.deviation > kExact * columns[o]->deviation) others.add(std::move(rest));
  }
  return others.residual(without(*columns[k], left_out));
}

}  // namespace

Centred centred(int column, std::vector<double> x) {
  const auto n = static_cast<double>(x.size());
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  for (double& v : x) v -= mean;
  const double deviation = std::sqrt(dot(x, x) / n);
  return {column, mean, deviation, std::move(x)};
}

Centred with_mean(double mean, std::vector<double> x) {
  const double deviation = std::sqrt(dot(x, x) / static_cast<double>(x.size()));
  return {-1, mean, deviation, std::move(x)};
}

Centred without(const Centred& c, const std::vector<char>& left_out) {
  std::vector<double> x;
  for (size_t i = 0; i < c.x.size(); ++i)
    if (left_out[i] == 0) x.push_back(c.x[i]);
  Centred out = centred(c.column, std::move(x));
  out.mean += c.mean;
  return out;
}

void limit_rows(Sample& sample, size_t rows) {
  if (sample.rows.size() <= rows) return;
  std::vector<char> beyond(sample.rows.size(), 0);
  std::fill(beyond.begin() + static_cast<std::ptrdiff_t>(rows), beyond.end(), 1);
  sample.rows.resize(rows);
  for (Centred& c : sample.columns) c = without(c, beyond);
  std::erase_if(sample.columns, [](const Centred& c) { return !(c.deviation > 0); });
}

bool has_shared_factors(const RuleSearch& search, const Sample& sample, const std::vector<const Centred*>& columns,
                        const std::vector<double>& factors, int64_t least, double least_weight) {
  for (size_t k = 0; k < columns.size(); ++k) {
    std::vector<char> left_out(sample.rows.size(), 0);
    const std::vector<double> rest = rest_beside(columns, k, left_out).rest;
    std::vector<size_t> order(rest.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return std::abs(rest[a]) > std::abs(rest[b]); });
    std::set<int64_t> holders;
    for (const size_t i : order) {
      if (static_cast<int64_t>(holders.size()) == least - 1) break;
      holders.insert(search.holders.of(sample.rows[i]));
    }
    for (size_t i = 0; i < rest.size(); ++i) left_out[i] = holders.contains(search.holders.of(sample.rows[i])) ? 1 : 0;
    if (!(std::abs(factors[k]) * rest_beside(columns, k, left_out).deviation >= least_weight)) return false;
  }
  return true;
}

Sample sample_with(const RuleSearch& search, int first) {
  std::vector<int> columns = search.usable_numbers(kMaxSumColumns);
  std::vector<int64_t> rows = search.proposing;
  if (first >= 0) std::erase_if(rows, [&](int64_t row) { return search.column(first).is_missing(row); });
  std::vector<std::vector<char>> missing;  // column by column
  std::vector<size_t> gaps(rows.size(), 0);
  for (const int j : columns) {
    std::vector<char>& of = missing.emplace_back();
    for (size_t i = 0; i < rows.size(); ++i)
      of.push_back(search.lacks(j, rows[i]) ? 1 : 0), gaps[i] += static_cast<size_t>(of.back());
    search.column(j).relax();
  }
  const auto complete = [&] { return static_cast<size_t>(std::count(gaps.begin(), gaps.end(), size_t{0})); };
  for (size_t k = columns.size(); k-- > 0 && first == kAlwaysThere;)
    if (const auto gone = std::count(missing[k].begin(), missing[k].end(), 1); gone > 0) {
      for (size_t i = 0; i < rows.size(); ++i) gaps[i] -= static_cast<size_t>(missing[k][i]);
      columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(k));
      missing.erase(missing.begin() + static_cast<std::ptrdiff_t>(k));
    }
  while (columns.size() >= 2 && complete() < std::max(kMinSumRows, 3 * columns.size())) {
    std::vector<int64_t> gone;
    for (const std::vector<char>& of : missing) gone.push_back(std::count(of.begin(), of.end(), 1));
    const auto worst = std::max_element(gone.begin(), gone.end()) - gone.begin();
    for (size_t i = 0; i < rows.size(); ++i) gaps[i] -= static_cast<size_t>(missing[static_cast<size_t>(worst)][i]);
    columns.erase(columns.begin() + worst), missing.erase(missing.begin() + worst);
    if (gone[static_cast<size_t>(worst)] == 0) return {};  // too few rows
  }
  if (columns.size() < 2) return {};
  std::vector<int64_t> kept;
  for (size_t i = 0; i < rows.size(); ++i)
    if (gaps[i] == 0) kept.push_back(rows[i]);
  Sample out{{}, std::move(kept), static_cast<double>(columns.size())};
  for (const int j : columns) {
    out.columns.push_back(centred_at(search, j, out.rows));
    // numbers whose squares leave the range of a double take no part
    const double deviation = out.columns.back().deviation;
    if (!(deviation > 0 && std::isfinite(deviation))) out.columns.pop_back();
  }
  return out;
}

}  // namespace tessera
