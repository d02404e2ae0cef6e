// An attack report: what an attacker with a model file, or with rows of it, can learn about the training table.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "models/model/model.h"

namespace tessera {
class Device;
}
namespace tessera::audit {

struct AuditOptions {
  uint64_t seed = 0;
  int64_t rows = 100'000;    // sampled from the model, if no synthetic rows are given
  int shadows = 0;           // models that the likelihood ratio trains, even; 0: that attack is not made
  int canaries = 0;          // rows planted in the training table of one more model; 0: none
  bool timed = true;         // the report contains the time of each attack
  Device* device = nullptr;  // that compares rows; null: the processor
};

// Throws Error(usage) for arguments that attack_report() rejects, before a table is read.
void check_audit(const Model* model, bool synthetic, bool holdout, const AuditOptions& options);
// Whether there are enough rows for attacks.
bool can_attack(const Table& training, const Table& holdout);

// The JSON of docs/quality/privacy.md. `model`, `synthetic` and `holdout` may be null; one of the first two is given.
// Without a holdout, a model like `model` is fitted on one half of the training table and attacked with the other. The
// tables are as before when it returns. The same for any team size. Throws as check_audit(),
// Error(data) for tables that differ or have too few rows, Error(cancelled).
nlohmann::json attack_report(Table& training, const Table* holdout, const Model* model, Table* synthetic,
                             const AuditOptions& options, Team& team, const Monitor& monitor);

}  // namespace tessera::audit
