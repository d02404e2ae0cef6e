#include "base/text/option_text.h"

#include "base/text/quoted.h"

namespace tessera {
namespace {

bool is_plain_in_option(char c) {
  return static_cast<unsigned char>(c) >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
         (c >= 'a' && c <= 'z') || std::string_view("_-+.,:/@%=").find(c) != std::string_view::npos;
}

}  // namespace

std::string option_text(std::string_view key, std::string_view value) {
  bool plain = !value.empty();
  for (const char c : value) plain = plain && is_plain_in_option(c);
  std::string out = "`";
  out.append(key).append("=");
  if (plain) return out.append(value).append("`");
  out += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"`";
}

std::string type_option(std::string_view column, std::string_view type) {
  std::string pair;
  if (column.find_first_of(",=\"") == std::string_view::npos) pair = column;
  else append_quoted(column, pair);
  return option_text("types", pair.append("=").append(type));
}

}  // namespace tessera
