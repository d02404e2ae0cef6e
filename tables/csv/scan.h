// Splits CSV text into rows of fields: RFC 4180 quoting, LF, CRLF or lone CR, spaces around unquoted fields dropped.
// A quote inside an unquoted field is an ordinary character, as in 5" pipe.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct CsvField {
  const char* data = nullptr;
  size_t size = 0;
  bool quoted = false;
  bool doubled = false;  // quoted, with doubled quotes that csv_text() undoubles

  std::string_view raw() const { return {data, size}; }
};

// The value of a field. If doubled quotes had to be removed, `scratch` holds it, so the result lives until scratch
// changes.
std::string_view single_quotes(const CsvField& field, std::string& scratch);
inline std::string_view csv_text(const CsvField& field, std::string& scratch) {
  return field.doubled ? single_quotes(field, scratch) : field.raw();
}

// A fault in the text. Lines count from 0 at the scanner's begin; the reader adds file, line and remedy.
struct CsvFault {
  enum class Kind { ragged, open_quote, after_quote, bad_utf8, nul_byte, too_many_fields, abandoned };
  Kind kind;
  int64_t line;    // where the row starts
  int64_t column;  // of the field, from 0; −1 if unknown · ragged: the number of fields
  std::string value;
};

class CsvScanner {
 public:
  static constexpr size_t kMaxFields = 1u << 20;

  // Scans [begin, end); `begin` is the start of a line. The bytes must outlive the scanner.
  CsvScanner(const char* begin, const char* end, char delimiter)
      : delimiter_(delimiter), next_block_(begin), end_(end), at_(begin) {}

  void check_text(bool on) { check_text_ = on; }  // UTF-8 and NUL bytes: once per file is enough
  // a row that reaches beyond it throws CsvFault::abandoned
  void abandon_after(const char* limit) { limit_ = limit; }
  void keep_fields(size_t most) { most_fields_ = std::min(most, kMaxFields); }  // fields beyond are counted, not kept

  // Reads one row; false at the end. A blank line is a row with is_blank(). Throws CsvFault.
  bool next();

  const CsvField* fields() const { return fields_.data(); }  // min(count(), most kept) of them
  size_t count() const { return count_; }
  bool is_blank() const { return count_ == 1 && fields_[0].size == 0 && !fields_[0].quoted; }
  int64_t line() const { return line_; }        // where the row starts
  int64_t lines() const { return next_line_; }  // lines ended so far
  const char* position() const { return at_; }  // where the next row starts

 private:
  const char* special();  // the next delimiter, quote or line end; end_ when there is none
  void load_block();
  void scan_field();
  void scan_quoted(const char* open);
  void end_line(const char* at);
  void check_row(const char* row) const;
  [[noreturn]] void fail(CsvFault::Kind kind, const char* value, const char* value_end) const;
  bool is_space(char c) const { return (c == ' ' || c == '\t') && c != delimiter_; }
  void push(const char* data, const char* end, bool quoted, bool doubled);

  char delimiter_;
  bool check_text_ = true;
  // NUL or non-ASCII in the blocks this row touches, in the current block
  bool odd_bytes_ = false, block_odd_bytes_ = false;
  const char* block_ = nullptr;
  const char* next_block_;
  const char* end_;
  const char* limit_ = nullptr;
  uint64_t specials_ = 0;  // of the current block, those not yet returned
  const char* at_;
  std::vector<CsvField> fields_;
  size_t count_ = 0, most_fields_ = kMaxFields;
  int64_t line_ = 0, next_line_ = 0;
};

}  // namespace tessera
