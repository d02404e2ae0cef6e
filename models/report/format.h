// Formats texts, numbers and times for the page.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tessera::report {

using Json = nlohmann::json;

// Safe in elements and in quoted attributes; characters that are invalid in documents become U+FFFD.
std::string escape(std::string_view text);
// The same in its own element, so that right-to-left text does not affect its surroundings.
std::string isolated(std::string_view text);
// At most `pixels` wide in letters of `size` pixels, the end replaced by …, escaped.
std::string clipped(std::string_view text, double pixels, double size);

// The number at a path; NaN if it is absent, printed as a dash.
double at(const Json& json, const char* pointer);

std::string percent(double share, int decimals = 1);  // 92.1 %, without a line break
std::string area(double x);                           // 0.503: areas under a curve need the third digit
std::string number(double x);                         // four significant digits
std::string coordinate(double x);                     // of a drawing: at most one decimal, no trailing zeros
std::string moment(double nanoseconds, double step);  // 2024, 2024-05, 2024-05-08 … according to the step
// A value on an axis from describe_axis().
std::string tick(const Json& axis, double value);

}  // namespace tessera::report
