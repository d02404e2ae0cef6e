// The dialect of a CSV file: its delimiter, and whether its first row is a header. Detected from the head of the text.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// The head: what says how the file is written.
constexpr std::ptrdiff_t kHeadBytes = std::ptrdiff_t{1} << 18;
constexpr size_t kHeadRows = 100;

// ',' ';' tab or '|': the one that splits the first rows into the same number of fields as the header; the larger
// number wins; ',' if none does.
char find_delimiter(const char* begin, const char* end);

// True if the first row names the columns. It does not if it holds a number, a date or a boolean and no column has a
// name above values of such a type: "id,2019,2020" above numbers is a header, "1,2,3" is not, and neither is "red,5"
// above "blue,6". Years that rise evenly, and numbers from 0 or 1 on, are names unless the next row has such too.
bool find_header(const char* begin, const char* end, char delimiter);

}  // namespace tessera
