// Recomputation (gradient checkpointing): a value that backward ops read long after it was computed is computed again
// before they read it, and its memory is free in between. Runs after all other passes, on a plan in order.
//   the identity: a pure op of the same inputs gives the same bits; random numbers come from counters, and ops that
//       change state are never repeated
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace tessera {

// off · automatic: as little as meets the limit · all: every value that lowers the memory
enum class Recompute : uint8_t { off, automatic, all };
std::optional<Recompute> parse_recompute(const std::string& name);  // "off", "auto", "all"

struct Recomputed {  // a value, with everything that must be recomputed for it
  std::string what;  // its name, or that of its op
  Shape shape;
  int64_t bytes;
  double flops;  // that are repeated
};

struct RecomputeReport {
  int64_t bytes_before = 0, bytes_after = 0;  // as `bytes` counts them
  double flops_before = 0, flops_after = 0;
  std::vector<Recomputed> values;  // in the order in which they were chosen
};

// `bytes` computes the memory of a plan on its device. Recompute::automatic stops at `limit` bytes.
RecomputeReport recompute(Plan& plan, Recompute mode, int64_t limit, const std::function<int64_t(const Plan&)>& bytes);

}  // namespace tessera
