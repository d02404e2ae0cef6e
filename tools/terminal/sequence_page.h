// The sequence report as a text page.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

std::string sequence_page(const nlohmann::json& report, size_t worst);
