// The scores of several synthetic tables, a column for each.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

// `evaluation` is what tessera_evaluate_tables() gave.
std::string comparison_page(const nlohmann::json& evaluation);
