// How a CSV file is written: what its values do not tell. Synthetic rows go out in the style of the table that was
// read.
#pragma once
#include <string>
#include <vector>

namespace tessera {

struct CsvStyle {
  char delimiter = ',';
  std::string line_end = "\n";  // or "\r\n", "\r"
  bool byte_order_mark = false;
  bool delimiter_line = false;  // "sep=;" before the header, as Excel writes it
  bool unnamed_first = false;   // the first column, an index, has no name in the header
  bool quoted_header = false;
  bool json = false;                // the file was JSON: `quoted` are its columns of strings, and nothing else applies
  bool quoted_missing = false;      // "" for a missing value of a quoted column
  std::vector<std::string> quoted;  // columns whose values all stand in quotes, needed or not

  bool operator==(const CsvStyle&) const = default;
  std::string text() const;  // JSON, for a model file and a stream
  // The style of a text of text(); that of a plain file if it is empty or anything else.
  static CsvStyle parse(const std::string& text);
};

// The name that the first column gets if the header has none, as in pandas.
constexpr const char* kUnnamedFirst = "Unnamed: 0";

// From the first rows; `begin` is where the header starts, behind any mark or delimiter line.
CsvStyle find_style(const char* begin, const char* end, char delimiter, bool header,
                    const std::vector<std::string>& names);

}  // namespace tessera
