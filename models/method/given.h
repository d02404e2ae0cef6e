// Rows with given cells before they are drawn. A candidate shows the given cells as they are; how likely they
// are beside what was drawn before them is its weight, and candidates of one row are resampled by it (importance
// resampling, Rubin 1987).
#pragma once
#include <vector>

#include "models/method/method.h"

namespace tessera {

// ln of a share of 0, and of a sum of many of them, in fp32.
constexpr float kImpossible = -1e30f;

// What is given of the rows of a batch, row-major in the layout of the encoder.
struct GivenCells {
  std::vector<float> levels;  // [batch, data_width]: ln of the share of a level that is left; 0 where nothing is given
  std::vector<float> alphas;  // [batch, alphas]: the given position
  std::vector<float> known;   // [batch, alphas]: 1 where it is given, else 0
};

class GivenGenerator : public RowGenerator {
 public:
  // Before a run: what is given of the rows of its batch.
  virtual void give(Program& program, const GivenCells& cells) = 0;
  // After a run: ln of the weight of candidate i, up to what candidates of one row share. kImpossible or below: none.
  virtual double log_weight(const Program& program, int64_t i) const = 0;
  // Whether columns are drawn in the layout's order, each from its law given those before: cells given of leading
  // columns then weigh the same for all candidates of a row.
  virtual bool draws_in_order() const { return false; }
  // Candidates of a row that are made before it is looked at, a power of two; half as many effective ones are enough.
  virtual int first_candidates() const { return 32; }
};

}  // namespace tessera
