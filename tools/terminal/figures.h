// The figures that sum up evaluations, as tables of several evaluations show them.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

// Those of any report, in the report's order: key, label and meaning of each (docs/quality/metrics.md).
std::vector<nlohmann::json> headlines(const std::vector<const nlohmann::json*>& reports);
// Its value by its key; not a number where the evaluation did not measure it. As text: "–".
double figure(const nlohmann::json& report, const std::string& key);
std::string figure_text(const nlohmann::json& report, const std::string& key);
