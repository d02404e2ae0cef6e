// Keys of sampled sequences: no key of the table is generated again. Numbers, dates and times continue after the last
// one of the table (stored rounded up), numbers in a separate block per seed (counter.h); texts follow the pattern of
// the table's keys; once a pattern is exhausted, "#2", "#3", … is appended.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "tables/identifiers/identifier.h"
#include "tables/kinds/kind.h"
#include "tables/table/table.h"

namespace tessera {

class KeyMaker {
 public:
  KeyMaker() = default;  // the column "sequence" of a table without keys: 1, 2, 3, …
  explicit KeyMaker(std::string name) {
    become_count(schema_);
    schema_.name = std::move(name), schema_.reason = "number of the sequence";
  }
  explicit KeyMaker(const Column& keys, int64_t least_rows = kRareRows);  // one row per key

  const Column& schema() const { return schema_; }
  // Appends the key of a sequence, `rows` times.
  void append(int64_t sequence, int64_t rows, uint64_t seed, Column& to, uint64_t condition = 0) const;

  nlohmann::json to_json() const;
  static KeyMaker from_json(const nlohmann::json& json);  // throws Error(format)

 private:
  Column schema_;    // without rows
  double last_ = 0;  // dates, times and numbers without a counter follow it
  std::optional<NumberCounter> counter_;
  std::optional<Identifier> pattern_;
};

}  // namespace tessera
