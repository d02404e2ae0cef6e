// How often the values of a regenerated column repeat, as foreign keys do: which rows share a value.
//
// Rows are numbered without end. In each cycle of rows() rows, the values have exactly the group sizes of the table
// (protected: a group size is shared by at least `least` values, or a mean over as many). A cycle consists of parts of
// about a thousand rows, each with its share of every group size, so that a short sample repeats as well. Within a part
// the rows are permuted, unless equal values are adjacent in the table.
//
// The place of row i depends only on (model, key, i). Another column that counts within a value (orders 1, 2, … of a
// customer) takes `group` and `position` from here.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <vector>

namespace tessera {

// Column::kind of an identifier whose regenerated texts are followed, behind kRowMark, by the number of the row among
// those of the text, from 0: another column counts them.
inline constexpr const char* kCountsRows = "counts its rows";
inline constexpr char kRowMark = '\n';

class Repeats {
 public:
  // `rows`: the number of rows of each value; `missing`: rows without one. `sorted`: equal values are adjacent. None if
  // values hardly repeat, or fewer than `least` of them do.
  static std::optional<Repeats> learn(std::span<const int64_t> rows, int64_t missing, bool sorted, int64_t least);

  struct Place {
    uint64_t group;           // the number of the row's value; it continues from cycle to cycle
    uint64_t position, size;  // among the `size` rows of the value, from 0
    bool missing;             // a row without a value, alone in a group of its own
  };
  // `key`: the sample's (IdentifierKey::order).
  Place at(uint64_t row, uint64_t key) const;

  double mean() const;                              // rows per value
  uint64_t rows() const { return starts_.back(); }  // of a cycle
  uint64_t groups_of(uint64_t rows) const;          // expected number of distinct values in `rows` rows

  nlohmann::json to_json() const;
  static Repeats from_json(const nlohmann::json& json);  // throws Error(format)

 private:
  void divide();                                             // into parts
  uint64_t ranks_below(uint64_t rank, uint64_t part) const;  // those of the part

  // Groups ordered by size; group `rank` belongs to part rank % parts.
  std::vector<uint64_t> sizes_, counts_;  // ascending sizes, and the number of groups of each
  uint64_t missing_ = 0, groups_ = 0;
  bool sorted_ = false;
  std::vector<uint64_t> starts_;  // the first row of each part, and of the next cycle
};

}  // namespace tessera
