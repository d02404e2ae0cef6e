#include "tables/csv/raw_rows.h"

#include <algorithm>

#include "base/error.h"

namespace tessera {
namespace {

constexpr int kMarkBytes = 3;  // of a UTF-8 byte order mark

}  // namespace

RawRows::RawRows(const std::string& path, const std::string& dialect, int64_t rows, const Monitor& monitor)
    : source_(path, monitor),
      style_(CsvStyle::parse(dialect)),
      text_(source_.begin() + (style_.byte_order_mark ? kMarkBytes : 0)),
      scanner_(text_, source_.end(), style_.delimiter) {
  if (style_.delimiter_line) text_ = std::find(text_, source_.end(), '\n') + 1, before_ = 1;
  int64_t found = 0;
  for (CsvScanner all = scan(); next_row(all);) ++found;
  scanner_ = scan();
  if (found != rows && found != rows + 1)
    throw Error(ErrorCode::data, path + ": the file was changed while it was read.\n  Run the command again.");
  if (found == rows) return;
  next_row(scanner_);
  std::string scratch;
  for (size_t k = 0; k < scanner_.count(); ++k) names_.emplace_back(csv_text(scanner_.fields()[k], scratch));
  names_ = column_names(std::move(names_));
}

CsvScanner RawRows::scan() const { return {text_, source_.end(), style_.delimiter}; }

bool RawRows::next_row(CsvScanner& scanner) const {
  while (scanner.next())
    if (!scanner.is_blank()) return true;
  return false;
}

bool RawRows::next() { return next_row(scanner_); }

}  // namespace tessera
