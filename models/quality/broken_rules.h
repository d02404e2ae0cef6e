// The rules of a real table that synthetic rows break.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "tables/table/table.h"

namespace tessera::quality {

struct RuleCheck {
  bool find = true;                   // search for rules of the real table (docs/use/rules.md)
  std::vector<std::string> given;     // further rules, in the syntax of --where
  std::vector<std::string> excluded;  // columns that are ignored in the search
  std::vector<std::string> statics;   // of sequences
  std::string key, index;             // of sequences
  bool steps = false;                 // the rows are steps of sequences
  bool whole = false;                 // of whole keys
};

// A list of {rule, kind, broken, share, real_broken, example}: the number of rows that break a rule, and one of them.
// Columns of another kind in the synthetic table are not checked. Throws as parse_where() for a given rule.
nlohmann::json broken_rules(const Table& real, const Table& synthetic, const RuleCheck& check, Team& team,
                            const Monitor& monitor);

}  // namespace tessera::quality
