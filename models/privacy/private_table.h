// A table that is a function of noisy counts of another one: what a differentially private fit learns instead
// (docs/quality/differential_privacy.md).
#pragma once
#include <nlohmann/json.hpp>
#include <optional>

#include "base/threads/team.h"
#include "models/method/private_rows.h"
#include "models/training/fit_options.h"
#include "tables/table/table.h"

namespace tessera {

struct PrivacyBudget {
  double epsilon = 0, delta = 1e-5;
  std::optional<uint64_t> noise_seed;  // of tests; none: secret
  PrivateBy by = PrivateBy::counts;
  double epochs = 30, batch = 2048;  // of steps on gradients
};

struct PrivateTable {
  Table rows;             // about as many as the table has
  PrivateSteps steps{};   // of DP-SGD on the table's rows that the budget pays for; none by counts alone
  uint64_t seed = 0;      // secret: of their random numbers
  nlohmann::json ledger;  // what is spent
};

// Rows drawn from noisy counts: one-way, two-way and three-way; by gradients alone one-way. Error(usage) naming a
// column of which too little is declared.
PrivateTable private_table(const Table& table, const PrivacyBudget& budget, Team& team);

}  // namespace tessera
