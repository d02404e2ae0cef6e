// The launches of a plan on a GPU, as tessera plan shows them; no GPU is needed for that.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "engine/plan/plan.h"

namespace tessera {

nlohmann::json describe_launches(Plan plan);

}  // namespace tessera
