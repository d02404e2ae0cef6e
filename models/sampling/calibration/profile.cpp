#include "models/sampling/calibration/profile.h"

#include <algorithm>
#include <numeric>

#include "tables/kinds/kind.h"

namespace tessera {
namespace {

void profile_texts(ColumnProfile& p, const Column& values, int32_t levels) {
  std::vector<int64_t> rows(static_cast<size_t>(levels), 0);
  for (const int32_t c : values.codes)
    if (c >= 0 && c < levels) ++rows[static_cast<size_t>(c)];
  std::vector<int32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return rows[static_cast<size_t>(a)] > rows[static_cast<size_t>(b)]; });
  const auto own = std::min<size_t>(order.size(), ColumnProfile::kMaxTexts);
  p.other = static_cast<int32_t>(own);
  p.cell_of_level.assign(rows.size(), p.other);
  for (size_t k = 0; k < own; ++k) p.cell_of_level[static_cast<size_t>(order[k])] = static_cast<int32_t>(k);
  p.share.assign(own + 2, 0);
}

void profile_numbers(ColumnProfile& p, const Column& values) {
  std::vector<double> present;
  for (const double x : values.numbers)
    if (x == x) present.push_back(x);
  std::sort(present.begin(), present.end());
  struct Run {
    double value;
    size_t rows;
  };
  std::vector<Run> runs;
  for (size_t i = 0, j = 0; i < present.size(); i = j) {
    while (j < present.size() && present[j] == present[i]) ++j;
    if (static_cast<double>(j - i) >=
        std::max(2.0, ColumnProfile::kHeaped * static_cast<double>(values.numbers.size())))
      runs.push_back({present[i], j - i});
  }
  std::stable_sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.rows > b.rows; });
  if (runs.size() > ColumnProfile::kMaxHeaped) runs.resize(ColumnProfile::kMaxHeaped);
  for (const Run& r : runs) {
    p.heaped.push_back(r.value);
    if (static_cast<double>(r.rows) >= ColumnProfile::kFixed * static_cast<double>(values.numbers.size()))
      p.fixed.push_back(r.value);
  }
  std::sort(p.heaped.begin(), p.heaped.end());
  std::sort(p.fixed.begin(), p.fixed.end());
  p.share.assign(p.heaped.size() + ColumnProfile::kBins + 1, 0);
  if (present.empty()) return;
  std::vector<double> free;
  std::copy_if(present.begin(), present.end(), std::back_inserter(free), [&](double x) { return !p.is_fixed(x); });
  if (!free.empty()) p.free = Quantiles::of(std::move(free));
  p.real = Quantiles::of(std::move(present));
}

}  // namespace

bool ColumnProfile::is_fixed(double x) const { return std::binary_search(fixed.begin(), fixed.end(), x); }

int32_t ColumnProfile::cell(const Column& values, int64_t row) const {
  if (values.is_missing(row)) return missing();
  const auto i = static_cast<size_t>(row);
  return numeric ? cell_of_number(values.numbers[i], number_rank(real.view(), values.numbers[i]))
                 : cell_of_text(values.codes[i]);
}

int32_t ColumnProfile::cell_of_number(double x, double rank) const {
  return number_cell(heaped.data(), static_cast<int>(heaped.size()), x, rank);
}

Profile Profile::of(const Table& sample, const std::vector<int32_t>& levels) {
  Profile out;
  for (size_t j = 0; j < sample.columns.size(); ++j) {
    const Column& c = sample.columns[j];
    if (levels[j] < 0) continue;
    ColumnProfile p;
    p.column = static_cast<int>(j);
    p.numeric = is_ordered(c);
    if (p.numeric) profile_numbers(p, c);
    else profile_texts(p, c, levels[j]);
    for (int64_t i = 0; i < sample.rows; ++i) p.share[static_cast<size_t>(p.cell(c, i))] += 1;
    for (double& s : p.share) s /= static_cast<double>(std::max<int64_t>(sample.rows, 1));
    out.columns.push_back(std::move(p));
  }
  return out;
}

int Profile::inputs() const {
  return static_cast<int>(
             std::count_if(columns.begin(), columns.end(), [](const ColumnProfile& p) { return p.numeric; })) *
         ColumnProfile::kInputs;
}

std::shared_ptr<const Spans> Profile::spans() const {
  std::vector<Spans::Item> items;
  int at = 0;
  for (const ColumnProfile& p : columns) {
    if (p.numeric)
      for (int k = 0; k < ColumnProfile::kInputs; ++k) items.push_back({at++, 1, false, -1});
    items.push_back({at, p.cells(), true, -1});
    at += p.cells();
  }
  return std::make_shared<const Spans>(items);
}

void Profile::encode(const Table& rows, int32_t* cells, float* inputs) const {
  const int code_stride = codes(), input_stride = this->inputs();
  int at = 0;
  for (size_t j = 0; j < columns.size(); ++j) {
    const ColumnProfile& p = columns[j];
    const Column& c = rows.columns[static_cast<size_t>(p.column)];
    for (int64_t i = 0; i < rows.rows; ++i) {
      int32_t& cell = cells[i * code_stride + static_cast<int64_t>(j)];
      if (!p.numeric) {
        cell = p.cell(c, i);
        continue;
      }
      const double x = c.numbers[static_cast<size_t>(i)], rank = number_rank(p.real.view(), x);
      cell = p.cell_of_number(x, rank);
      number_inputs(rank, inputs + i * input_stride + at);
    }
    if (p.numeric) at += ColumnProfile::kInputs;
  }
}

}  // namespace tessera
