// Numbers of steps as an autoregressive model learns them: each against the base that leaves the least spread, which
// is nothing, an earlier column of the same step, or any column of the step before. Columns that equal their base
// vanish as constants, prices become ratios to the last price, and a column that always lies between two others is its
// position between them. A column that reverts to a level is never learned as a difference to the step before: its
// errors would add up. What is left of a level or difference is learned less what is linear in the step before, earlier
// columns and the sequence's statics, so that few sequences suffice.
//   A column that was interpolated between rarer measurements lies on straight lines. It has a second code, drawn
// first, that counts the steps for which it has been on its line: while it counts, the value is on the line exactly.
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

// The statics of sequences, and the row of them that each row of the steps has.
struct StaticsOfSteps {
  Table statics{};
  std::vector<int32_t> row{};
};

class StepCoding {
 public:
  // factor · (x − center) / scale, bounded; of texts: factor where it is `text`. 0 where x is missing.
  struct Term {
    enum class Of { before, here, statics };  // the last value of a column, one of this step, one of the sequence
    Of of = Of::before;
    int column = -1;
    std::string text{};
    double center = 0, scale = 1, factor = 0;
    bool operator==(const Term&) const = default;
  };
  // What a number is learned as: x, x − base, x / base, (x − base) / (upper − base); less shift + terms.
  struct Code {
    enum class Form { level, difference, ratio, between };
    Form form = Form::level;
    int base = -1, upper = -1;  // columns of the steps
    bool before = false;        // the base is that of the step before
    double shift = 0;
    std::vector<Term> terms{};
    bool needs_before() const;  // the base or a term does
    bool operator==(const Code&) const = default;
  };
  // A column of the steps. Its first step has no step before: if `next` needs one, the first step has a code of its
  // own, in the column `start_at` of the coded steps.
  struct Coded {
    Code first{}, next{};
    int start_at = -1;
    int line_at = -1;  // the column of the coded steps that counts steps on a line; −1: none
    // protected; drawn values stay inside, or, after a given one beyond an end, as near to it as those given are to
    // each other, or it to that end
    double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
    Column column{};  // as it was, without rows; no name: not coded
    bool coded() const { return !column.name.empty(); }
  };

  bool empty() const { return columns_.empty(); }
  const std::vector<Coded>& columns() const { return columns_; }
  // The one whose first steps have this column of the coded steps.
  int column_starting_at(int start_at) const;
  int column_on_line(int line_at) const;  // the one whose line has this column of the coded steps; −1: none

  // Chooses the codes of `steps`, of which rows of one `key` are adjacent; columns named in `uncoded` stay as they are.
  static StepCoding find(const Table& steps, const std::vector<int32_t>& key, const std::vector<std::string>& uncoded,
                         const StaticsOfSteps& statics = {});
  // Replaces the columns by their codes and appends those of first steps, then those of lines. `least`, `seed`: of
  // protect_numbers(), for the ranges; `holder`: the owner of each row, or empty.
  void encode(Table& steps, const std::vector<int32_t>& key, int64_t least, uint64_t seed, Team& team,
              std::span<const int32_t> holder, const StaticsOfSteps& statics = {});

  // The values of one sequence, step after step: of a row of decoded codes, `here`; NaN for columns of texts.
  struct Values {
    std::vector<double> here{}, last{};  // last: of the steps before, the last ones that are not missing; none at first
    std::vector<double> moves{};         // to `last`, from the values before; NaN: unknown; none at first
    std::vector<int> on_line{};          // steps
    std::vector<double> lowest{}, highest{};  // of the given values; empty: there are none
    const Table* statics = nullptr;
    int64_t sequence = 0;                         // row of the statics
    double index = 0;                             // of the step, or its place in the grid
    void step();                                  // to the next one
    void begin();                                 // another sequence
    bool follows(size_t column, double x) const;  // x lies on the line through the two last values
  };
  // After Values::step(). `known`: values that the step has whatever the codes say; NaN: it has none.
  void decode(const Table& steps, int64_t row, Values& values, const double* known = nullptr) const;
  // The code of a value of the step `here`: as a first step, or after `last`. NaN: something that it needs is missing.
  double code(int column, bool first, const Values& values) const;
  // Whether decode() takes its value from its line. `values`: as for decode(), before or after it.
  bool on_line(const Table& steps, int64_t row, int column, const Values& values) const;
  // The code of its line, of the step `here`. NaN: there is no line yet.
  double line_code(int column, const Values& values) const;
  // Decoded codes of whole sequences, one after another, back to columns as they were. `known`: as above, the first
  // steps of each; or empty.
  void restore(Table& steps, const std::vector<int32_t>& lengths, const Table& statics = {},
               const std::vector<std::span<const double>>& known = {}) const;
  void restore_schema(Table& steps) const;

  // A sentence for each coded column: "Open / Close of the step before".
  std::vector<std::string> describe() const;
  nlohmann::json to_json() const;
  // Throws Error(format). `steps`: the coded columns, without rows; those of first steps and lines are the last.
  static StepCoding from_json(const nlohmann::json& json, const Table& steps, const Table& statics = {});

 private:
  void place(int first, const std::vector<char>& lines);
  static double linear(const Code& code, const Values& values);
  static double low_end(const Coded& c, const Values& v, size_t column);
  static double high_end(const Coded& c, const Values& v, size_t column);

  std::vector<Coded> columns_;
  std::vector<std::pair<int, int>> orders_;  // the first is never above the second, and comes close to it
};

}  // namespace tessera
