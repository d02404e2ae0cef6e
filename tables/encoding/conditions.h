// Training by sampling (Xu et al. 2019, §4.3): the condition of a generated row, and the real rows that meet it. A
// condition is one value of one discrete column; the condition vector is the concatenation of the columns' values.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/threads/team.h"
#include "tables/encoding/encoder.h"

namespace tessera {

// J discrete columns, column j with width[j] values at positions cond_start[j] … of the condition vector; n rows.
// Arrays "by position" have cond_width entries. The column is drawn uniformly, then the value by a cumulative array:
// the first position of the column whose entry exceeds u in (0, 1). A value that occurs in no row is never selected, in
// double or in float.
struct ConditionTable {
  int64_t rows = 0;
  int cond_width = 0;
  std::vector<int32_t> cond_start, width;  // [J]
  std::vector<int32_t> code;               // [J] the column of EncodedTable's codes that holds a row's value
  std::vector<int64_t> count;              // by position: rows with this value
  // by position, of the value given its column: ln(1 + count) normalized, or count/n
  std::vector<double> train_probability;
  std::vector<double> sample_probability;         // by position, of the value given its column: count/n
  std::vector<double> train_joint, sample_joint;  // by position: the same times 1/J
  // by position, within the column; 1 from its last present value on
  std::vector<double> train_cumulative, sample_cumulative;
  std::vector<float> train_cumulative_f32, sample_cumulative_f32;  // the same, rounded
  Bulk<int32_t> row_index;  // [J · n] rows grouped by value, column after column, ascending inside a group
  // [cond_width + J] group v of column j: row_index[j·n + row_offset[cond_start[j] + j + v] … row_offset[cond_start[j]
  // + j + v + 1])
  std::vector<int64_t> row_offset;

  int columns() const { return static_cast<int>(width.size()); }
  double column_probability() const { return width.empty() ? 0 : 1.0 / static_cast<double>(width.size()); }
};

// From the codes of an encoded table; its category spans are the discrete columns. No category span: an empty table.
// Throws Error(data) above 2³¹−1 rows.
ConditionTable build_conditions(const EncodedTable& table, const RowLayout& layout, bool log_frequency, Team& team);

// From raw codes [rows, stride], row-major: column j of the table is code column code[j], with width[j] values. Throws
// Error(data) for a code out of range.
ConditionTable build_conditions(const int32_t* codes, int64_t rows, int64_t stride, std::span<const int32_t> code,
                                std::span<const int32_t> width, bool log_frequency, Team& team);

}  // namespace tessera
