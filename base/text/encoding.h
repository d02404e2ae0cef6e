// Text that is not UTF-8: UTF-16 with a byte-order mark, as Excel saves "Unicode Text", and Windows-1252, in which
// Western European programs write CSV. Everything else has to be converted by the user.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace tessera {

enum class Encoding { utf8, utf16_little, utf16_big, windows_1252 };
const char* name(Encoding encoding);

// Determined by its byte-order mark; without one, or with that of UTF-8: utf8.
Encoding marked_encoding(std::string_view text);

// Whether text that is not UTF-8 can be Windows-1252: every byte is a character there, no character of UTF-8 occurs
// (then a few bytes are damaged), and bytes beyond ASCII mostly stand alone (in Cyrillic and East Asian encodings they
// are neighbors).
bool may_be_windows_1252(std::string_view text);

// Passes the text to `put` as UTF-8, without a byte-order mark, in pieces of about 64 KiB. Throws Error(data) naming
// `file` and the byte if UTF-16 is damaged.
void to_utf8(Encoding from, std::string_view text, const std::string& file,
             const std::function<void(std::string_view)>& put);

}  // namespace tessera
