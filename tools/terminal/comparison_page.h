// The scores of several synthetic tables, one column per table.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

// `evaluation` is the result of tessera_evaluate_tables().
std::string comparison_page(const nlohmann::json& evaluation);
