// An attack report as text.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

// The JSON of tessera_audit(): a table of attacks, the finding of each in words if `answers`, and the verdict.
std::string attacks_page(const nlohmann::json& attacks, bool answers);
