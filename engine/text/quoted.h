// Quoted texts as in CSV.
#pragma once
#include <string>
#include <string_view>

namespace tessera {

// Quotes inside are doubled.
inline void append_quoted(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    out += c;
    if (c == '"') out += c;
  }
  out += '"';
}

}  // namespace tessera
