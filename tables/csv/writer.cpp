#include "tables/csv/writer.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <vector>

#include "base/storage/output_file.h"
#include "base/text/quoted.h"
#include "tables/arrow/import.h"
#include "tables/csv/style.h"
#include "tables/formats/moments.h"
#include "tables/formats/number_format.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/number_writer.h"
#include "tables/kinds/row_formats.h"
#include "tables/types/types.h"

namespace tessera {

void append_field(std::string_view text, char delimiter, std::string& out, bool always) {
  bool quote = always || text.empty() || text.front() == ' ' || text.back() == ' ' || text.front() == '\t' ||
               text.back() == '\t';
  for (const char c : text) quote |= c == delimiter || c == '"' || c == '\n' || c == '\r';
  if (quote) append_quoted(text, out);
  else out += text;
}

namespace {

constexpr size_t kBuffer = size_t{1} << 18;
constexpr int64_t kReportEvery = int64_t{1} << 16;

// Short texts are copied as a block of fixed size: a copy of 32 bytes is cheaper than one of unknown length.
constexpr size_t kSlot = 32;
struct Slot {
  char bytes[kSlot];
  uint32_t size;  // ≥ kSlot: the text stands in `longer`
  uint32_t longer;
};

// One column ready to be written: every text already quoted.
class ColumnWriter {
 public:
  ColumnWriter(const Column& column, const CsvStyle& style, bool alone)
      : column_(column),
        numbers_(column),
        delimiter_(style.delimiter),
        quoted_(std::find(style.quoted.begin(), style.quoted.end(), column.name) != style.quoted.end()),
        missing_(missing_text(column, style, alone)) {
    if (by_row(column))
      for (const std::string& format : column.values) by_format_.push_back(writer_in(column, format));
    if (has_numbers(column)) return;
    slots_.resize(column.values.size());
    std::string text;
    for (size_t v = 0; v < slots_.size(); ++v) {
      text.clear();
      const bool bare = !style.bare.empty() && column.values[v] == style.bare;
      append_field(column.values[v], delimiter_, text, quoted_ && !bare);
      Slot& slot = slots_[v];
      slot.size = static_cast<uint32_t>(text.size());
      if (text.size() <= kSlot) {
        std::memcpy(slot.bytes, text.data(), text.size());
      } else {
        slot.longer = static_cast<uint32_t>(longer_.size());
        longer_.push_back(text);
      }
    }
  }

  // Appends the value at `p`, which has room for kRoom bytes, or to `spill` if it may need more. Returns the new end,
  // or nullptr if it spilled.
  static constexpr size_t kRoom = 64;
  char* write(int64_t row, char* p, std::string& spill) const {
    if (column_.is_missing(row)) return put(missing_, p);
    const auto at = static_cast<size_t>(row);
    if (has_numbers(column_)) return write_number(column_.numbers[at], writer_at(at), p, spill);
    const Slot& slot = slots_[static_cast<size_t>(column_.codes[at])];
    if (slot.size <= kSlot) {
      std::memcpy(p, slot.bytes, kSlot);
      return p + slot.size;
    }
    spill = longer_[slot.longer];
    return nullptr;
  }

 private:
  // A word that says "missing" among numbers, or in every row, is a category among texts.
  std::string_view missing_text(const Column& column, const CsvStyle& style, bool alone) const {
    const auto gap = style.gaps.find(column.name);
    if (gap != style.gaps.end() && (!kind_of(column).free_text || column.values.empty())) return gap->second;
    if (!style.missing.empty() && kind_of(column).free_text) return style.missing;
    return alone || (quoted_ && style.quoted_missing) ? "\"\"" : "";
  }
  static char* put(std::string_view text, char* p) {
    std::memcpy(p, text.data(), text.size());
    return p + text.size();
  }

  const NumberWriter& writer_at(size_t row) const {
    return by_format_.empty() || column_.codes[row] < 0 ? numbers_
                                                        : by_format_[static_cast<size_t>(column_.codes[row])];
  }

  char* write_number(double value, const NumberWriter& numbers, char* p, std::string& spill) const {
    if (numbers.is_whole() && !quoted_) return std::to_chars(p, p + kRoom, static_cast<int64_t>(value)).ptr;
    if (numbers.is_fixed() && !quoted_) return write_decimal(value, numbers.decimals(), p);
    spill.clear();
    numbers.write(value, scratch_);
    append_field(scratch_, delimiter_, spill, quoted_);
    scratch_.clear();
    return spill.size() <= kRoom ? put(spill, p) : nullptr;
  }

  const Column& column_;
  const NumberWriter numbers_;
  std::vector<NumberWriter> by_format_;  // of a column of which each row has its own
  char delimiter_;
  bool quoted_;
  mutable std::string scratch_;  // empty between calls
  std::string_view missing_;
  std::vector<Slot> slots_;
  std::vector<std::string> longer_;
};

class TableWriter {
 public:
  TableWriter(OutputFile& file, CsvStyle style) : file_(file), style_(std::move(style)), buffer_(kBuffer) {}

