#include "tables/files/json_writer.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/storage/output_file.h"
#include "base/text/ascii.h"
#include "tables/arrow/import.h"
#include "tables/csv/style.h"
#include "tables/formats/number_format.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/number_writer.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

constexpr size_t kBuffer = size_t{1} << 18;
constexpr int64_t kReportEvery = int64_t{1} << 16;

std::string json_text(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Which texts of a column may be written without quotes.
enum class Bare { none, booleans, values };

Bare bare_of(const Column& column, const CsvStyle& style, bool was_string) {
  if (was_string) return Bare::none;
  if (style.json || !kind_of(column).varies) return Bare::values;
  return kind_of(column).truths ? Bare::booleans : Bare::none;
}

// A text that is itself a JSON value: the number or boolean it was read from.
std::string value_of(const std::string& text, Bare bare) {
  if (bare == Bare::none) return json_text(text);
  for (const char* word : {"true", "false"})
    if (text.size() == std::string_view(word).size() &&
        std::equal(text.begin(), text.end(), word, [](char a, char b) { return lower(a) == b; }))
      return word;
  if (bare == Bare::values && Json::parse(text, nullptr, false).is_number()) return text;
  return json_text(text);
}

// A column of a batch: its name, and its distinct texts as JSON.
class JsonColumn {
 public:
  JsonColumn(Column& column, const CsvStyle& style, bool like_input)
      : column_(column),
        number_(is_number(column, style)),
        writer_(formatted(column, number_ || !like_input)),
        name_(json_text(column.name) + ':') {
    if (has_numbers(column)) return;
    const Bare bare = bare_of(column, style, was_string(column, style));
    for (const std::string& text : column.values) texts_.push_back(value_of(text, bare));
  }

  void write(int64_t row, std::string& out) const {
    const auto at = static_cast<size_t>(row);
    out += name_;
    if (column_.is_missing(row)) {
      out += "null";
    } else if (has_texts(column_)) {
      out += texts_[static_cast<size_t>(column_.codes[at])];
    } else if (number_) {
      writer_.write(column_.numbers[at], out);
    } else {
      text_.clear();
      writer_.write(column_.numbers[at], text_);
      out += json_text(text_);
    }
  }

 private:
  static bool was_string(const Column& column, const CsvStyle& style) {
    return style.json && std::find(style.quoted.begin(), style.quoted.end(), column.name) != style.quoted.end();
  }
  static bool is_number(const Column& column, const CsvStyle& style) {
    return is_quantity(column) && !is_clock_format(column.format) && !was_string(column, style);
  }
  static const Column& formatted(Column& column, bool plain) {
    if (plain) make_plain(column);
    return column;
  }

  const Column& column_;
  const bool number_;
  const NumberWriter writer_;
  const std::string name_;
  std::vector<std::string> texts_;
  mutable std::string text_;
};

class RecordWriter {
 public:
  RecordWriter(OutputFile& file, bool lines) : file_(file), lines_(lines) {}

  void rows(Table& table, const CsvStyle& style, bool like_input, const std::function<void(int64_t)>& progress) {
    std::vector<JsonColumn> columns;
    columns.reserve(table.columns.size());
    for (Column& c : table.columns) columns.emplace_back(c, style, like_input);
    for (int64_t row = 0; row < table.rows; ++row) {
      if (!lines_) out_ += std::exchange(first_, false) ? "[\n" : ",\n";
      for (size_t j = 0; j < columns.size(); ++j) {
        out_ += j == 0 ? '{' : ',';
        columns[j].write(row, out_);
        if (out_.size() >= kBuffer) flush();
      }
      out_ += lines_ ? "}\n" : "}";
      if ((row + 1) % kReportEvery == 0) progress(row + 1);
    }
    flush();
  }
  void finish() {
    if (!lines_) file_.write(first_ ? "[]\n" : "\n]\n");
  }

 private:
  void flush() {
    file_.write(out_);
    out_.clear();
  }

  OutputFile& file_;
  const bool lines_;
  bool first_ = true;
  std::string out_;
};

}  // namespace

CsvWritten json_write(ArrowArrayStream* stream, const CsvWriteOptions& options, bool lines, const Monitor& monitor) {
  Team alone(1);
  TableStream tables(stream, alone, monitor);
  OutputFile file(options.path, options.overwrite, options.fsync, options.compression);
  const CsvStyle style = CsvStyle::parse(tables.schema().dialect);
  RecordWriter writer(file, lines);
  CsvWritten written;
  for (Table batch; tables.next(batch);) {
    const int64_t before = written.rows;
    writer.rows(batch, style, options.like_input, [&](int64_t rows) {
      monitor.report({"write", static_cast<double>(before + rows), 0, "rows", "", false});
    });
    written.rows += batch.rows;
    monitor.report({"write", static_cast<double>(written.rows), 0, "rows", "", false});
  }
  writer.finish();
  file.commit();
  written.bytes = file.written();
  monitor.report({"write", static_cast<double>(written.rows), static_cast<double>(written.rows), "rows", "", true});
  return written;
}

}  // namespace tessera
