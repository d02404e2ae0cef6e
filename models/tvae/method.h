#pragma once
#include <memory>
#include <vector>

#include "models/method/method.h"
#include "models/tvae/options.h"

namespace tessera {

std::unique_ptr<RowMethod> make_tvae(const RowLayout& layout, const MethodConfig& config);

// Where a TVAE that is trained on the rows puts each of them: the mean of q(z | row), row by row, in the dimensions
// whose mean KL divergence from the prior is above active_kl.
struct Latents {
  int64_t dimensions = 0;
  std::vector<float> mean;  // [rows, dimensions]
};
Latents learn_latents(const RowLayout& layout, const EncodedTable& table, TvaeConfig config, uint64_t seed, Team& team,
                      const Monitor& monitor);

}  // namespace tessera
