// A fused launch: many ops in one kernel. Its blocks are divided among chains. A chain partitions all its ops the same
// way: a block reads only those of the chain's results that it wrote itself, so a block barrier is the only
// synchronization. Chains of one launch are independent.
//   rows   units of rows: unit u of a value is its rows [u·run, (u + 1)·run), repeated with a stride of `stride` rows
//          (stacked rows)
//   cols   columns of values of equal width
//   flat   elements of [1, n]
//   tiles  a product's tiles or the rows of a scatter, and the update of the parameter whose gradient they are
// The engine decides which ops form which chain (engine/schedule/gpu_fusion.h); fits() tells whether a launch is small
// enough for the kernel's parameters.
#pragma once
#include "kernels/ops.h"
#include "kernels/view.h"

namespace tessera {

enum class OpKind : int {
#define TESSERA_KIND(type, field, parts) field,
  TESSERA_OPS(TESSERA_KIND)
#undef TESSERA_KIND
};

// Minimum floats of shared memory of every block of a fused launch.
constexpr int64_t kFusedFloats = 4096;

struct FusedStep {
  OpKind kind;
  Call call;
  // rows: as above, of the outputs; stride 0: not stacked
  int64_t run, stride;
  // A deep product whose slices run in separate blocks is two steps: `slices` writes their sums to `workspace`, `sum`,
  // in a later launch, adds them.
  enum Part : int { all, slices, sum } part;
  int64_t workspace;  // bytes from the start of the context's workspace
};

struct FusedChain {
  enum Cut : int { rows, cols, flat, tiles } cut;
  int64_t units;  // rows: units; cols: columns; flat: elements
  const FusedStep* steps;
  int count;
  const FusedStep* begin() const { return steps; }
  const FusedStep* end() const { return steps + count; }
};

// The op of a fused call.
struct FusedLaunchOp {
  const FusedChain* chains;
  int count;
  // A step whose first and last launch are fused advances the step counter itself: the first launch copies
  // StepState::step to `running`, the last reads that and advances `step`. No block reads what another one writes. The
  // last launch receives the state, because its steps may not have it.
  bool first = false, last = false;
  StepState* state = nullptr;
  const FusedChain* begin() const { return chains; }
  const FusedChain* end() const { return chains + count; }
};

// A launch whose source was compiled at run time (engine/emit): the op of a call without views.
struct CompiledLaunchOp {
  const void* function;    // DeviceKernel::function
  const void* parameters;  // its only parameter; the call copies it
  int64_t blocks;          // of as many threads as the interpreter's
  bool early = false;      // it may begin before the launch before it has ended, and waits for that itself
  unsigned cluster = 1;    // consecutive blocks that run together (compute capability 9.0)
};

struct FusedKernels {  // a table's (KernelTable::fused)
  Kernel kernel;       // of a call whose op is a FusedLaunchOp, without views
  bool (*fits)(const FusedLaunchOp& op);
  int64_t (*slices_bytes)(const Call& matmul);  // of workspace
  Kernel compiled{};                            // of a call whose op is a CompiledLaunchOp
};
const FusedKernels& fused_kernels_cuda();  // kernels/gpu/fused/fused.cu

}  // namespace tessera
