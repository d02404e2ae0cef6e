#include "base/text/json_guard.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.h"

namespace tessera {

nlohmann::json parse_json(std::string_view text, int max_depth, const std::string& what) {
  using Event = nlohmann::json::parse_event_t;
  std::vector<std::set<std::string>> keys;  // of every open object; arrays hold an empty set
  const auto check = [&](int, Event event, nlohmann::json& value) {
    if (event == Event::object_start || event == Event::array_start) {
      keys.emplace_back();
      if (keys.size() > static_cast<size_t>(max_depth))
        throw Error(ErrorCode::format, what + " nests deeper than " + std::to_string(max_depth) + " levels.");
    } else if (event == Event::object_end || event == Event::array_end) {
      keys.pop_back();
    } else if (event == Event::key && !keys.back().insert(value.get<std::string>()).second) {
      throw Error(ErrorCode::format, what + " has the key \"" + value.get<std::string>() + "\" twice.");
    }
    return true;
  };
  try {
    return nlohmann::json::parse(text.begin(), text.end(), check);
  } catch (const nlohmann::json::parse_error& e) {
    throw Error(ErrorCode::format, what + " is not JSON from byte " + std::to_string(e.byte) + " on.");
  } catch (const nlohmann::json::exception&) {  // a number out of range
    throw Error(ErrorCode::format, what + " is JSON with a value out of range.");
  }
}

}  // namespace tessera
