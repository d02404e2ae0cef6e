#include "whole_number.h"

#include <fmt/format.h>

#include <charconv>

#include "terminal/text.h"

namespace {
std::string shown(const std::string& given) { return given.empty() ? "an empty text" : given; }
}  // namespace

CLI::Validator whole_number(int64_t low, int64_t high) {
  const std::string open = fmt::format("whole number from {}", text::count(low)),
                    range = high == INT64_MAX ? open : fmt::format("{} to {}", open, text::count(high));
  const auto check = [=](const std::string& given) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
    if (error == std::errc() && end == given.data() + given.size() && value >= low && value <= high)
      return std::string();
    const bool digits = given.find_first_not_of("0123456789-") == std::string::npos;
    return fmt::format("{} is not a {}{}", shown(given), range, digits ? "." : ", written with digits only (1000000).");
  };
  return CLI::Validator(check, high == INT32_MAX ? open : range, range);
}

CLI::Validator any_seed() {
  const auto check = [](const std::string& given) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
    if (error == std::errc() && end == given.data() + given.size()) return std::string();
    return fmt::format("{} is not a seed: a whole number from 0 to {}.", shown(given), UINT64_MAX);
  };
  return CLI::Validator(check, "", "seed");
}

CLI::Validator whole_bytes() {
  const auto check = [](const std::string& given) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
    const bool fraction = end < given.data() + given.size() && (*end == '.' || *end == ',');
    if (error == std::errc() && value >= 0 && !fraction) return std::string();
    return fmt::format("{} is not a number of bytes: write an integer, or a number with a unit (500MB, 4G, 1536MiB).",
                       shown(given));
  };
  return CLI::Validator(check, "", "bytes");
}
