// Gradients of single rows, clipped: what DP-SGD (Abadi et al. 2016, arXiv 1607.00133) adds noise to. One backward pass
// and no gradient of a row in memory.
//   the identity: a layer's gradient is a sum of outer products over the rows, Σ aᵀ·d, and ‖aᵀ·d‖² = ‖a‖²·‖d‖² in
//   each (Goodfellow 2015, arXiv 1510.01799), so that norms are known once d is; then rows of d are scaled before the
//   same products sum them (book-keeping: Bu et al. 2023, arXiv 2210.00038)
#pragma once
#include <vector>

#include "engine/plan/recorder.h"

namespace tessera {

struct ClippedGradients {
  std::vector<Var> sums;  // Σᵢ shareᵢ·gradientᵢ, in the order of sets and their parameters
  Var square;             // [rows, 1]: ‖gradientᵢ‖² over all parameters
  Var share;              // [rows, 1]: weightᵢ·min(1, bound/‖gradientᵢ‖)
};

// Of losses [rows, 1], where loss i depends on row i of every op alone; weight [rows, 1]: 0 for rows that do not count.
// Weights are read by products, whole or in blocks, as biases, and by gathers: by these once, with distinct indices in
// the entries of a row. Error(internal) for other gradients.
ClippedGradients clipped_gradients(Recorder& r, Var losses, Var weight, double bound,
                                   const std::vector<const ParameterSet*>& sets);

}  // namespace tessera
