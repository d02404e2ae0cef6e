// Numbers of a report as JSON. Separate from statistics.h, because most metrics do not use JSON.
#pragma once
#include <cmath>
#include <nlohmann/json.hpp>

namespace tessera::quality {

inline nlohmann::json number_or_null(double x) {
  return std::isfinite(x) ? nlohmann::json(x) : nlohmann::json(nullptr);
}

}  // namespace tessera::quality
