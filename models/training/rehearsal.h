// A fit without training, to compute its memory: all stages before and after the steps are run, with the method's
// initial weights; the steps are placed and their memory is added up, but they are neither allocated nor run.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>

#include "models/training/trainer.h"

namespace tessera {

// The result; FitOptions::rehearsal requests it.
struct Rehearsal {
  nlohmann::json phases = nlohmann::json::array();
  int64_t encoded = 0, held_out = 0;  // bytes of the rows, or sequences, that are learned from, and of those held out
  int64_t arrays = 0;                 // bytes that a limit counts when training begins: these, lists of rows, a measure
  int64_t step = 0;                   // of the largest step
  int64_t held = 0;                   // that a limit counts: of the step, the copies of states beside it and a measure
  int64_t after = 0;                  // maximum that a limit counts for the stages after the steps
  int64_t resident = 0;               // bytes of the process when training begins
  int64_t training = 0;               // and their maximum during training, copies of the weights included
  bool reached = false;               // whether the steps were reached: of later stages, only the memory counts
};

int64_t bytes_of(const EncodedTable& table);

// In place of train(), with FitOptions::rehearsal.
Trained rehearse(const Method& method, std::unique_ptr<HeldOut> held_out, const FitOptions& options,
                 const RunContext& context);

}  // namespace tessera
