// The training run of any method: its phases one after the other, each a self-contained step that is replayed.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "models/method/method.h"
#include "models/training/checkpoint.h"
#include "models/training/fit_options.h"

namespace tessera {

struct Trained {
  FittedState kept;
  double flops = 0;  // floating-point operations of the training
  Deadline until;    // of the stages after training
};

// Whether the run measures its weights on held-out rows, or sequences.
bool measures(const FitOptions& options);

// Trains a prepared method, continuing from the checkpoints if the options say so. `held_out`: null if measures() is
// false. `provenance` receives a description of the training. The trained state is in a checkpoint when this returns or
// throws.
Trained train(const Method& method, std::unique_ptr<HeldOut> held_out, const FitOptions& options,
              Checkpoints& checkpoints, Team& team, const Monitor& monitor, nlohmann::json& provenance);

// Trains a method on its own table beside another model: no checkpoints, no log. `held`: held-out rows, for patience.
FittedState train_aside(RowMethod& method, const EncodedTable& table, const FitOptions& options, Team& team,
                        const Monitor& monitor, const EncodedTable* held = nullptr);

}  // namespace tessera
