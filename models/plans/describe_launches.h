// Lists the GPU launches of a plan for `tessera plan`, without a GPU.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "engine/plan/plan.h"

namespace tessera {

nlohmann::json describe_launches(Plan plan);

}  // namespace tessera
