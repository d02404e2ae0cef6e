// The degree of calibration of a model's rows (calibration.h).
#pragma once
#include <string>

namespace tessera {

enum class Tier { off, marginals, full };
const char* name(Tier tier);                           // "off", "marginals", "full"
bool parse_tier(const std::string& text, Tier& tier);  // false: no such tier

constexpr double kMinYield = 0.1;  // default minimum share of accepted candidates
constexpr int kMaxTries = 64;      // candidates per row; if none is accepted, the most likely one is used

}  // namespace tessera
