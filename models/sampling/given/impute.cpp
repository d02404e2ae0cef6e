#include "models/sampling/given/impute.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/storage/files.h"
#include "tables/csv/raw_rows.h"
#include "tables/csv/writer.h"
#include "tables/files/table_file.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/number_writer.h"
#include "tables/kinds/row_formats.h"
#include "tables/notice.h"
#include "tables/types/types.h"

namespace tessera {
namespace {

// Cells of one column of the file, and how filled cells are written.
struct FileColumn {
  size_t field = 0;
  const Column* read = nullptr;  // the column of the file
  size_t drawn = 0;              // its column in the drawn rows
};

std::string filled_text(const Column& drawn, const Column& read, size_t row) {
  std::string text;
  // Integers alone show neither the decimal mark of the file's column nor its digits.
  const bool shows_digits = !has_fractions(drawn) || read.decimals > 0 || drawn.decimals == 0;
  const bool fits_read = is_ordered(read) && read.type == drawn.type && shows_digits;
  if (has_numbers(drawn))
    (by_row(drawn) ? writer_of(drawn, row) : NumberWriter(fits_read ? read : drawn)).write(drawn.numbers[row], text);
  else text = drawn.values[static_cast<size_t>(drawn.codes[row])];
  return text;
}

// Copies the file and inserts cells.
class Copy {
 public:
  explicit Copy(const RawRows& file) : file_(file), at_(file.begin()) {}

  void put(const CsvField& field, const std::string& text) {
    out_.append(at_, field.data);
    std::string written;
    append_field(text, file_.delimiter(), written, field.quoted);
    if (field.quoted) out_ += std::string_view(written).substr(1, written.size() - 2);  // the quotes are already there
    else out_ += written;
    at_ = field.data + field.size;
  }
  std::string finish() {
    out_.append(at_, file_.end());
    return std::move(out_);
  }

 private:
  const RawRows& file_;
  const char* at_;  // everything before it is copied
  std::string out_;
};

// Reports cells that no candidate fills.
void note_empty(const GivenReport& report, const std::vector<FileColumn>& columns, const Monitor& monitor) {
  int64_t cells = 0;
  std::string of;
  for (const FileColumn& c : columns)
    if (const int64_t n = report.empty[c.drawn]; n > 0) {
      cells += n;
      of += fmt::format("{}\"{}\" {}", of.empty() ? "" : ", ", c.read->name, n);
    }
  if (cells > 0)
    notice(monitor, fmt::format("{} cell{} empty, because no candidate of {} fills {}: {}.", cells,
                                cells == 1 ? " stays" : "s stay", cells == 1 ? "its row" : "their rows",
                                cells == 1 ? "it" : "them", of));
}

// Reports rows that break a rule.
void note_broken(const GivenReport& report, const Monitor& monitor) {
  if (report.broken == 0) return;
  notice(monitor,
         fmt::format("{} a rule of the table, the first at {}: no candidate satisfies all rules with the given "
                     "cells{}, and the one that breaks the fewest was used. Correct or empty their cells (the model's "
                     "description lists the rules), or allow more `max_candidates`.",
                     report.broken == 1 ? "1 completed row breaks" : grouped(report.broken) + " completed rows break",
                     report.first_broken, report.broken_by));
}

}  // namespace

Table read_given(const Table& schema, CsvOptions csv, bool others, Team& team, const Monitor& monitor) {
  csv.like = &schema;
  csv.more_columns = true;  // messages name the model's columns
  csv.fewer_columns = true;
  Table read = csv_read(csv, team, monitor);
  if (others) return read;
  for (const Column& c : read.columns)
    if (schema.find(c.name) == nullptr) unknown_column(c.name, schema, csv.path);
  return read;
}

std::function<std::string(int64_t)> place_in(const std::string& file, const std::string& dialect, int64_t rows) {
  return [=](int64_t row) {
    if (row < 0) return file;
    if (kind_of_input(file) != FileKind::csv) return fmt::format("{}, row {}", file, row + 1);
    RawRows raw(file, dialect, rows, Monitor{});
    for (int64_t i = 0; i <= row; ++i) raw.next();
    return raw.place(row);
  };
}

Imputed impute(std::shared_ptr<const RowModel> model, const CsvOptions& csv, const std::string& output, bool overwrite,
               GivenOptions options, Team& team, const Monitor& monitor) {
  const Table read = read_given(model->schema(), csv, true, team, monitor);
  RawRows raw(csv.path, read.dialect, read.rows, monitor);
  if (raw.is_json()) throw Error(ErrorCode::usage, csv.path + ": only CSV files can be completed in place.");
  if (raw.names().empty())
    throw Error(ErrorCode::data,
                csv.path + ": the file has no header, so its columns cannot be matched to the model's.");
  const Table schema = model->schema();
  Table given;
  given.rows = read.rows;
  std::vector<FileColumn> columns;
  for (size_t k = 0; k < raw.names().size(); ++k) {
    const Column *own = read.find(raw.names()[k]), *known = schema.find(raw.names()[k]);
    if (own == nullptr || known == nullptr) continue;
    columns.push_back({k, own, static_cast<size_t>(known - schema.columns.data())});
    given.columns.push_back(*own);
  }
  options.completes = true;
  options.place = place_in(csv.path, read.dialect, read.rows);
  const auto stream = open_given(std::move(model), std::move(given), options, team, monitor);
  Imputed out;
  Copy copy(raw);
  int64_t row = 0;
  for (Table batch; stream->next(batch);)
    for (int64_t i = 0; i < batch.rows && raw.next(); ++i, ++row)
      for (const FileColumn& c : columns) {
        const Column& drawn = batch.columns[c.drawn];
        if (!c.read->is_missing(row) || drawn.is_missing(i) || c.field >= raw.count()) continue;
        copy.put(raw.fields()[c.field], filled_text(drawn, *c.read, static_cast<size_t>(i)));
        ++out.cells;
      }
  write_file(output, copy.finish(), overwrite);
  out.report = stream->report();
  note_empty(out.report, columns, monitor);
  note_broken(out.report, monitor);
  return out;
}

}  // namespace tessera
