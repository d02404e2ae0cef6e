// A fused launch: many ops in one kernel. Its blocks are dealt out to chains; a chain cuts all its ops the same way, so that what a block of it reads of the chain's
// own results that very block has written, and a barrier of the block is all the synchronisation there is. Chains of one launch know nothing of each other.
//   rows   units of rows: unit u of a value is its rows [u·run, (u + 1)·run), again `apart` rows later, and so on (stacked rows)
//   cols   columns of values that are equally wide
//   flat   elements of [1, n]
//   tiles  one op without a chain: a product's tiles, a block of a scatter
// Which ops may stand in which chain the engine decides (engine/fusion.h); fits() says whether a launch is small enough for the kernel's parameters.
#pragma once
#include "kernels/ops.h"
#include "kernels/view.h"

namespace tessera {

enum class OpKind : int {
#define TESSERA_KIND(type, field) field,
  TESSERA_OPS(TESSERA_KIND)
#undef TESSERA_KIND
};

struct FusedStep {
  OpKind kind;
  Call call;
  int64_t run, apart;  // rows: as above, of the outputs; apart 0: not stacked
  // A deep product whose slices get blocks of their own is two steps: `slices` writes their sums to `workspace`, `sum`, in a later launch, adds them.
  enum Part : int { all, slices, sum } part;
  int64_t workspace;  // bytes from the start of the context's workspace
};

struct FusedChain {
  enum Cut : int { rows, cols, flat, tiles } cut;
  int64_t units;  // rows: units; cols: columns; flat: elements
  const FusedStep* steps;
  int count;
};

// What the op of a fused call is.
struct FusedLaunchOp {
  const FusedChain* chains;
  int count;
};

struct FusedKernels {  // a table's (KernelTable::fused)
  Kernel kernel;       // of a call whose op is a FusedLaunchOp, without views
  bool (*fits)(const FusedLaunchOp& op);
  int64_t (*slices_bytes)(const Call& matmul);  // of workspace
};
const FusedKernels& fused_kernels_cuda();  // kernels/fused.cu

}  // namespace tessera
