// The training run of any method: its phases one after the other, each a closed step that is replayed.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "models/method/method.h"
#include "models/training/checkpoint.h"
#include "models/training/fit_options.h"

namespace tessera {

struct Trained {
  FittedState kept;
  double flops = 0;  // floating-point operations it took
  Deadline until;    // of what follows
};

// Whether the run measures its weights on held-out rows, or sequences.
bool measures(const FitOptions& options);

// Trains a method that is prepared, from where the checkpoints stand if the options say so. `held_out`: null where
// measures() is false. `provenance` receives what is to be said of it.
// What was trained is in a checkpoint when this returns, and when it throws.
Trained train(const Method& method, std::unique_ptr<HeldOut> held_out, const FitOptions& options,
              Checkpoints& checkpoints, Team& team, const Monitor& monitor, nlohmann::json& provenance);

// A method's training on a table of its own beside another model's: no checkpoints, no log.
FittedState train_aside(RowMethod& method, const EncodedTable& table, const FitOptions& options, Team& team,
                        const Monitor& monitor);

}  // namespace tessera
