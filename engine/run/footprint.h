// Memory of a program, computed from its plan: the placement without the allocation.
#pragma once
#include <cstdint>

#include "engine/device/device.h"
#include "engine/plan/plan.h"
#include "engine/schedule/gpu_fusion.h"
#include "engine/schedule/placement.h"
#include "kernels/table.h"

namespace tessera {

// Bytes. On a device, of device memory; `scratch` is then that of its launches.
struct Footprint {
  int64_t state = 0;        // weights, moments, averages
  int64_t activations = 0;  // all values that a step computes, gradients included
  int64_t scratch = 0;      // of all threads
  int64_t copies = 0;       // of the state: a device keeps two while it trains (Program::snapshot)
  int64_t calls = 0;        // of the processor
  int64_t total() const { return state + activations + scratch + copies + calls; }
};
Footprint footprint(const Plan& plan, const Device& device, int threads, bool reuse = true);

// How a plan runs on a device: a Program is built from it, and its memory is computed from it. Narrows values of a plan
// for the processor, and splits the updates of one that a device runs fused.
struct Arranged {
  Fusion fusion;  // of a device's launches; empty: one launch per op
  Layout layout;
};
Arranged arrange(Plan& plan, const Device& device, const KernelTable& table, bool reuse);
const KernelTable& table_of(const Device& device);
Kernel kernel_of(const KernelTable& table, const Op& op);

// Bytes of a program's calls on the processor, at most: their vectors grow by doubling. They matter if recomputation
// cuts long sequences into thousands of ops.
int64_t call_bytes(const Plan& plan, const Layout& layout);

// Bytes of a thread's scratch that the chains of a layout take besides their kernels.
int64_t chain_bytes(const Plan& plan, const Layout& layout, int threads);

}  // namespace tessera
