// Who was in the training table, guessed from how near synthetic rows come.
#include <cmath>

#include "models/audit/attacks.h"

namespace tessera::audit {

std::vector<Attack> by_distance(const Subject& s) {
  constexpr double kTiny = 1e-9;  // distance of equal rows; far below the effect of one cell
  const Scores near = s.distances(kSynthetic), &usual = s.to_reference();
  Scores nearness = near, ratio = near;
  for (auto side : {&Scores::members, &Scores::held_out})
    for (size_t i = 0; i < (near.*side).size(); ++i) {
      const double to_synthetic = (near.*side)[i];
      (nearness.*side)[i] = -to_synthetic;
      (ratio.*side)[i] = std::log(((usual.*side)[i] + kTiny) / (to_synthetic + kTiny));
    }
  return {s.ranking("nearest synthetic row", "Are synthetic rows nearer to training rows than to unseen rows?",
                    std::move(nearness)),
          s.ranking("density ratio", "Are synthetic rows denser around training rows than real rows are?",
                    std::move(ratio))};
}

}  // namespace tessera::audit
