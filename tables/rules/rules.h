// The rules of a model, found in its table or given (docs/use/rules.md).
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/monitor.h"
#include "tables/protection/rare_categories.h"
#include "tables/rules/rule/rule.h"

namespace tessera {

struct RuleOptions {
  bool find = false;                  // search the table for rules
  std::vector<std::string> given;     // expressions in the language of --where that every row must satisfy
  std::vector<std::string> excluded;  // columns that are in no rule: keys and indices of sequences
  // columns of sequences that are constant within a key: in rules of their own, and inputs of rules of steps
  std::vector<std::string> statics;
  // rows are steps of sequences, with this key and index if any: rules between steps are searched for too
  bool steps = false;
  bool whole = false;  // sampled sequences begin with the first step of a key, so that statics may be counted from it
  std::string key, index;
  bool by_rejection = true;  // rows that violate a rule can be drawn again; false: sequences
  bool orders = true;        // of columns without missing cells; false: the coding of steps preserves them
  int64_t least_rows = kRareRows;
  bool unread = false;  // given rules are accepted without reading any row (models/privacy/)
  bool any() const { return find || !given.empty(); }
};

class Rules {
 public:
  // Finds the rules of a table and reduces it by them.
  // Error(condition | usage) for given rules that the table does not fit.
  static Rules find(Table& table, const RuleOptions& options, Team& team, const Monitor& monitor);

  bool empty() const { return found_.empty() && checked_.empty(); }
  const std::vector<FoundRule>& found() const { return found_; }
  bool adds(const std::string& learned) const;  // whether the table has no such column
  std::vector<std::string> rising() const;      // columns that never decrease, or never increase
  std::vector<std::string> firsts() const;      // columns computed from their first value in a sequence
  std::vector<std::string> statics(std::vector<std::string> of) const;  // that are learned in the place of these
  // Whether a missing cell of this column of the model means that it repeats another column.
  bool repeats(const std::string& learned) const;
  bool sees(const std::string& learned) const;  // whether a column of the model holds values that rules compute
  // Expressions that sampled rows are checked against; rows that violate one are drawn again.
  const std::vector<std::string>& checked() const { return checked_; }
  std::vector<std::string> checked_alone() const;  // those without a rule in found()

  void reduce(Table& table, Team& team) const;       // another table of the same columns
  void reduce_whole(Table& rows, Team& team) const;  // of rows that restore() shall give back
  // For rows with given cells: missing ones are unknown, and, with `filled`, will be filled.
  void reduce_given(Table& rows, Team& team, bool filled) const;
  void fill(Table& table, uint64_t seed, bool once = false) const;  // once: of the attributes of sequences
  // `known`, `last`: as restore_given() has them; null: no rows are given.
  void restore(Table& rows, const Table* known = nullptr, bool last = false) const;
  void restore_once(Table& attributes) const;  // the static columns of sequences
  // To rows of steps, the first index of their sequences, and its day, as columns that rules of statics read; none
  // where no rule does. And removes them.
  void add_starts(Table& rows) const;
  static void drop_starts(Table& rows);
  // Table columns that are a function of this column of the model only.
  std::vector<std::string> shown(const std::string& learned) const;

  // Error(condition) if checked() names a value that this schema lacks: protection removed it.
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
  std::vector<std::string> columns_;                 // of the table, in its order
  std::optional<std::vector<std::string>> statics_;  // learned, if rules of static columns were looked for
  std::string key_, index_;                          // of sequences; "": no rule reads first indices
};

}  // namespace tessera
