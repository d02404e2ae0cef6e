// Checks whether a sampled row, with the given cells inserted, satisfies the rules of the table and the condition.
#pragma once
#include <climits>
#include <map>
#include <string>
#include <vector>

#include "models/sampling/given/known_cells.h"
#include "tables/expression/where.h"

namespace tessera {

class KeptRules {
 public:
  // The arguments must outlive the result. `where`: an expression of --where, or "". Errors as parse_where(), and
  // Error(condition) for a row whose given cells contradict it.
  KeptRules(const RowModel& model, const ShownColumns& columns, const KnownCells& cells, const std::string& where);

  std::string misread_numbers() const { return tessera::misread_numbers(where_, columns_.table()); }
  bool any() const { return !model_.rules.empty() || !where_.empty(); }
  static constexpr int kNotTheCondition = INT_MAX;
  // For rows of the table, each a candidate for row of[i] of the given rows: the number of rules it breaks once the
  // given cells are inserted, or kNotTheCondition. `conditioned`: the candidates were drawn conditional on the given
  // cells, so parts of combinations agree.
  // For each rule or term that some of them break, as messages name it, the number is added to `by_rule` unless null.
  std::vector<int> broken(Table rows, const std::vector<int64_t>& of, bool conditioned, Team& team,
                          std::map<std::string, int64_t>* by_rule = nullptr) const;
  // Writes the given cells over those of the rows.
  void put_given(Table& rows, const std::vector<int64_t>& of) const;
  // empty[i]: cells of row i that should have been drawn but are missing, though no rule requires it. The counts per
  // column are added to `by_column` unless it is null.
  std::vector<int> empty(const Table& rows, const std::vector<int64_t>& of, std::vector<int64_t>* by_column) const;
  // The distance of each row to the given cells (Gower 1971): the sum over given cells of the difference of two numbers
  // relative to their column's range, or 1 for two different texts.
  std::vector<double> distances(const Table& rows, const std::vector<int64_t>& of) const;

 private:
  void check_given() const;
  std::string rule_of(const std::string& column) const;

  const RowModel& model_;
  const ShownColumns& columns_;
  const KnownCells& cells_;
  Where where_;
  std::vector<Where> breaks_;             // for each checked rule, the condition of rows that break it
  std::vector<double> extent_;            // range of each numeric column of the table
  std::vector<char> fillable_;            // whether a drawn cell of a column need not be missing
  std::vector<const TableRule*> judges_;  // rules by which cells of a column follow from others: they know how exactly
};

}  // namespace tessera
