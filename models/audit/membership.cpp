// Who was in the training table, guessed from how near synthetic rows come.
#include <cmath>

#include "models/audit/attacks.h"

namespace tessera::audit {
namespace {

constexpr double kTiny = 1e-9;  // of two rows that are equal; far below what one cell differs by

}  // namespace

Attack nearest_row(const Subject& s) {
  Scores scores = s.distances(kSynthetic);
  for (auto* side : {&scores.members, &scores.held_out})
    for (double& x : *side) x = -x;
  return s.ranking("nearest synthetic row", "Are synthetic rows nearer to training rows than to unseen rows?",
                   std::move(scores));
}

Attack density_ratio(const Subject& s) {
  Scores to_synthetic = s.distances(kSynthetic);
  const Scores to_reference = s.distances(kReference);
  const auto divide = [](std::vector<double>& near, const std::vector<double>& usual) {
    for (size_t i = 0; i < near.size(); ++i) near[i] = std::log((usual[i] + kTiny) / (near[i] + kTiny));
  };
  divide(to_synthetic.members, to_reference.members), divide(to_synthetic.held_out, to_reference.held_out);
  return s.ranking("density ratio", "Are synthetic rows denser around training rows than real rows are?",
                   std::move(to_synthetic));
}

}  // namespace tessera::audit
