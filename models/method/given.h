// Candidates of rows with given cells. A candidate has the given cells unchanged; its weight is their likelihood given
// the cells drawn before them, and candidates of one row are resampled by it (importance resampling, Rubin 1987).
#pragma once
#include <vector>

#include "models/method/method.h"

namespace tessera {

// Stands for ln 0 in fp32, also after summing many.
constexpr float kImpossible = -1e30f;

// The given cells of the rows of a batch, row-major in the layout of the encoder.
struct GivenCells {
  std::vector<float> levels;  // [batch, data_width]: ln of the share of a level that is allowed; 0 if nothing is given
  std::vector<float> alphas;  // [batch, alphas]: the given position
  std::vector<float> known;   // [batch, alphas]: 1 if it is given, else 0
};

class GivenGenerator : public RowGenerator {
 public:
  // Call before a run: sets the given cells of the rows of its batch.
  virtual void give(Program& program, const GivenCells& cells) = 0;
  // After a run: ln of the weight of candidate i, up to a constant per row. kImpossible or below: weight 0.
  virtual double log_weight(const Program& program, int64_t i) const = 0;
  // Whether columns are drawn in the layout's order, each conditional on the previous ones: given cells of leading
  // columns then contribute the same weight to all candidates of a row.
  virtual bool draws_in_order() const { return false; }
  // Candidates of a row that are drawn before the first check, a power of two; half as many effective ones are enough.
  virtual int first_candidates() const { return 32; }
};

}  // namespace tessera
