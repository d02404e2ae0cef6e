// JSON that a stranger may have written: parsed with a bound on its nesting and no key twice.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tessera {

// `what` begins the message: "adult.tessera: the header". Throws Error(format) with the byte where it stops being JSON,
// when objects and arrays nest deeper than `max_depth`, when an object has a key twice, or when it is not UTF-8.
nlohmann::json parse_json(std::string_view text, int max_depth, const std::string& what);

}  // namespace tessera
