// Keys of sampled sequences: no key of the table comes back. Numbers, dates and times go on after the last one seen
// (rounded up: the last one itself is not held), numbers in a block of each seed's own; texts follow the pattern of
// those seen; where a pattern has no room for more, "#2", "#3", … follow its texts.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "models/data/identifiers/identifier.h"
#include "models/data/table/table.h"

namespace tessera {

class KeyMaker {
 public:
  KeyMaker() = default;  // the column "sequence" of a table without keys: 1, 2, 3, …
  explicit KeyMaker(std::string name) {
    schema_.name = std::move(name), schema_.type = ColumnType::integer, schema_.reason = "number of the sequence";
  }
  KeyMaker(const Column& keys, uint64_t seed, int64_t least_rows = kRareRows);  // a row for every key

  const Column& schema() const { return schema_; }
  // Appends the key of a sequence, `rows` times.
  void append(int64_t sequence, int64_t rows, uint64_t seed, Column& to) const;

  nlohmann::json to_json() const;
  static KeyMaker from_json(const nlohmann::json& json);  // throws Error(format)

 private:
  Column schema_;           // without rows
  double last_ = 0;         // numbers follow it
  bool in_blocks_ = false;  // numbers of each seed are its own
  std::optional<Identifier> pattern_;
};

}  // namespace tessera
