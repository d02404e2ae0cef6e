// Columns and tables made in a test, and draws that do not depend on the library's own.
#pragma once
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/math/philox.h"
#include "tables/table/table.h"

namespace tessera::columns {

// Uniform in (0, 1) by row and stream, independent of the library's draws.
inline double uniform(int64_t row, uint32_t stream = 0) {
  const Philox p = philox(static_cast<uint32_t>(row), stream, 7, 0, 17, 19);
  return open_uniform(p.word[0], p.word[1]);
}
inline double normal(int64_t row, uint32_t stream = 0) {
  return std::sqrt(-2 * std::log(uniform(row, 2 * stream + 1000))) *
         std::cos(6.283185307179586 * uniform(row, 2 * stream + 1001));
}

inline Column numbers(const std::string& name, ColumnType type, std::vector<double> values, int decimals = 0) {
  Column c;
  c.name = name, c.type = type, c.decimals = decimals, c.numbers = std::move(values);
  if (type == ColumnType::date) c.format = "%Y-%m-%d";
  if (type == ColumnType::datetime) c.format = "%Y-%m-%d %H:%M:%S";
  return c;
}

// The empty text is missing.
inline Column texts(const std::string& name, ColumnType type, const std::vector<std::string>& rows) {
  Column c;
  c.name = name, c.type = type;
  std::map<std::string, int32_t> known;
  for (const std::string& r : rows) {
    const auto [entry, fresh] = known.try_emplace(r, r.empty() ? -1 : static_cast<int32_t>(c.values.size()));
    if (fresh && !r.empty()) c.values.push_back(r);
    c.codes.push_back(entry->second);
  }
  return c;
}

// Columns made row by row; the digits of decimals come before the value, as a lambda is read best at the end.
template <class F>
Column numbers_by(const std::string& name, ColumnType type, int64_t rows, F value, int decimals = 0) {
  std::vector<double> v;
  for (int64_t i = 0; i < rows; ++i) v.push_back(static_cast<double>(value(i)));
  return numbers(name, type, std::move(v), decimals);
}
template <class F>
Column whole_by(const std::string& name, int64_t rows, F value) {
  return numbers_by(name, ColumnType::integer, rows, value);
}
template <class F>
Column decimals_by(const std::string& name, int64_t rows, int decimals, F value) {
  return numbers_by(name, ColumnType::decimal, rows, value, decimals);
}
template <class F>
Column dates_by(const std::string& name, int64_t rows, F value) {
  return numbers_by(name, ColumnType::date, rows, value);
}
template <class F>
Column times_by(const std::string& name, int64_t rows, F value) {
  return numbers_by(name, ColumnType::datetime, rows, value);
}
template <class F>
Column texts_by(const std::string& name, ColumnType type, int64_t rows, F value) {
  std::vector<std::string> v;
  for (int64_t i = 0; i < rows; ++i) v.push_back(value(i));
  return texts(name, type, v);
}
template <class F>
Column texts_by(const std::string& name, int64_t rows, F value) {
  return texts_by(name, ColumnType::category, rows, value);
}

inline Table table(std::vector<Column> columns) {
  Table t;
  t.rows = columns.front().size();
  t.columns = std::move(columns);
  return t;
}

}  // namespace tessera::columns
