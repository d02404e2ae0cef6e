// swish: a map (gpu/dialect/map.cuh, where the kernel and its head stand) of SwishFunction.
//   8 bytes and ~18 FLOP an element: bandwidth-bound
#include "kernels/gpu/bodies/swish.cuh"
#include "kernels/gpu/dialect/map.cuh"

namespace tessera::gpu {
namespace {

void swish_run(const Call& call, int64_t, void* scratch) {
  const SwishFunction f{static_cast<float>(static_cast<const Swish*>(call.op)->beta)};
  map<SwishFunction, 1>(scratch, "swish", f, {&call.in[0]}, call.out[0]);
}

}  // namespace

Kernel swish_entry() { return {one_if_any, swish_run, nullptr}; }

}  // namespace tessera::gpu
