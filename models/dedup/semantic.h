// Compares rows by their latents in a TVAE trained on these rows (Kingma, Welling 2014, "Auto-Encoding Variational
// Bayes"). Levels that occur in similar rows have similar latents; compared cell by cell they are just different. The
// meaning of texts is not used.
#pragma once
#include <vector>

#include "models/dedup/compared_rows.h"
#include "models/dedup/groups.h"
#include "models/quality/common/workers.h"

namespace tessera::dedup {

class LatentRows final : public Compared {
 public:
  // Trains on the rows of both tables, whose cells are those of `cells`, which outlives the result. `other` may be
  // null. Throws Error(memory) if the limit is too small for both.
  LatentRows(const ComparedRows& cells, const Table& own, const Table* other, const quality::Workers& workers);

  // 1 − distance / the root mean square distance of two rows; 0 beyond that, and where the rows inform no dimension.
  double similarity(int32_t a, int32_t b) const override;
  bool near(int32_t a, int32_t b) const override { return similarity(a, b) >= threshold_; }
  bool equal(int32_t a, int32_t b) const override { return cells_.equal(a, b); }
  bool cell_equal(size_t column, int32_t a, int32_t b) const override { return cells_.cell_equal(column, a, b); }
  uint64_t hash(int32_t row) const override { return cells_.hash(row); }

  int64_t dimensions() const { return dimensions_; }
  const float* at(int32_t row) const { return mean_.data() + static_cast<int64_t>(row) * dimensions_; }
  // Of the largest distance that is near.
  double within() const { return (1 - threshold_) * scale_; }

  // The similarity that the nearest row of one in a hundred has, of 2,000 rows among `some`, with three digits.
  double usual_threshold(const RowList& some, const quality::Workers& workers) const;
  void set_threshold(double similarity) { threshold_ = similarity; }

 private:
  const ComparedRows& cells_;
  int64_t dimensions_ = 0;
  std::vector<float> mean_;  // [rows, dimensions], of mean 0
  double scale_ = 1, threshold_ = 1;
  MemoryShare held_;
};

// Links near rows among `some`, ascending: all pairs are compared, by products of blocks.
void find_near_latents(const LatentRows& rows, const RowList& some, Groups& groups, const quality::Workers& workers);

}  // namespace tessera::dedup
