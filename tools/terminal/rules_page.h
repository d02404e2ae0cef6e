// The rules of the real table that synthetic rows break, as a text table; "" if no rules were checked.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

std::string rules_page(const nlohmann::json& report);
