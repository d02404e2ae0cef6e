// Whether a sampled row with the given cells put into it is a row of the table, and one that is asked for: it keeps the
// rules, and meets the condition.
#pragma once
#include <climits>
#include <vector>

#include "models/sampling/given/known_cells.h"
#include "tables/expression/where.h"

namespace tessera {

class KeptRules {
 public:
  // They outlive the result. `where`: an expression of --where, or "". Errors as parse_where(), and Error(condition)
  // for a row whose given cells contradict it.
  KeptRules(const RowModel& model, const ShownColumns& columns, const KnownCells& cells, const std::string& where);

  bool any() const { return !model_.rules.empty() || !where_.empty(); }
  static constexpr int kNotTheCondition = INT_MAX;
  // Of rows of the table, each a candidate for row of[i] of the given ones: how many rules it breaks once the given
  // cells are in it, or kNotTheCondition. `settled`: the candidates were drawn under the given cells, so that parts of
  // combinations agree.
  std::vector<int> broken(Table rows, const std::vector<int64_t>& of, bool settled, Team& team) const;
  // Writes the given cells over those of the rows.
  void put_given(Table& rows, const std::vector<int64_t>& of) const;
  // empty[i]: cells of row i that should have been drawn and are missing, though no rule says so. `by_column`, unless
  // null: the count of each column is added.
  std::vector<int> empty(const Table& rows, const std::vector<int64_t>& of, std::vector<int64_t>* by_column) const;
  // How far each row is from what is given (Gower 1971): the sum over given cells of the difference of two numbers
  // beside their column's range, or 1 for two texts that differ.
  std::vector<double> distances(const Table& rows, const std::vector<int64_t>& of) const;

 private:
  void check_given() const;
  // A cell that equals that of the column it often repeats: a sampled one only within the range of the copies.
  bool is_copy(const Table& rows, int column, int64_t row) const;

  const RowModel& model_;
  const ShownColumns& columns_;
  const KnownCells& cells_;
  Where where_;
  std::vector<Where> breaks_;                 // of each rule that rows are checked against, the rows that break it
  std::vector<double> extent_;                // of each column of the table that holds numbers
  std::vector<char> fillable_;                // whether a drawn cell of a column need not be missing
  std::vector<std::pair<int, int>> repeats_;  // columns that repeat another one in some rows
};

}  // namespace tessera
