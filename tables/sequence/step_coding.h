// Numbers of steps as an autoregressive model learns them: each against the base that leaves the least spread, which
// is nothing, an earlier column of the same step, or any column of the step before. Columns that equal their base
// vanish as constants, prices become ratios to the last price, and a column that always lies between two others is its
// position between them. A column that reverts to a level is never learned from the step before: its errors would add
// up.
#pragma once
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/threads/team.h"
#include "tables/table/table.h"

namespace tessera {

class StepCoding {
 public:
  // What a number is learned as: x, x − base, x / base, (x − base) / (upper − base).
  struct Code {
    enum class Form { level, difference, ratio, between };
    Form form = Form::level;
    int base = -1, upper = -1;  // columns of the steps
    bool before = false;        // the base is that of the step before
    bool operator==(const Code&) const = default;
  };
  // A column of the steps. Its first step has no step before: if `next` needs one, the first step has a code of its
  // own, in the column `start_at` of the coded steps.
  struct Coded {
    Code first{}, next{};
    int start_at = -1;
    // protected; values stay inside
    double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
    Column column{};  // as it was, without rows; no name: not coded
    bool coded() const { return !column.name.empty(); }
  };

  bool empty() const { return columns_.empty(); }
  const std::vector<Coded>& columns() const { return columns_; }

  // Chooses the codes of `steps`, of which rows of one `key` are adjacent; columns named in `uncoded` stay as they are.
  static StepCoding find(const Table& steps, const std::vector<int32_t>& key, const std::vector<std::string>& uncoded);
  // Replaces the columns by their codes and appends those of first steps. `least`, `seed`: of protect_numbers(), for
  // the ranges; `holder`: the owner of each row, or empty.
  void encode(Table& steps, const std::vector<int32_t>& key, int64_t least, uint64_t seed, Team& team,
              std::span<const int32_t> holder);

  // The values of a row of decoded codes; `previous`: those of the step before, null for a first step. NaN for columns
  // of texts.
  void values(const Table& steps, int64_t row, const double* previous, double* out) const;
  // The code that a first step with these values would have in column `column`, of those with a `start_at`.
  double start_code(int column, const double* values) const;
  // Decoded codes of whole sequences, one after another, back to columns as they were.
  void restore(Table& steps, const std::vector<int32_t>& lengths) const;
  void restore_schema(Table& steps) const;

  // A sentence for each coded column: "Open / Close of the step before".
  std::vector<std::string> describe() const;
  nlohmann::json to_json() const;
  // Throws Error(format). `steps`: the coded columns, without rows; the last `starts` of them are of first steps.
  static StepCoding from_json(const nlohmann::json& json, const Table& steps);

 private:
  void place_starts(int first);

  std::vector<Coded> columns_;
  std::vector<std::pair<int, int>> orders_;  // the first is never above the second, and comes close to it
};

}  // namespace tessera
