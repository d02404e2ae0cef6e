// The round trip of small tables through the encoder's codes.
#pragma once
#include <numeric>
#include <string>
#include <vector>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "support/columns.h"
#include "tables/encoding/encoder.h"
#include "tables/identifiers/identifier.h"

namespace tessera::columns {

inline std::string text(const Column& c, int64_t row) {
  const int32_t code = c.codes[static_cast<size_t>(row)];
  return code < 0 ? "" : c.values[static_cast<size_t>(code)];
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

// Without `rows`, each text is in one.
inline Identifier learn(const std::vector<std::string>& texts, const std::vector<int64_t>& rows = {}) {
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return Identifier::learn(views, rows, {kRareRows});
}

// Both missing, or equal.
inline bool same(double a, double b) { return a == b || (a != a && b != b); }

}  // namespace tessera::columns
