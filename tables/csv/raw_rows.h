// The rows of a CSV file as its bytes, beside the table that was read from it.
#pragma once
#include <string>
#include <vector>

#include "tables/csv/scan.h"
#include "tables/csv/source.h"
#include "tables/csv/style.h"

namespace tessera {

class RawRows {
 public:
  // `dialect`, `rows`: of the table (Table). Errors as CsvSource; Error(data) if the file is not that of the table.
  RawRows(const std::string& path, const std::string& dialect, int64_t rows, const Monitor& monitor);

  bool next();  // the next row of the table; false: no more
  const CsvField* fields() const { return scanner_.fields(); }
  size_t count() const { return scanner_.count(); }
  // Of the row that next() came to, for messages: "table.csv:3". `row`: its number, from 0.
  std::string place(int64_t row) const { return source_.place(before_ + scanner_.line() + 1, row); }
  bool is_json() const { return source_.is_json(); }  // the bytes are those of a CSV text made of it

  const std::vector<std::string>& names() const { return names_; }  // of the header; empty: there is none
  char delimiter() const { return style_.delimiter; }
  const char* begin() const { return source_.begin(); }
  const char* end() const { return source_.end(); }

 private:
  CsvScanner scan() const;
  bool next_row(CsvScanner& scanner) const;  // that is not blank

  CsvSource source_;
  CsvStyle style_;
  const char* text_;    // behind a byte order mark and a line that names the delimiter
  int64_t before_ = 0;  // lines before it
  CsvScanner scanner_;
  std::vector<std::string> names_;
};

}  // namespace tessera
