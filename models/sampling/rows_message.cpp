#include "models/sampling/rows_message.h"

#include <cstring>

#include "base/error.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/row_formats.h"

namespace tessera {
namespace {

void append(std::string& to, const void* data, int64_t bytes) {
  to.append(static_cast<const char*>(data), static_cast<size_t>(bytes));
}
void append(std::string& to, int64_t number) { append(to, &number, sizeof number); }

template <class T>
int64_t bytes_of(const Bulk<T>& values) {
  return static_cast<int64_t>(values.size() * sizeof(T));
}

}  // namespace

// Rows: for each column its numbers or codes, then the number of its texts and the texts if they are not those of the
// schema (identifiers), else −1.
void append_message(std::string& to, const Table& rows, const Table& schema) {
  append(to, rows.rows);
  for (size_t j = 0; j < schema.columns.size(); ++j) {
    const Column& c = rows.columns[j];
    append(to, c.numbers.data(), bytes_of(c.numbers));
    if (holds_codes(schema.columns[j])) append(to, c.codes.data(), bytes_of(c.codes));
    const bool own = c.values != schema.columns[j].values;
    append(to, own ? static_cast<int64_t>(c.values.size()) : -1);
    for (size_t i = 0; own && i < c.values.size(); ++i) {
      append(to, static_cast<int64_t>(c.values[i].size()));
      to += c.values[i];
    }
  }
}

void RowsMessages::take(void* to, int64_t bytes) {
  if (bytes < 0 || static_cast<size_t>(bytes) > left_.size())
    throw Error(ErrorCode::internal, "a message of rows ends before its end");
  if (bytes > 0) std::memcpy(to, left_.data(), static_cast<size_t>(bytes));
  left_.remove_prefix(static_cast<size_t>(bytes));
}

bool RowsMessages::next(Table& rows, const Table& schema) {
  if (left_.empty()) return false;
  const auto number = [&] {
    int64_t n = 0;
    take(&n, sizeof n);
    return n;
  };
  rows = schema;
  rows.rows = number();
  for (Column& c : rows.columns) {
    const auto fill = [&](auto& values) {
      if (rows.rows < 0 || static_cast<size_t>(rows.rows) > left_.size() / sizeof values[0])
        throw Error(ErrorCode::internal, "a message of rows ends before its end");
      values.resize(static_cast<size_t>(rows.rows));
      take(values.data(), bytes_of(values));
    };
    if (has_numbers(c)) fill(c.numbers);
    if (holds_codes(c)) fill(c.codes);
    const int64_t texts = number();
    if (texts >= 0) c.values.clear();
    for (int64_t i = 0; i < texts; ++i) {
      const int64_t bytes = number();
      if (bytes < 0 || static_cast<size_t>(bytes) > left_.size()) take(nullptr, bytes);  // throws
      c.values.emplace_back(left_.substr(0, static_cast<size_t>(bytes)));
      left_.remove_prefix(static_cast<size_t>(bytes));
    }
  }
  return true;
}

}  // namespace tessera
