// Parses "a,b=c" in options.
#pragma once
#include <string>
#include <vector>

namespace tessera::api {

// Splits at commas, removes blanks around each part and drops empty parts. A part in double quotes may contain commas
// and equal signs; "" inside is a quote.
std::vector<std::string> split_list(const std::string& list);

// The lines of a text, without blanks around them and without empty ones.
std::vector<std::string> split_lines(const std::string& text);

// Whether the option `rules` enables the search, "find" or "off"; `otherwise` if it is empty. Throws Error(usage).
bool finds_rules(const std::string& option, bool otherwise);

// "zip=category,\"a,b\"=id" → pairs. Throws Error(usage) naming `option` and the part that is not name=value.
std::vector<std::pair<std::string, std::string>> split_pairs(const std::string& list, const char* option);

}  // namespace tessera::api
