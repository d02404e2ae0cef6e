// A table that is a function of noisy counts of another one: what a differentially private fit learns instead
// (docs/quality/differential_privacy.md).
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "base/threads/team.h"
#include "tables/table/table.h"

namespace tessera {

struct PrivacyBudget {
  double epsilon = 0, delta = 1e-5;
  std::optional<uint64_t> noise_seed;  // of tests; none: secret
};

// Rows drawn from noisy one-way, two-way and three-way counts, about as many as `table` has; `ledger` receives what
// was spent. Error(usage) naming a column of which too little is declared.
Table private_table(const Table& table, const PrivacyBudget& budget, nlohmann::json& ledger, Team& team);

}  // namespace tessera
