// Texts, numbers and times as the page writes them.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tessera::report {

using Json = nlohmann::json;

// Safe in elements and in quoted attributes; characters that no document may hold show as U+FFFD.
std::string escape(std::string_view text);
// The same as an element of its own, so that a text that runs from right to left turns nothing around it.
std::string isolated(std::string_view text);
// At most `characters`, the end replaced by …, escaped.
std::string clipped(std::string_view text, size_t characters);

// The number at a path; not a number where there is none, which every printer here shows as a dash.
double at(const Json& json, const char* pointer);

std::string percent(double share, int decimals = 1);  // 92.1 %, in one piece
std::string area(double x);                           // 0.503: areas under a curve need the third digit
std::string number(double x);                         // four digits that matter
std::string coordinate(double x);                     // of a drawing: a tenth at most, no zeros behind the point
std::string moment(double nanoseconds, double step);  // 2024, 2024-05, 2024-05-08 … as the step is
// A value on an axis that describe_axis() made.
std::string tick(const Json& axis, double value);

}  // namespace tessera::report
