// A JSON report as a page of text: scalars as lines, lists of records as tables.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

// Every scalar on a line "key  value", every object under its key, every array of objects as a table with one column a
// key, long ones cut to `most_rows` (0: none is cut) with a last line that says so.
std::string outline(const nlohmann::ordered_json& json, size_t most_rows = 0);

// One value in one line: texts as they are, numbers as people read them, lists separated by commas.
std::string inline_text(const nlohmann::ordered_json& value);
