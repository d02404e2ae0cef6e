// Quoted texts as in CSV and in expressions.
#pragma once
#include <string>
#include <string_view>

namespace tessera {

// Quotes inside are doubled.
inline void append_quoted(std::string_view text, std::string& out, char quote = '"') {
  out += quote;
  for (const char c : text) {
    out += c;
    if (c == quote) out += c;
  }
  out += quote;
}

}  // namespace tessera
