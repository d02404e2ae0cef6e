// Steps of sequences from TimeGAN's networks.
#pragma once
#include <memory>

#include "models/method/method.h"
#include "models/timegan/network.h"

namespace tessera {

// Network and encoder outlive the result.
std::unique_ptr<StepDrawer> timegan_drawer(const Timegan& network, const SequenceEncoder& encoder,
                                           const FittedState& kept, const Target& target, int64_t batch);

}  // namespace tessera
