// Sums and extremes over the 32 lanes of a warp, by a butterfly of shuffles: every lane has the same bits. All lanes
// call them. gpu/dialect/device.h takes them from here; the emulation does each in one step, and tests/gpu/machine.cpp
// checks that its bits equal these.
#pragma once

namespace tessera::butterfly {

template <class T>
__device__ inline T warp_sum(T v) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) v += __shfl_xor_sync(kWholeWarp, v, step);
  return v;
}
// NaN wins: max and min are NaN if any number is.
template <class T>
__device__ inline T warp_max(T v) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) {
    const T other = __shfl_xor_sync(kWholeWarp, v, step);
    v = (other > v || other != other) ? other : v;
  }
  return v;
}
template <class T>
__device__ inline T warp_min(T v) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) {
    const T other = __shfl_xor_sync(kWholeWarp, v, step);
    v = (other < v || other != other) ? other : v;
  }
  return v;
}
// The largest value and its lowest index, in every lane.
template <class T>
__device__ inline void warp_argmax(T& v, int& index) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) {
    const T other = __shfl_xor_sync(kWholeWarp, v, step);
    const int at = __shfl_xor_sync(kWholeWarp, index, step);
    if (other > v || (other == v && at < index)) {
      v = other;
      index = at;
    }
  }
}

}  // namespace tessera::butterfly
