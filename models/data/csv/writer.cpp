#include "models/data/csv/writer.h"

#include <charconv>
#include <cstring>
#include <functional>
#include <vector>

#include "engine/storage/files.h"
#include "models/data/arrow/import.h"
#include "models/data/table/types_value.h"

namespace tessera {
namespace {

constexpr size_t kBuffer = size_t{1} << 18;
constexpr int64_t kReportEvery = int64_t{1} << 16;

// Quoted if a reader would otherwise misread it: delimiter, quote, line end, spaces at the ends, or empty.
void append_field(std::string_view text, char delimiter, std::string& out) {
  bool quote = text.empty() || text.front() == ' ' || text.back() == ' ' || text.front() == '\t' || text.back() == '\t';
  for (const char c : text) quote |= c == delimiter || c == '"' || c == '\n' || c == '\r';
  if (!quote) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    out += c;
    if (c == '"') out += c;
  }
  out += '"';
}

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
  ColumnWriter(const Column& column, char delimiter, bool alone) : column_(column), missing_(alone ? "\"\"" : "") {
    if (is_numeric(column.type)) return;
    slots_.resize(column.values.size());
    std::string text;
    for (size_t v = 0; v < slots_.size(); ++v) {
      text.clear();
      append_field(column.values[v], delimiter, text);
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
    switch (column_.type) {
      case ColumnType::integer: return std::to_chars(p, p + kRoom, static_cast<int64_t>(column_.numbers[at])).ptr;
      case ColumnType::decimal:
        spill.clear();
        if (column_.format != "%g") return write_decimal(column_.numbers[at], column_.decimals, p);
        write_shortest(column_.numbers[at], spill);
        break;
      case ColumnType::date:
        spill.clear();
        write_date(column_.numbers[at], column_.format, spill);
        break;
      case ColumnType::datetime:
        spill.clear();
        write_datetime(column_.numbers[at], column_.format, column_.decimals, spill);
        break;
      default: {
        const Slot& slot = slots_[static_cast<size_t>(column_.codes[at])];
        if (slot.size <= kSlot) {
          std::memcpy(p, slot.bytes, kSlot);
          return p + slot.size;
        }
        spill = longer_[slot.longer];
        return nullptr;
      }
    }
    return spill.size() <= kRoom ? put(spill, p) : nullptr;
  }

 private:
  static char* put(std::string_view text, char* p) {
    std::memcpy(p, text.data(), text.size());
    return p + text.size();
  }

  const Column& column_;
  std::string_view missing_;
  std::vector<Slot> slots_;
  std::vector<std::string> longer_;
};

class TableWriter {
 public:
  TableWriter(AtomicFile& file, char delimiter) : file_(file), delimiter_(delimiter), buffer_(kBuffer) {}

  void header(const Table& table) {
    std::string line;
    for (size_t j = 0; j < table.columns.size(); ++j) {
      if (j > 0) line += delimiter_;
      append_field(table.columns[j].name, delimiter_, line);
    }
    file_.write(line + '\n');
  }

  void rows(const Table& table, const std::function<void(int64_t)>& progress) {
    std::vector<ColumnWriter> columns;
    columns.reserve(table.columns.size());
    for (const Column& c : table.columns) columns.emplace_back(c, delimiter_, table.columns.size() == 1);
    char* p = buffer_.data();
    const char* full = buffer_.data() + buffer_.size() - ColumnWriter::kRoom - 1;
    std::string spill;
    for (int64_t row = 0; row < table.rows; ++row) {
      for (size_t j = 0; j < columns.size(); ++j) {
        if (p > full) p = flush(p);
        if (char* end = columns[j].write(row, p, spill)) {
          p = end;
        } else {
          p = flush(p);
          file_.write(spill);
        }
        *p++ = j + 1 == columns.size() ? '\n' : delimiter_;
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

  AtomicFile& file_;
  char delimiter_;
  std::vector<char> buffer_;
};

// Numbers and dates are written without quotes, so their characters cannot be the delimiter.
void check_delimiter(char delimiter) {
  if (std::strchr(",;|\t~^!#$%&*@=", delimiter) != nullptr && delimiter != 0) return;
  throw Error(ErrorCode::usage,
              std::string("--delimiter: '") + delimiter +
                  "' cannot separate fields, because it occurs in values.\n  Use one of , ; | or tab.");
}

}  // namespace

CsvWritten csv_write(ArrowArrayStream* stream, const CsvWriteOptions& options, const Monitor& monitor) {
  Team alone(1);
  TableStream tables(stream, alone, monitor);
  check_delimiter(options.delimiter);
  AtomicFile file(options.path, options.overwrite, options.fsync);
  TableWriter writer(file, options.delimiter);
  CsvWritten written;
  Table batch;
  bool more = tables.next(batch);
  // not before the first batch: a stream that fails at once leaves nothing on standard output
  writer.header(tables.schema());
  for (; more; more = tables.next(batch)) {
    const int64_t before = written.rows;
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
