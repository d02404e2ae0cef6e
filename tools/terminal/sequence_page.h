// The report of sequences, for people.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

std::string sequence_page(const nlohmann::json& report, size_t worst);
