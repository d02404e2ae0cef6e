// The rows of a table and of the table it is compared with, numbered together: rows of the table first. Of ComparedRows
// the distance is Gower's (docs/use/dedup.md), as for distances to the closest record: the mean over columns of
// min(|x − y| / range, 1) for numbers and times and of [x ≠ y] otherwise; missing on one side counts 1, on both 0.
#pragma once
#include <cstdint>
#include <vector>

#include "base/threads/team.h"
#include "models/quality/metrics/comparison.h"

namespace tessera::dedup {

// Comparisons that a search for copies needs. `equal`: all cells are equal; `near`: similarity ≥ threshold.
class Compared {
 public:
  virtual ~Compared() = default;
  int32_t own() const { return own_; }  // rows of the table; the others belong to the table it is compared with
  int32_t count() const { return count_; }
  virtual bool equal(int32_t a, int32_t b) const = 0;
  virtual bool near(int32_t a, int32_t b) const = 0;
  virtual double similarity(int32_t a, int32_t b) const = 0;
  virtual bool cell_equal(size_t column, int32_t a, int32_t b) const = 0;
  virtual uint64_t hash(int32_t row) const = 0;  // of the cells: equal rows have equal hashes

 protected:
  int32_t own_ = 0, count_ = 0;
};

class ComparedRows final : public Compared {
 public:
  // Keeps views into `c`, which must outlive it. Ranges are those of the last table, the reference.
  explicit ComparedRows(const quality::Comparison& c);
  void set_threshold(double similarity);  // before near() and budget()
  void pack(Team& team);                  // before near() and packed()

  size_t columns() const { return columns_.size(); }
  bool is_number(size_t column) const { return columns_[column].width > 0; }
  double budget() const { return budget_; }  // maximum sum of distances over columns for a near copy

  bool equal(int32_t a, int32_t b) const override;
  bool near(int32_t a, int32_t b) const override;
  double similarity(int32_t a, int32_t b) const override;  // 1 − mean distance
  bool cell_equal(size_t column, int32_t a, int32_t b) const override;
  uint64_t hash(int32_t row) const override;

  int32_t code(size_t column, int32_t row) const { return value(columns_[column], row).code; }
  double number(size_t column, int32_t row) const { return value(columns_[column], row).number; }
  double width(size_t column) const { return columns_[column].width; }

  // A packed row: positions of `numbers()` columns, relative to the range (clamped to [−1, 2]; kMissingAt: missing),
  // and from levels_at() the bits of the codes of the other columns.
  static constexpr float kMissingAt = 4;
  const float* packed(int32_t row) const { return packed_.data() + static_cast<size_t>(row) * stride_; }
  size_t numbers() const { return numbers_; }
  size_t levels_at() const { return levels_at_; }

 private:
  struct ComparedPair {  // one column in both tables
    const quality::ComparedColumn* tables[2];
    bool numbers;
    double low = 0, width = 0;  // width 0: only equality counts
  };
  struct Value {
    double number;
    int32_t code;
  };
  Value value(const ComparedPair& column, int32_t row) const;
  double distance(size_t column, int32_t a, int32_t b) const;
  float position(size_t column, int32_t row) const;

  std::vector<ComparedPair> columns_;
  double budget_ = 0;
  // Row by row, so that a comparison touches few cache lines; both parts are padded to kLanes.
  size_t numbers_ = 0, levels_at_ = 0, stride_ = 0;
  Bulk<float> packed_;
};

}  // namespace tessera::dedup
