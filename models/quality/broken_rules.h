// The rules of a real table that synthetic rows break.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/run/monitor.h"
#include "engine/run/team.h"
#include "models/data/table/table.h"

namespace tessera::quality {

struct RuleCheck {
  bool find = true;                // rules that the real table shows (docs/use/rules.md)
  std::vector<std::string> given;  // further ones, as --where writes them
  std::vector<std::string> apart;  // columns of found rules that are not looked at
  std::string key, index;          // of sequences
  uint64_t seed = 0;
};

// A list of {rule, kind, broken, share, real_broken, example}: in which rows a rule is broken, and one of them.
// Columns that are of another kind in the synthetic table have no rules. Throws as parse_where() for a given rule.
nlohmann::json broken_rules(const Table& real, const Table& synthetic, const RuleCheck& check, Team& team,
                            const Monitor& monitor);

}  // namespace tessera::quality
