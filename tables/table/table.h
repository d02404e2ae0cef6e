// A table in memory: typed columns, one allocation per column. Created by table_import() from an Arrow stream (a CSV
// file is such a stream), exported by table_export().
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/storage/memory.h"
#include "base/storage/spill_vector.h"

namespace tessera {

enum class ColumnType { integer, decimal, boolean, category, date, datetime, identifier, constant, uuid };

const char* name(ColumnType type);                               // "integer", "decimal", …
bool parse_column_type(const std::string& text, ColumnType& t);  // false: no such type

inline bool is_numeric(ColumnType t) {  // held in Column::numbers
  return t == ColumnType::integer || t == ColumnType::decimal || t == ColumnType::date || t == ColumnType::datetime;
}

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// One column. Numeric types fill `numbers` (NaN = missing); all other types fill `codes` (−1 = missing) into `values`.
struct Column {
  std::string name;
  ColumnType type = ColumnType::category;
  std::string reason;  // why this type, one sentence for `inspect`
  // integer, decimal: the value · date: days since 1970-01-01 · datetime: seconds since 1970-01-01T00:00:00, no zone
  Bulk<double> numbers;
  Bulk<int32_t> codes;              // boolean, category, identifier, constant
  std::vector<std::string> values;  // distinct texts in order of first appearance, as they were spelled (trimmed)
  // integer, decimal: digits after the point that all values need (0 … 15) · datetime: digits of the second
  int decimals = 0;
  // how values are written (tables/formats/): strftime-like of a date or datetime, a picture of an integer or
  // decimal; "": whole, or with fixed decimals
  std::string format;
  // category, identifier: what its texts are, if that was recognised (texts/text_kind.h)
  std::string kind;
  int64_t least_rows = 0;  // of this column, rows that a value needs to be learned; 0: as many as of all columns
  // What its user declares, as JSON: {} (the type alone) or "values", "min", "max", "decimals" (docs/data/schema.md);
  // "": nothing. A differentially private fit knows nothing else of a column without paying for it.
  std::string domain;
  // the imported Arrow format, if it differs from the default (tables/arrow/type.h)
  std::string arrow;

  int64_t size() const { return static_cast<int64_t>(is_numeric(type) ? numbers.size() : codes.size()); }
  void relax() const { numbers.relax(), codes.relax(); }  // columns in scratch need not stay in memory
  bool is_missing(int64_t row) const {
    return is_numeric(type) ? numbers[static_cast<size_t>(row)] != numbers[static_cast<size_t>(row)]
                            : codes[static_cast<size_t>(row)] < 0;
  }
  // Cells whatever they hold. Where two columns meet, both number their texts the same way.
  double key(size_t row) const {
    return is_numeric(type) ? numbers[row] + 0.0 : codes[row];
  }  // equal cells, equal keys
  void push_from(const Column& from, size_t row, size_t times = 1) {
    if (!from.numbers.empty()) numbers.insert(numbers.end(), times, from.numbers[row]);
    if (!from.codes.empty()) codes.insert(codes.end(), times, from.codes[row]);  // of numbers: the format of each row
  }
  void copy_cell(size_t from, size_t to) {
    if (!numbers.empty()) numbers[to] = numbers[from];
    if (!codes.empty()) codes[to] = codes[from];
  }
  Column head() const {  // without rows and texts
    Column out;
    out.name = name, out.type = type, out.reason = reason, out.decimals = decimals, out.format = format;
    out.kind = kind, out.least_rows = least_rows, out.domain = domain, out.arrow = arrow;
    return out;
  }
  template <class Rows>
  Column pick(const Rows& rows) const {  // of these rows
    Column out = head();
    out.values = values;
    for (const auto row : rows) out.push_from(*this, static_cast<size_t>(row));
    return out;
  }
  void push_missing() {
    if (is_numeric(type)) numbers.push_back(kMissing);
    else codes.push_back(-1);
  }
  void set_missing(size_t row) {
    if (is_numeric(type)) numbers[row] = kMissing;
    else codes[row] = -1;
  }
  void assign_missing(size_t rows) {
    numbers.clear(), codes.clear();
    if (is_numeric(type)) numbers.assign(rows, kMissing);
    else codes.assign(rows, -1);
  }
};

// The decimals that a column's numbers are rounded to.
inline int decimals_of(const Column& c) {
  return c.type == ColumnType::integer || c.type == ColumnType::date ? 0 : c.decimals;
}

struct Table {
  std::vector<Column> columns;
  int64_t rows = 0;
  std::string dialect;  // how the CSV file it was read from is written (CsvDialect::text()); empty: it was none
  std::vector<std::string> rules;  // that its user gives for it: "rules" of a schema file
  MemoryShare held;                // of the limit of the call that made it
  const Column* find(const std::string& column) const {
    for (const Column& c : columns)
      if (c.name == column) return &c;
    return nullptr;
  }
  void relax() const {
    for (const Column& c : columns) c.relax();
  }
};

}  // namespace tessera
