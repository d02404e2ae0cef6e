// "a,b=c" in options → what it means.
#pragma once
#include <string>
#include <vector>

namespace tessera::api {

// Cut at commas, blanks around each part removed, empty parts left out. A part in double quotes may hold commas and
// equal signs; "" inside is a quote.
std::vector<std::string> split_list(const std::string& list);

// "zip=category,\"a,b\"=id" → pairs. Throws Error(usage) naming `option` and the part that is not name=value.
std::vector<std::pair<std::string, std::string>> split_pairs(const std::string& list, const char* option);

}  // namespace tessera::api
