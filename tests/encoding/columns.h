// Small tables for the encoder's tests, and the round trip through codes.
#pragma once
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "kernels/math/philox.h"
#include "tables/encoding/encoder.h"

namespace tessera::columns {

inline double uniform(uint32_t i, uint32_t stream = 0) {
  const Philox p = philox(i, stream, 7, 0, 11, 13);
  return open_uniform(p.word[0], p.word[1]);
}
inline double normal(uint32_t i, uint32_t stream = 0) {
  return std::sqrt(-2 * std::log(uniform(i, 2 * stream + 1000))) *
         std::cos(6.283185307179586 * uniform(i, 2 * stream + 1001));
}

inline Column numbers(const std::string& name, ColumnType type, std::vector<double> values, int decimals = 0) {
  Column c;
  c.name = name, c.type = type, c.numbers = std::move(values), c.decimals = decimals;
  return c;
}

// A text column; the empty text is missing.
inline Column texts(const std::string& name, ColumnType type, const std::vector<std::string>& rows) {
  Column c;
  c.name = name, c.type = type;
  std::map<std::string, int32_t> known;
  for (const std::string& r : rows) {
    if (r.empty()) {
      c.codes.push_back(-1);
      continue;
    }
    const auto [entry, fresh] = known.try_emplace(r, static_cast<int32_t>(c.values.size()));
    if (fresh) c.values.push_back(r);
    c.codes.push_back(entry->second);
  }
  return c;
}

inline std::string text(const Column& c, int64_t row) {
  const int32_t code = c.codes[static_cast<size_t>(row)];
  return code < 0 ? "" : c.values[static_cast<size_t>(code)];
}

inline Table table(std::vector<Column> columns) {
  Table t;
  t.rows = columns.front().size();
  t.columns = std::move(columns);
  return t;
}

inline std::vector<int64_t> row_ids(int64_t rows, int64_t first = 0) {
  std::vector<int64_t> ids(static_cast<size_t>(rows));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

inline Encoder fit(const Table& t, const EncoderOptions& options = {}, int threads = 2) {
  Team team(threads);
  return Encoder::fit(t, options, team, Monitor{});
}

inline EncodedTable encode(const Encoder& e, Table t, int threads = 2) {
  Team team(threads);
  return e.encode(std::move(t), team, Monitor{});
}

inline Table decode(const Encoder& e, const EncodedTable& t, uint64_t seed = 0) {
  const auto ids = row_ids(t.rows);
  return e.decode(t.alphas.data(), t.codes.data(), ids.data(), t.rows, seed);
}

inline Table round_trip(const Table& t, const EncoderOptions& options = {}) {
  const Encoder e = fit(t, options);
  return decode(e, encode(e, t));
}

inline const Span* span_of(const Encoder& e, int column, Span::Part part) {
  for (const Span& s : e.layout().spans)
    if (s.column == column && s.part == part) return &s;
  return nullptr;
}

// Both missing, or equal.
inline bool same(double a, double b) { return a == b || (a != a && b != b); }

}  // namespace tessera::columns
