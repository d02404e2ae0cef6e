// Draws of attacks: uses of Purpose::evaluate beyond those of metrics (models/quality/common/sampling.h).
#pragma once
#include "models/quality/common/sampling.h"

namespace tessera::audit {

inline constexpr auto kDrawnRows = static_cast<quality::Draw>(0x100), kDrawnGuesses = static_cast<quality::Draw>(0x101),
                      kDrawnLatents = static_cast<quality::Draw>(0x102),
                      kDrawnShadows = static_cast<quality::Draw>(0x103);
static_assert(std::end(quality::kDraws)[-1].first < 0x100, "metrics and attacks share numbers");

}  // namespace tessera::audit
