// A fit that trains nothing, to know what one takes of memory: all that goes before and after the steps is done, on
// the method's first weights, and the steps are placed and added up, but neither allocated nor run.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>

#include "models/training/trainer.h"

namespace tessera {

// What it finds; FitOptions::rehearsal asks for it.
struct Rehearsal {
  nlohmann::json phases = nlohmann::json::array();
  int64_t encoded = 0, held_out = 0;  // bytes of the rows, or sequences, that are learned from, and of those held out
  int64_t arrays = 0;                 // bytes that a limit counts as training begins: those, lists of rows, a measure
  int64_t step = 0;                   // of the largest step
  int64_t held = 0;                   // what a limit counts of it, with the copies of states beside it and a measure
  int64_t after = 0;                  // what a limit counts of what follows the steps, at most
  int64_t resident = 0;               // bytes of the process as training begins
  int64_t training = 0;               // and while it trains, at most, copies of the weights included
  bool reached = false;               // the steps: of what follows, only the memory counts
};

int64_t bytes_of(const EncodedTable& table);

// In place of train(), with FitOptions::rehearsal.
Trained rehearse(const Method& method, std::unique_ptr<HeldOut> held_out, const FitOptions& options,
                 const RunContext& context);

}  // namespace tessera
