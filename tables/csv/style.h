// How a CSV file is written: what its values do not tell. Synthetic rows go out in the style of the table that was
// read.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace tessera {

struct CsvStyle {
  char delimiter = ',';
  std::string line_end = "\n";  // or "\r\n", "\r"
  bool byte_order_mark = false;
  bool delimiter_line = false;  // "sep=;" before the header, as Excel writes it
  bool unnamed_first = false;   // the first column, an index, has no name in the header
  // every line begins, or ends, with a delimiter beside which nothing stands
  bool delimiter_first = false, delimiter_last = false;
  bool quoted_header = false;
  std::map<std::string, std::string> renamed;  // columns that the header calls otherwise, because names repeat
  bool json = false;    // the file was JSON: `quoted` are its columns of strings, and nothing else applies
  std::string missing;  // an unquoted word for missing values of texts: \N; "": nothing
  std::map<std::string, std::string> gaps;  // such a word, as NA, of a column of other values
  bool quoted_missing = false;              // "" for a missing value of a quoted column
  std::string bare;                         // a word without quotes in quoted columns too: NA, as R writes it; "": none
  std::vector<std::string> quoted;          // columns whose values all stand in quotes, needed or not

  bool operator==(const CsvStyle&) const = default;
  std::string text() const;  // JSON, for a model file and a stream
  // The style of a text of text(); that of a plain file if it is empty or anything else.
  static CsvStyle parse(const std::string& text);
};

// What the first column is called if the header has no name for it, as in pandas.
constexpr const char* kUnnamedFirst = "Unnamed: 0";

// The names of the columns, from those in the header. An index that pandas wrote has no name, nor has what stands
// behind a delimiter at the end: "Unnamed: 0", "Unnamed: 7". The second column called "a" becomes "a.1", as in pandas.
// Other empty names stay.
std::vector<std::string> column_names(std::vector<std::string> header);

// From the first rows; `begin` is where the header starts, behind any mark or delimiter line.
CsvStyle find_style(const char* begin, const char* end, char delimiter, bool header,
                    const std::vector<std::string>& names);

}  // namespace tessera
