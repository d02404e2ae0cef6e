// Numbers for people.
#pragma once
#include <fmt/format.h>

#include <cmath>
#include <string>

namespace tessera {

// A count, or a part of one: 10000, 212, 12.5, 0.72.
inline std::string plain_number(double x) {
  std::string out = fmt::format("{:.{}f}", x, std::abs(x) < 10 ? 2 : std::abs(x) < 100 ? 1 : 0);
  if (out.find('.') != std::string::npos) out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

}  // namespace tessera
