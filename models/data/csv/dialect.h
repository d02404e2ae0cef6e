// How a CSV file is written: what parts its fields, and whether its first row names them. Found from the head of the
// text.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// ',' ';' tab or '|': the one that cuts the first rows into the same number of fields as the header, the larger number
// winning; ',' if none does.
char find_delimiter(const char* begin, const char* end);

// True if the first row names the columns. It does not where it holds a number, a date or a boolean and no column has a
// name above values of such a type: "id,2019,2020" above numbers is a header, "1,2,3" is not, and neither is "red,5"
// above "blue,6".
bool find_header(const char* begin, const char* end, char delimiter);

}  // namespace tessera
