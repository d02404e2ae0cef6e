// What the ending of a path says of a table in text: its format and compression.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>

#include "base/storage/compression.h"
#include "base/text/ascii.h"

namespace tessera {

// Whatever the case of the letters; a path that consists of the ending alone has none.
inline bool ends_with(std::string_view path, std::string_view end) {
  return path.size() > end.size() &&
         std::equal(end.rbegin(), end.rend(), path.rbegin(), [](char a, char b) { return a == lower(b); });
}

struct TextFormat {
  std::string_view ending;  // empty: none of the list
  char delimiter = '\0';    // 0: any
  bool json = false;
  bool lines = false;  // one record per line, and not an array
};
inline constexpr TextFormat kTextFormats[] = {{".csv"},
                                              {".tsv", '\t'},
                                              {".tab", '\t'},
                                              {".txt"},
                                              {".json", 0, true},
                                              {".jsonl", 0, true, true},
                                              {".ndjson", 0, true, true}};

struct TextEnding : TextFormat {
  std::string_view plain;  // the path without .gz or .zst
  Compression compression = Compression::none;
};

inline TextEnding text_ending(std::string_view path) {
  TextEnding out;
  out.plain = path;
  if (ends_with(path, ".gz")) out.compression = Compression::gzip;
  if (ends_with(path, ".zst")) out.compression = Compression::zstd;
  if (out.compression != Compression::none) out.plain = path.substr(0, path.rfind('.'));
  for (const TextFormat& format : kTextFormats)
    if (ends_with(out.plain, format.ending)) static_cast<TextFormat&>(out) = format;
  return out;
}

// Whatever the ending: standard input has none, and "{" and "[" before a quote or a brace begin no CSV that a program
// writes.
inline bool begins_like_json(std::string_view text) {
  const auto next = [&](size_t from) { return std::min(text.find_first_not_of(" \t\r\n", from), text.size()); };
  const size_t first = next(0), second = next(std::min(first + 1, text.size()));
  if (second >= text.size()) return false;
  return (text[first] == '{' && (text[second] == '"' || text[second] == '}')) ||
         (text[first] == '[' && (text[second] == '{' || text[second] == ']'));
}

}  // namespace tessera
