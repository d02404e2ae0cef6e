// How far a model's rows are calibrated (calibration.h).
#pragma once
#include <string>

namespace tessera {

enum class Tier { off, marginals, full };
const char* name(Tier tier);                           // "off", "marginals", "full"
bool parse_tier(const std::string& text, Tier& tier);  // false: no such tier

constexpr double kMinYield = 0.1;  // share of candidates that are kept at least, unless the caller says otherwise
constexpr int kMostTries = 64;     // candidates of a row; when none was kept, the likeliest of them is the row

}  // namespace tessera