  void header(const Table& table) {
    std::string line = style_.byte_order_mark ? "\xEF\xBB\xBF" : "";
    if (style_.delimiter_line) line += std::string("sep=") + style_.delimiter + style_.line_end;
    if (style_.delimiter_first) line += style_.delimiter;
    for (size_t j = 0; j < table.columns.size(); ++j) {
      const auto renamed = style_.renamed.find(table.columns[j].name);
      const std::string& name = renamed != style_.renamed.end() ? renamed->second : table.columns[j].name;
      if (j > 0) line += style_.delimiter;
      const bool unnamed = j == 0 && style_.unnamed_first && name == kUnnamedFirst && table.columns.size() > 1;
      if (!unnamed) append_field(name, style_.delimiter, line, style_.quoted_header);
      else if (style_.quoted_header) line += "\"\"";
    }
    if (style_.delimiter_last) line += style_.delimiter;
    file_.write(line + style_.line_end);
  }

  void rows(const Table& table, const std::function<void(int64_t)>& progress) {
    std::vector<ColumnWriter> columns;
    columns.reserve(table.columns.size());
    for (const Column& c : table.columns) columns.emplace_back(c, style_, table.columns.size() == 1);
    char* p = buffer_.data();
    const char* full = buffer_.data() + buffer_.size() - ColumnWriter::kRoom - 4;
    std::string spill;
    const std::string line_end = style_.delimiter_last ? style_.delimiter + style_.line_end : style_.line_end;
    for (int64_t row = 0; row < table.rows; ++row) {
      if (style_.delimiter_first) *(p = p > full ? flush(p) : p)++ = style_.delimiter;
      for (size_t j = 0; j < columns.size(); ++j) {
        if (p > full) p = flush(p);
        if (char* end = columns[j].write(row, p, spill)) {
          p = end;
        } else {
          p = flush(p);
          file_.write(spill);
        }
        if (j + 1 < columns.size()) *p++ = style_.delimiter;
        else p = std::copy(line_end.begin(), line_end.end(), p);
      }
      if ((row + 1) % kReportEvery == 0) progress(row + 1);
    }
    flush(p);
  }

 private:
  char* flush(const char* end) {
    file_.write({buffer_.data(), static_cast<size_t>(end - buffer_.data())});
    return buffer_.data();
  }

  OutputFile& file_;
  const CsvStyle style_;
  std::vector<char> buffer_;
};

constexpr std::string_view kDelimiters = ",;|\t~^!#$%&*@=";

// Plain numbers and dates are written without quotes, so their characters cannot be the delimiter.
void check_delimiter(char delimiter) {
  if (kDelimiters.find(delimiter) != std::string_view::npos) return;
  throw Error(ErrorCode::usage,
              std::string("`delimiter`: '") + delimiter +
                  "' cannot separate fields, because it occurs in values.\n  Use one of , ; | or tab.");
}

CsvStyle style_for(const Table& schema, const CsvWriteOptions& options) {
  CsvStyle style = options.like_input ? CsvStyle::parse(schema.dialect) : CsvStyle{};
  if (style.json) style = {};
  if (options.delimiter != 0) style.delimiter = options.delimiter;
  return style;
}

}  // namespace

void make_plain(Column& c) {
  if (is_instant(c)) c.format = has_time(c) ? plain_datetime(c.format) : kind_of(c).pattern;
  else if (is_quantity(c) && !is_shortest(c.format)) c.format = plain_number(c.format);
  if (by_row(c)) c.values.clear(), c.codes.clear();
}

CsvWritten csv_write(ArrowArrayStream* stream, const CsvWriteOptions& options, const Monitor& monitor) {
  Team alone(1);
  TableStream tables(stream, alone, monitor);
  if (options.delimiter != 0) check_delimiter(options.delimiter);
  OutputFile file(options.path, options.overwrite, options.fsync, options.compression);
  TableWriter writer(file, style_for(tables.schema(), options));
  CsvWritten written;
  Table batch;
  bool more = tables.next(batch);
  // not before the first batch: a stream that fails at once leaves nothing on standard output
  writer.header(tables.schema());
  for (; more; more = tables.next(batch)) {
    const int64_t before = written.rows;
    if (!options.like_input)
      for (Column& c : batch.columns) make_plain(c);
    writer.rows(batch, [&](int64_t rows) {
      monitor.report({"write", static_cast<double>(before + rows), 0, "rows", "", false});
    });
    written.rows += batch.rows;
    monitor.report({"write", static_cast<double>(written.rows), 0, "rows", "", false});
  }
  file.commit();
  written.bytes = file.written();
  monitor.report({"write", static_cast<double>(written.rows), static_cast<double>(written.rows), "rows", "", true});
  return written;
}

}  // namespace tessera
