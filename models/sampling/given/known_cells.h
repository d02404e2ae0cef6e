// Rows with given cells as input of the methods: the allowed levels of every column.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/method/given.h"
#include "models/sampling/given/solved_cells.h"
#include "models/sampling/shown.h"

namespace tessera {

struct KnownCellsOptions {
  // true: unseen values are kept, and the model is conditioned on the nearest known value, if there is one; drawn cells
  // are not missing. false: an unseen value is an error, and a drawn cell may be missing.
  bool completes = false;
  std::function<std::string(int64_t row)> place;  // the place of a row for messages: "partial.csv:3"
};

// `given` with the columns of `schema`, in their order; missing where it has none. Error(usage | data) names `file`.
Table arranged(Table given, const Table& schema, const std::string& file);

// Writes the present cells of `given`, row of[i] (−1: none) over row i; both have the same columns.
void put_cells(const Table& given, Table& rows, const std::vector<int64_t>& of);

class KnownCells {
 public:
  // `given` has some of the table's columns, in any order; a missing cell will be drawn. Throws Error(data) naming the
  // place, column and value that the model cannot generate, Error(usage) for an unknown column.
  KnownCells(const RowModel& model, const ShownColumns& columns, Table given, KnownCellsOptions options, Team& team);

  // all columns of the table; missing: not given, and not computable from given cells
  const Table& table() const { return table_; }
  int64_t rows() const { return table_.rows; }
  std::string place(int64_t row) const { return options_.place(row); }

  // Writes the given cells of a row at its place in GivenCells.
  void write(int64_t row, float* levels, float* alphas, float* known) const;
  // Writes the given values of the model's columns over candidates of rows of[i], before rules turn them into rows of
  // the table: columns computed from a given cell are then exact to the last digit.
  void put(Table& learned, const std::vector<int64_t>& of) const;
  // Whether a candidate's code is a missing cell that should be filled, or fills such a cell.
  bool lacks(int64_t row, size_t choice, int32_t code) const;
  bool fills(int64_t row, size_t choice, int32_t code) const;
  int alpha_of(size_t choice) const { return choices_[choice].alpha; }  // −1: none
  // Whether no drawn column precedes a given one: then all candidates have the same weight.
  bool leads(int64_t row) const;
  // The given columns that no single column of the model determines: candidates are checked for them.
  const std::vector<int>& undecided() const { return undecided_; }

 private:
  // Levels of a column of combinations that agree with the given parts.
  struct Combinations {
    int column = -1;         // of the model
    std::vector<int> parts;  // of the table
    Table levels;            // one row per level
    std::map<std::string, std::vector<char>> known;
    std::vector<const std::vector<char>*> of_row;  // null: nothing is given
  };

  void check_cells(int column);
  std::vector<int> missing_with(const std::string& name) const;
  void exclude_missing();
  void take_combinations(int column, const std::vector<int>& parts);
  const std::vector<char>* levels_with(Combinations& c, int64_t row) const;
  void encode(Team& team);
  void lay_out();
  [[noreturn]] void refuse(int64_t row, const std::string& why) const;

  const RowModel& model_;
  const ShownColumns& columns_;
  KnownCellsOptions options_;
  Table table_, learned_;  // learned_: columns of the model; missing: not given, or decided by levels or rules
  std::vector<Combinations> combinations_;
  std::vector<int> undecided_;
  std::vector<std::vector<char>> ignored_;  // by column of the table: cells without information
  std::vector<std::vector<SolvedCell>> solved_;
  // A choice of the layout: the begin of its levels, its code in a row, and the place of its number.
  struct Choice {
    int start, width, column;
    bool may_miss;      // its last level means missing, and it has other levels
    int alpha = -1;     // place of its number among the alphas
    int32_t modes = 0;  // levels with a number
    int combinations = -1;
    // Levels that make cells missing: excluded where one of these columns of the table is given.
    struct Excluded {
      std::vector<int> where;
      std::vector<char> levels;
    };
    std::vector<Excluded> excluded = {};
  };
  bool is_excluded(const Choice::Excluded& levels, int64_t row) const;
  std::vector<Choice> choices_;
  // Columns of the model whose values rules compute, and the columns of the model that these are computed from.
  std::vector<std::pair<std::string, std::vector<size_t>>> seen_;
  int64_t alphas_ = 0;
  std::vector<int32_t> code_;    // [rows, choices]; −1: not given
  std::vector<float> position_;  // [rows, alphas]
};

// Whether two cells of columns of one type are equal: numbers up to `tolerance` of the larger of 1 and |a|.
bool same_cell(const Column& a, int64_t i, const Column& b, int64_t k, double tolerance = 0);

// Throws Error(usage) for a column of `file` that the model does not have.
[[noreturn]] void unknown_column(const std::string& column, const Table& schema, const std::string& file);

}  // namespace tessera
