// The origin of a model, as stored in its file: checked on loading, so that readers can rely on it.
#pragma once
#include <nlohmann/json_fwd.hpp>

namespace tessera {

// Throws Error(format) naming the entry if one that readers use is missing or of another type.
void check_provenance(const nlohmann::json& provenance);

}  // namespace tessera
