// Parses untrusted JSON: with a bound on its nesting and without duplicate keys.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tessera {

// `what` begins the message: "adult.tessera: the header". Throws Error(format) with the byte where the JSON is invalid,
// if objects and arrays nest deeper than `max_depth`, if an object has a duplicate key, or if it is not UTF-8.
nlohmann::json parse_json(std::string_view text, int max_depth, const std::string& what);

}  // namespace tessera
