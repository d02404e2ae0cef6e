#include "tables/encoding/conditions.h"

#include <cmath>
#include <limits>
#include <string>

#include "base/error.h"

namespace tessera {
namespace {

// Cumulative probabilities of the column, set to 1 from its last possible value on, so that rounding leaves no gap at
// the end.
void accumulate(std::span<const double> probability, std::span<double> cumulative, std::span<float> rounded) {
  size_t last = 0;
  for (size_t v = 0; v < probability.size(); ++v)
    if (probability[v] > 0) last = v;
  double sum = 0;
  for (size_t v = 0; v < probability.size(); ++v) {
    sum += probability[v];
    cumulative[v] = v >= last ? 1.0 : sum < 1.0 ? sum : 1.0;
    rounded[v] = static_cast<float>(cumulative[v]);
  }
}

// Fills discrete column j; touches only its own part of the arrays.
// `behind` is called every kRowsResident rows: processed codes need not stay in memory.
template <class Behind>
void build_column(ConditionTable& t, size_t j, const int32_t* codes, int64_t stride, bool log_frequency,
                  Behind behind) {
  const size_t start = static_cast<size_t>(t.cond_start[j]), width = static_cast<size_t>(t.width[j]);
  const int32_t* column = codes + t.code[j];
  const std::span count(t.count.data() + start, width);
  for (int64_t i = 0; i < t.rows; ++i) {
    if (i % kRowsResident == 0) behind();
    const int32_t v = column[i * stride];
    if (v < 0 || v >= t.width[j])
      throw Error(ErrorCode::data, "Discrete column " + std::to_string(j) + ", row " + std::to_string(i) +
                                       " holds code " + std::to_string(v) + ", but the column has " +
                                       std::to_string(width) +
                                       " values. Encode the table with the encoder that made the layout.");
    ++count[static_cast<size_t>(v)];
  }

  int64_t* offset = t.row_offset.data() + start + j;
  for (size_t v = 0; v < width; ++v) offset[v + 1] = offset[v] + count[v];
  std::vector<int64_t> next(offset, offset + width);
  int32_t* index = t.row_index.data() + static_cast<int64_t>(j) * t.rows;
  for (int64_t i = 0; i < t.rows; ++i) {
    if (i % kRowsResident == 0) behind(), t.row_index.relax();
    index[next[static_cast<size_t>(column[i * stride])]++] = static_cast<int32_t>(i);
  }

  double total = 0;
  for (const int64_t c : count) total += std::log1p(static_cast<double>(c));
  for (size_t v = 0; v < width; ++v) {
    const double n = static_cast<double>(count[v]);
    const size_t at = start + v;
    t.sample_probability[at] = t.rows > 0 ? n / static_cast<double>(t.rows) : 0;
    t.train_probability[at] = log_frequency ? (total > 0 ? std::log1p(n) / total : 0) : t.sample_probability[at];
    t.train_joint[at] = t.train_probability[at] * t.column_probability();
    t.sample_joint[at] = t.sample_probability[at] * t.column_probability();
  }
  accumulate({t.train_probability.data() + start, width}, {t.train_cumulative.data() + start, width},
             {t.train_cumulative_f32.data() + start, width});
  accumulate({t.sample_probability.data() + start, width}, {t.sample_cumulative.data() + start, width},
             {t.sample_cumulative_f32.data() + start, width});
}

template <class Behind>
ConditionTable build(const int32_t* codes, int64_t rows, int64_t stride, std::span<const int32_t> code,
                     std::span<const int32_t> width, bool log_frequency, Team& team, Behind behind) {
  if (rows > std::numeric_limits<int32_t>::max())
    throw Error(ErrorCode::data,
                "The table has " + std::to_string(rows) +
                    " rows; conditions can be indexed for at most 2147483647. Train on a sample of the rows.");
  ConditionTable t;
  t.rows = rows;
  t.code.assign(code.begin(), code.end());
  t.width.assign(width.begin(), width.end());
  for (const int32_t w : width) {
    t.cond_start.push_back(t.cond_width);
    t.cond_width += w;
  }
  const size_t positions = static_cast<size_t>(t.cond_width), columns = t.width.size();
  t.count.resize(positions);
  for (auto* v : {&t.train_probability, &t.sample_probability, &t.train_joint, &t.sample_joint, &t.train_cumulative,
                  &t.sample_cumulative})
    v->resize(positions);
  t.train_cumulative_f32.resize(positions);
  t.sample_cumulative_f32.resize(positions);
  t.row_index = Bulk<int32_t>(team.limit(), "rows by condition");
  t.row_index.expect_random_reads();
  t.row_index.resize_for_overwrite(columns * static_cast<size_t>(rows));
  t.row_offset.resize(positions + columns);
  team.for_each(static_cast<int64_t>(columns),
                [&](int64_t j) { build_column(t, static_cast<size_t>(j), codes, stride, log_frequency, behind); });
  return t;
}

}  // namespace

ConditionTable build_conditions(const int32_t* codes, int64_t rows, int64_t stride, std::span<const int32_t> code,
                                std::span<const int32_t> width, bool log_frequency, Team& team) {
  return build(codes, rows, stride, code, width, log_frequency, team, [] {});
}

ConditionTable build_conditions(const EncodedTable& table, const RowLayout& layout, bool log_frequency, Team& team) {
  std::vector<int32_t> code, width;
  int32_t position = 0;
  for (const Span& s : layout.spans) {
    if (s.part == Span::Part::category) code.push_back(position), width.push_back(s.width);
    if (s.part != Span::Part::alpha) ++position;
  }
  return build(table.codes.data(), table.rows, position, code, width, log_frequency, team,
               [&] { table.codes.relax(); });
}

}  // namespace tessera
