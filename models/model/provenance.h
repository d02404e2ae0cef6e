// What a model file says of its origin: checked when it is loaded, so that readers may trust it.
#pragma once
#include <nlohmann/json_fwd.hpp>

namespace tessera {

// Throws Error(format) naming the entry if one that readers use is missing or of another type.
void check_provenance(const nlohmann::json& provenance);

}  // namespace tessera
