// The blocks of steps by which the processor sums the gradients of a recurrent layer's weights, the last block first.
// A layer that is cut at block boundaries has the same sums (engine/passes/recurrent_segments.h).
#pragma once
#include <cstdint>

namespace tessera {

constexpr int64_t kStepBlock = 32;

}  // namespace tessera
