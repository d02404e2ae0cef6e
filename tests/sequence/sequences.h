// Small sequences for the tests, and the round trip through codes. Tables of cells: encoding/columns.h.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "encoding/columns.h"
#include "support/thrown.h"
#include "tables/kinds/kind.h"
#include "tables/sequence/sequences.h"

namespace tessera::steps {

using columns::numbers;
using columns::table;
using columns::texts;
using columns::uniform;
using test::Thrown;
using test::thrown;

inline Column dates(const std::string& name, std::vector<double> days) {
  Column c = numbers(name, ColumnType::date, std::move(days));
  c.format = "%d.%m.%Y";
  return c;
}

inline SequenceOptions windows(int length, int stride = 1) {
  SequenceOptions o;
  o.length = length, o.stride = stride;
  return o;
}
inline SequenceOptions keyed(const std::string& key, const std::string& index = "",
                             std::vector<std::string> statics = {}) {
  SequenceOptions o;
  o.key = key, o.index = index, o.statics = std::move(statics);
  return o;
}

struct Whole {
  SequenceEncoder encoder;
  EncodedSequences codes;
};

inline Whole encode(Table t, const SequenceOptions& o, int threads = 2) {
  Team team(threads);
  Sequences s = cut(std::move(t), o);
  Whole out;
  out.encoder = SequenceEncoder::fit(s, 5, 7, team, Monitor{});
  out.codes = out.encoder.encode(std::move(s), team, Monitor{});
  return out;
}

// The fitted sequences as if they had been sampled: steps padded to the longest with `poison`, decoded under the
// numbers 0, 1, 2, …
inline Table decode(const Whole& w, float poison = 0.5f, int64_t first_id = 0) {
  const int64_t n = w.codes.size(), longest = w.encoder.longest(), alphas = w.encoder.steps().alphas(),
                codes = w.encoder.steps().codes();
  std::vector<float> alpha(static_cast<size_t>(n * longest * alphas), poison);
  std::vector<int32_t> code(static_cast<size_t>(n * longest * codes), 0);
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t first = w.codes.first[static_cast<size_t>(i)], length = w.codes.length[static_cast<size_t>(i)];
    std::copy_n(w.codes.steps.alphas.begin() + first * alphas, length * alphas, alpha.begin() + i * longest * alphas);
    std::copy_n(w.codes.steps.codes.begin() + first * codes, length * codes, code.begin() + i * longest * codes);
    ids.push_back(first_id + i);
  }
  const Table attributes =
      w.encoder.decode_attributes(w.codes.attributes.alphas.data(), w.codes.attributes.codes.data(), ids.data(), n, 3);
  return w.encoder.decode(alpha.data(), code.data(), attributes, ids.data(), n, 3);
}

inline std::vector<std::string> cells(const Column& c) {
  std::vector<std::string> out;
  for (int64_t i = 0; i < c.size(); ++i) out.push_back(cell_text(c, i));
  return out;
}

}  // namespace tessera::steps
