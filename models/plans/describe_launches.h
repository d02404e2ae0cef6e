// Lists the GPU launches of a plan for `tessera plan`, without a GPU.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "engine/plan/plan.h"

namespace tessera {

// "fusion" is the data of engine/schedule/fusion_data.h.
nlohmann::json describe_launches(Plan plan);

}  // namespace tessera
