// A rule of a table: something that holds in every real row, and what makes it hold in every sampled one. A rule takes
// out of a table what follows from it, so that a model learns the rest; restore() computes it again for sampled rows.
//
//   table ──reduce──► what is learned ──protect, fill, encode──► model ──decode──► rows ──restore──► rows of the table
//
// restore() sees one row at a time and draws nothing: row i depends on (model, seed, i), as without rules.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/threads/team.h"
#include "tables/table/table.h"

namespace tessera {

class Fields;  // base/text/json_fields.h

class TableRule {
 public:
  virtual ~TableRule() = default;
  virtual const char* kind() const = 0;  // in model files and reports
  // The column that the rule computes, changes or replaces.
  virtual const std::string& column() const = 0;
  // How restore() changes that column, where other code depends on it.
  enum class Makes {
    other,
    values,   // all of its values, from the other columns of columns()
    copies,   // in some rows, values from the other columns of columns()
    missing,  // missing cells
    steps,    // learned as differences between steps
    sums,     // cumulative sums of changes per step
  };
  virtual Makes makes() const { return Makes::other; }
  // The expression that computes the column, in the language of --where; "": none exists.
  virtual std::string expression() const { return ""; }
  // For messages: what is learned in the column's place, such as the distance to another one; "": the column.
  virtual std::string learned_as() const { return ""; }
  // A column that is learned of the column's values though they are computed; "": none.
  virtual std::string seen() const { return ""; }
  // Missing cells are recorded by seen() only.
  virtual bool leaves_gaps() const { return false; }
  // How sampled rows keep it. By these two every row does; else it is a habit of the table, which none breaks.
  static constexpr std::string_view kByConstruction = "by construction", kByRejection = "by rejection";
  virtual std::string_view kept() const { return kByConstruction; }
  bool strict() const { return kept() == kByConstruction || kept() == kByRejection; }
  virtual std::string text() const = 0;  // for messages; in the language of --where if possible
  // The columns of rows, as they are before reduce(), that it is about.
  virtual std::vector<std::string> columns(const Table&) const { return {column()}; }
  // broken[i]: row i, as it is before reduce(), breaks the rule; a missing cell breaks none but that of missing cells.
  // `learned`: a table whose rows keep the rule, which it has reduced.
  virtual std::vector<char> broken(const Table& /*rows*/, const Table& /*learned*/) const { return {}; }
  virtual void reduce(Table&, Team&) const {}  // of a table whose rows all keep the rule
  // The same of rows of which restore() shall restore every cell.
  virtual void reduce_whole(Table& rows, Team& team) const { reduce(rows, team); }
  // The same of rows of which some cells are given: a missing one is unknown, and, with `filled`, will not stay so.
  virtual void reduce_given(Table& rows, Team& team, bool /*filled*/) const { reduce(rows, team); }
  // After protection: cells that restore() overwrites get values that the networks can learn from.
  virtual void fill(Table&, uint64_t /*seed*/) const {}
  // The inverse of reduce(), for rows without the computed columns. Error(format) for columns that do not fit the rule.
  virtual void restore(Table&) const {}
  // The same of steps of sequences of which some are given: `known` has their cells of the columns that are sums of
  // steps, missing in all other rows. `last`: these steps are not drawn again, whatever they break.
  virtual void restore_given(Table& rows, const Table& /*known*/, bool /*last*/) const { restore(rows); }
  // The same rule, which changes none of these columns beside its own; nullptr: it changes none anyway.
  virtual std::shared_ptr<const TableRule> sparing(const std::vector<std::string>& /*columns*/) const { return {}; }
  // For rows with given cells: fills missing cells that follow from the rule's column. `known`: the table's columns
  // with the known values of texts.
  virtual void solve(Table& /*given*/, const Table& /*known*/) const {}
  // The columns of the table that a column of the model decides alone: changed where the rule makes them other ones.
  virtual void show(const std::string& /*learned*/, std::vector<std::string>& /*columns*/) const {}
  virtual nlohmann::json to_json() const = 0;
};

using RulePtr = std::shared_ptr<const TableRule>;

RulePtr read_rule(const Fields& f);  // Error(format)

// Evidence for a rule, counted over rows in which none of its columns is missing.
struct Evidence {
  int64_t rows = 0;  // rows of the table that it applies to: it holds in all of them
  // of those, rows that were not looked at when the rule was proposed, as far as they were counted
  int64_t held_out = 0;
  double chance = 1;  // share of held-out rows that would keep it if the columns had nothing to do with each other
};

struct FoundRule {
  RulePtr rule = {};
  Evidence evidence = {};
  // an expression of --where that restored rows must meet, or "": shares that sum to 100 stay above 0
  std::string check = {};
  bool once = false;  // of the static columns of sequences
};

}  // namespace tessera
