// swish on the device: its function, and the op as a step of a fused launch.
#pragma once
#include "kernels/gpu/bodies/elementwise.cuh"

namespace tessera::gpu {

struct SwishFunction {
  float beta;
  __device__ float operator()(float x) const { return x * (1.0f / (1.0f + expf(-beta * x))); }
};

template <>
struct Fused<Swish> : FusedFunction<Swish, 1> {
  template <class Walk>
  __device__ static void map(const Step& s, Walk&& walk) {
    const SwishFunction f{static_cast<float>(s.op.beta)};
    walk(s.out, [&](int r, int c, int end) { map_chunk<1>(s.x, s.out, r, c, end, f); });
  }
};

}  // namespace tessera::gpu
