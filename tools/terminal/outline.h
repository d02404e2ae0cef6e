// A JSON report as a page of text: scalars as lines, lists of records as tables.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

// Every scalar is a line "key  value", every object a section under its key, every array of objects a table with one
// column per key, truncated to `most_rows` (0: never) with a last line that says so.
std::string outline(const nlohmann::ordered_json& json, size_t most_rows = 0);

// One value in one line: plain texts, formatted numbers, lists separated by commas.
std::string inline_text(const nlohmann::ordered_json& value);
