// Reading untrusted JSON: every access is checked, every message names the place.
#pragma once
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace tessera {

class Fields {
 public:
  Fields(const nlohmann::json& json, std::string place) : json_(json), place_(std::move(place)) {
    if (!json.is_object()) fail("is not an object");
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::format, "The model file is damaged or foreign: " + place_ + " " + what +
                                       ". Fit the model again, or take an intact copy of the file.");
  }
  void check(bool holds, const std::string& what) const {
    if (!holds) fail(what);
  }
  const std::string& place() const { return place_; }
  bool has(const char* key) const { return json_.contains(key); }
  const nlohmann::json& at(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) fail(std::string("has no \"") + key + "\"");
    return *found;
  }
  const nlohmann::json& array(const char* key) const {
    const auto& v = at(key);
    check(v.is_array(), std::string("\"") + key + "\" is not a list");
    return v;
  }
  std::string text(const char* key) const {
    const auto& v = at(key);
    check(v.is_string(), std::string("\"") + key + "\" is not a text");
    return v.get<std::string>();
  }
  bool flag(const char* key) const {
    const auto& v = at(key);
    check(v.is_boolean(), std::string("\"") + key + "\" is not true or false");
    return v.get<bool>();
  }
  double number(const char* key) const { return to_number(at(key), key); }
  int64_t integer(const char* key, int64_t low, int64_t high) const {
    const auto& v = at(key);
    check(v.is_number_integer() && !(v.is_number_unsigned() && v.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)),
          std::string("\"") + key + "\" is not an integer");
    const int64_t i = v.get<int64_t>();
    check(i >= low && i <= high,
          std::string("\"") + key + "\" is outside " + std::to_string(low) + " … " + std::to_string(high));
    return i;
  }
  uint64_t natural(const char* key) const {
    const auto& v = at(key);
    check(v.is_number_unsigned(), std::string("\"") + key + "\" is not a natural number");
    return v.get<uint64_t>();
  }
  std::vector<double> numbers(const char* key) const {
    std::vector<double> out;
    for (const auto& v : array(key)) out.push_back(to_number(v, key));
    return out;
  }
  std::vector<uint64_t> naturals(const char* key) const {
    std::vector<uint64_t> out;
    for (const auto& v : array(key)) {
      check(v.is_number_unsigned(), std::string("\"") + key + "\" holds something that is not a natural number");
      out.push_back(v.get<uint64_t>());
    }
    return out;
  }
  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> out;
    for (const auto& v : array(key)) {
      check(v.is_string(), std::string("\"") + key + "\" holds something that is not a text");
      out.push_back(v.get<std::string>());
    }
    return out;
  }

 private:
  double to_number(const nlohmann::json& v, const char* key) const {
    check(v.is_number(), std::string("\"") + key + "\" is not a number");
    const double x = v.get<double>();
    check(std::isfinite(x), std::string("\"") + key + "\" is not finite");
    return x;
  }
  const nlohmann::json& json_;
  std::string place_;
};

}  // namespace tessera
