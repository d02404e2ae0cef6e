// The rules of a model, found in its table or given (docs/use/rules.md).
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/monitor.h"
#include "tables/protection/rare_categories.h"
#include "tables/rules/rule/rule.h"

namespace tessera {

struct RuleOptions {
  bool find = false;               // rules that the table shows by itself
  std::vector<std::string> given;  // expressions of --where that every row is to meet
  // columns that rules leave alone: keys, indices and statics of sequences
  std::vector<std::string> apart;
  // the rows are steps of sequences, of this key and index if they have one: rules between steps are looked for too
  bool steps = false;
  std::string key, index;
  bool by_rejection = true;  // rows can be drawn again until they keep a rule; false: sequences
  bool orders = true;        // of columns without missing cells; false: the coding of steps keeps them
  int64_t least_rows = kRareRows;
  uint64_t seed = 0;
  bool unread = false;  // given rules hold whatever the rows are, of which none is read (models/privacy/)
  bool any() const { return find || !given.empty(); }
};

class Rules {
 public:
  // Finds the rules of a table and reduces it by them.
  // Error(condition | usage) for given rules that the table does not fit.
  static Rules find(Table& table, const RuleOptions& options, Team& team, const Monitor& monitor);

  bool empty() const { return found_.empty() && checked_.empty(); }
  const std::vector<FoundRule>& found() const { return found_; }
  std::vector<std::string> rising() const;  // columns that never fall, or whose negative does not
  std::vector<std::string> firsts() const;  // columns of which the first value of a sequence gives the others
  // Whether a missing cell of a column of the model is a present one of the table: it repeats another column.
  bool repeats(const std::string& learned) const;
  bool sees(const std::string& learned) const;  // whether a column of the model has values that rules compute
  // Expressions that sampled rows are checked against; rows that break one are drawn again.
  const std::vector<std::string>& checked() const { return checked_; }
  std::vector<std::string> checked_alone() const;  // those that are not the text of a rule in found()

  void reduce(Table& table, Team& team) const;  // another table of the same columns
  // Rows of which some cells are given: missing ones are unknown, and, with `filled`, will not stay missing.
  void reduce_given(Table& rows, Team& team, bool filled) const;
  void fill(Table& table, uint64_t seed) const;
  void restore(Table& rows) const;
  // The columns of the table that a column of the model decides alone.
  std::vector<std::string> shown(const std::string& learned) const;

  // Error(condition) if a value that checked() names is not one of this schema: protection left it out.
  void check_values(const Table& schema) const;

  nlohmann::json to_json() const;
  static Rules from_json(const nlohmann::json& json);  // Error(format)
  // Error(format) if they do not fit a model of these columns.
  void check_fits(const Table& learned) const;
  nlohmann::json describe() const;  // a list of {rule, kind, kept, rows, held_out, chance}

 private:
  friend class RuleFinder;
  void check_columns(const Table& table) const;
  std::vector<FoundRule> found_;  // in the order in which they reduce a table
  std::vector<std::string> checked_;
  std::vector<std::string> columns_;  // of the table, in its order
};

}  // namespace tessera
