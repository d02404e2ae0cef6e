// Handlers of instructions that compute each lane for itself.
#pragma once
#include <utility>

#include "ptx/machine/warp.h"

namespace tessera::ptx {

// d = f(s…) in the lanes of the mask. The others are computed too, so that lanes are vectorized, and thrown away.
template <auto f, class D, class... S>
void store(D* d, Mask mask, const S*... s) {
  if (mask == kAll) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) d[l] = f(s[l]...);
    return;
  }
  D result[kLanes];
  for (int l = 0; l < kLanes; ++l) result[l] = f(s[l]...);
  for (int l = 0; l < kLanes; ++l) d[l] = (mask >> l & 1) != 0 ? result[l] : d[l];
}

// Types as the instruction has them, the target's first.
template <auto f, class D, class... S>
void map(Warp& w, const Instruction& i, Mask mask) {
  [&]<size_t... n>(std::index_sequence<n...>) {
    store<f, D, S...>(w.lanes<D>(i.operand[0]), mask, w.lanes<const S>(i.operand[1 + n])...);
  }
  (std::index_sequence_for<S...>{});
}

inline Mask packed(const uint8_t (&bits)[kLanes]) {
  Mask m = 0;
  for (int l = 0; l < kLanes; ++l) m |= static_cast<Mask>(bits[l]) << l;
  return m;
}

// A predicate from two numbers.
template <auto f, class T>
void compare(Warp& w, const Instruction& i, Mask mask) {
  const T *a = w.lanes<const T>(i.operand[1]), *b = w.lanes<const T>(i.operand[2]);
  uint8_t bits[kLanes];
  for (int l = 0; l < kLanes; ++l) bits[l] = f(a[l], b[l]) ? 1 : 0;
  Mask& p = w.predicate(i.operand[0]);
  p = (p & ~mask) | (packed(bits) & mask);
}

using Table = std::map<std::string, Handler>;

}  // namespace tessera::ptx
