// Results of the library as pages of text.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

// The number at a path of a report; NaN if it is absent, printed as a dash.
double number_at(const nlohmann::json& report, const char* pointer);
// The line above a table of rows, worst first: how many of them it shows.
std::string worst_first(const char* what, size_t shown, size_t all);

// The JSON of tessera_audit(): a table of attacks, the finding of each in words if `answers`, and the verdict.
std::string attacks_page(const nlohmann::json& attacks, bool answers);
// The result of tessera_evaluate_tables(): the scores of several synthetic tables, one column per table.
std::string comparison_page(const nlohmann::json& evaluation);
// The rules of the real table that synthetic rows break; "" if no rules were checked.
std::string rules_page(const nlohmann::json& report);
std::string sequence_page(const nlohmann::json& report, size_t worst);
