// Rows with given cells, as the methods take them: what is left of the levels of every column.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/method/given.h"
#include "models/sampling/shown.h"

namespace tessera {

struct KnownCellsOptions {
  // Rows to be completed as they are: a value that the model has not seen is kept and tells the nearest thing it can,
  // or nothing; a cell that is drawn is not missing. Else such a value is an error, and a drawn cell may be missing.
  bool completes = false;
  std::function<std::string(int64_t row)> place;  // of a row, for messages: "partial.csv:3"
};

// Writes the present cells of `given`, row of[i] over row i; both have the same columns.
void put_cells(const Table& given, Table& rows, const std::vector<int64_t>& of);

class KnownCells {
 public:
  // `given` has some of the table's columns, in any order; a missing cell is to be drawn. Throws Error(data) naming the
  // place, column and value of what the model cannot show, Error(usage) for a column that it does not have.
  KnownCells(const RowModel& model, const ShownColumns& columns, Table given, KnownCellsOptions options, Team& team);

  // all columns of the table; missing: not given, and not solved from given cells
  const Table& table() const { return table_; }
  int64_t rows() const { return table_.rows; }
  std::string place(int64_t row) const { return options_.place(row); }

  // What is given of a row, where it begins in GivenCells.
  void write(int64_t row, float* levels, float* alphas, float* known) const;
  // Writes what the given cells say of the model's columns over candidates, each of row of[i], before rules make rows
  // of the table of them: what follows from a given cell then follows from it to the last digit.
  void put(Table& learned, const std::vector<int64_t>& of) const { put_cells(learnt_, learned, of); }
  // Of a code of a candidate of the row: whether it is a missing cell that should be filled, and whether it fills one.
  bool lacks(int64_t row, size_t choice, int32_t code) const;
  bool fills(int64_t row, size_t choice, int32_t code) const;
  int alpha_of(size_t choice) const { return choices_[choice].alpha; }  // −1: none
  // Whether no column that is drawn stands before one that is given: then no candidate weighs more than another.
  bool leads(int64_t row) const;
  // The given columns that no column of the model decides alone as a single value: candidates are checked for them.
  const std::vector<int>& unsettled() const { return unsettled_; }

 private:
  // Levels of a column of combinations that show the given parts.
  struct Combinations {
    int column = -1;         // of the model
    std::vector<int> parts;  // of the table
    Table levels;            // a row each
    std::map<std::string, std::vector<char>> known;
    std::vector<const std::vector<char>*> of_row;  // null: nothing is given
  };

  void arrange(Table given);
  void check_cells(int column);
  Column ends_of(int column, int source) const;
  void take_combinations(int column, const std::vector<int>& parts);
  const std::vector<char>* levels_with(Combinations& c, int64_t row) const;
  void encode(Team& team);
  void lay_out();
  [[noreturn]] void refuse(int64_t row, const std::string& why) const;

  const RowModel& model_;
  const ShownColumns& columns_;
  KnownCellsOptions options_;
  Table table_, learnt_;  // learnt_: columns of the model; missing: not given, or decided by levels or rules
  std::vector<Combinations> combinations_;
  std::vector<int> unsettled_;
  std::vector<std::vector<char>> ignored_;  // by column of the table: cells that tell nothing
  std::vector<std::vector<char>> solved_;   // and cells that solve_cells() wrote
  // A choice of the layout: where its levels begin, its code in a row, and where its number is.
  struct Choice {
    int start, width, column;
    bool may_miss;      // its last level is a missing cell, and it has others
    int alpha = -1;     // beside it, its place among the alphas
    int32_t modes = 0;  // levels that have one
    int combinations = -1;
  };
  std::vector<Choice> choices_;
  int64_t alphas_ = 0;
  std::vector<int32_t> code_;    // [rows, choices]; −1: not given
  std::vector<float> position_;  // [rows, alphas]
};

// Whether two cells of columns of one type show the same: numbers up to `tolerance` of the larger of 1 and |a|.
bool same_cell(const Column& a, int64_t i, const Column& b, int64_t k, double tolerance = 0);

// Throws Error(usage): a column that the model does not have, in `file`.
[[noreturn]] void unknown_column(const std::string& column, const Table& schema, const std::string& file);

}  // namespace tessera
