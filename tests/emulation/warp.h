// Barriers, warp functions and atomics of CUDA, on the emulated machine. Each knows the line it was called from.
#pragma once
#include <string>
#include <type_traits>

#include "emulation/machine.h"

namespace tessera::emulation {

template <class T>
struct Shuffled {
  T value, result;
  int other, width;  // other: a source lane, a distance or a mask
};

// The source lane of each lane, by `source(lane, operand)`; −1: its own value.
template <class T, int (*source)(int lane, int other, int width)>
void shuffle_complete(void* const* operands, unsigned mask) {
  for (int l = 0; l < 32; ++l) {
    if ((mask >> l & 1) == 0) continue;
    auto& mine = *static_cast<Shuffled<T>*>(operands[l]);
    const int from = source(l, mine.other, mine.width);
    if (from < 0) {
      mine.result = mine.value;
      continue;
    }
    if ((mask >> from & 1) == 0)
      fault("lane " + std::to_string(l) + " of a shuffle reads lane " + std::to_string(from) +
            ", which is not in the mask");
    mine.result = static_cast<const Shuffled<T>*>(operands[from])->value;
  }
}
inline int source_lane(int lane, int other, int width) { return (lane & ~(width - 1)) + (other & (width - 1)); }
inline int source_up(int lane, int other, int width) { return (lane & (width - 1)) - other < 0 ? -1 : lane - other; }
inline int source_down(int lane, int other, int width) {
  return (lane & (width - 1)) + other >= width ? -1 : lane + other;
}
inline int source_xor(int lane, int other, int width) {
  return ((lane ^ other) & ~(width - 1)) > (lane & ~(width - 1)) ? -1 : lane ^ other;
}

template <class T, int (*source)(int, int, int)>
T shuffle(const char* name, unsigned mask, T value, int other, int width, Place place) {
  static_assert(std::is_trivially_copyable_v<T>);
  Shuffled<T> s{value, value, other, width};
  warp_collective(name, mask, &s, &shuffle_complete<T, source>, place);
  return s.result;
}

// All lanes post a T and read what `combine` makes of all of them: results[lane] from values[lane].
template <class T, void (*combine)(T (&values)[32], unsigned mask)>
void combine_complete(void* const* operands, unsigned mask) {
  T values[32]{};
  for (int l = 0; l < 32; ++l)
    if ((mask >> l & 1) != 0) values[l] = *static_cast<T*>(operands[l]);
  combine(values, mask);
  for (int l = 0; l < 32; ++l)
    if ((mask >> l & 1) != 0) *static_cast<T*>(operands[l]) = values[l];
}
template <class T, void (*combine)(T (&)[32], unsigned)>
T combined(const char* name, unsigned mask, T value, Place place) {
  warp_collective(name, mask, &value, &combine_complete<T, combine>, place);
  return value;
}

inline void all_lanes_ballot(unsigned (&v)[32], unsigned mask) {
  unsigned r = 0;
  for (int l = 0; l < 32; ++l)
    if ((mask >> l & 1) != 0 && v[l] != 0) r |= 1u << l;
  for (unsigned& x : v) x = r;
}
// The butterfly of kernels/gpu/dialect/device.h with the same operand order, so the same bits.
template <class T, T (*fold)(T, T)>
void butterfly(T (&v)[32], unsigned) {
  for (int step = 16; step > 0; step >>= 1) {
    T next[32];
    for (int l = 0; l < 32; ++l) next[l] = fold(v[l], v[l ^ step]);
    for (int l = 0; l < 32; ++l) v[l] = next[l];
  }
}
template <class T>
T fold_sum(T a, T b) {
  return a + b;
}
template <class T>
T fold_max(T a, T b) {
  return b > a || b != b ? b : a;
}
template <class T>
T fold_min(T a, T b) {
  return b < a || b != b ? b : a;
}
template <class T>
struct Indexed {
  T value;
  int index;
};
template <class T>
Indexed<T> fold_argmax(Indexed<T> a, Indexed<T> b) {
  return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}
template <class T, T (*fold)(T, T)>
void masked_fold(T (&v)[32], unsigned mask) {
  bool any = false;
  T r{};
  for (int l = 0; l < 32; ++l)
    if ((mask >> l & 1) != 0) {
      r = any ? fold(r, v[l]) : v[l];
      any = true;
    }
  for (T& x : v) x = r;
}
inline unsigned fold_and(unsigned a, unsigned b) { return a & b; }
inline unsigned fold_or(unsigned a, unsigned b) { return a | b; }
inline unsigned fold_xor(unsigned a, unsigned b) { return a ^ b; }

// The race checker treats what happens in here as atomic.
class AtomicScope {
 public:
  AtomicScope(const void* p, size_t bytes);
  ~AtomicScope();
};
template <class T, class F>
T atomic_change(T* p, F&& f) {
  const AtomicScope scope(p, sizeof(T));
  const T was = *p;
  *p = f(was);
  return was;
}

}  // namespace tessera::emulation

namespace tessera {

template <class T>
T warp_sum(T v, emulation::Place place = emulation::Place::here()) {
  return emulation::combined<T, emulation::butterfly<T, emulation::fold_sum<T>>>("warp_sum", 0xFFFFFFFFu, v, place);
}
template <class T>
T warp_max(T v, emulation::Place place = emulation::Place::here()) {
  return emulation::combined<T, emulation::butterfly<T, emulation::fold_max<T>>>("warp_max", 0xFFFFFFFFu, v, place);
}
template <class T>
T warp_min(T v, emulation::Place place = emulation::Place::here()) {
  return emulation::combined<T, emulation::butterfly<T, emulation::fold_min<T>>>("warp_min", 0xFFFFFFFFu, v, place);
}
template <class T>
void warp_argmax(T& v, int& index, emulation::Place place = emulation::Place::here()) {
  using I = emulation::Indexed<T>;
  const I r = emulation::combined<I, emulation::butterfly<I, emulation::fold_argmax<T>>>("warp_argmax", 0xFFFFFFFFu,
                                                                                         I{v, index}, place);
  v = r.value;
  index = r.index;
}

inline void assume_shared(const void* p) { emulation::in_shared_memory(p); }

inline void cp_async_16(void* shared, const void* global, bool in = true,
                        emulation::Place place = emulation::Place::here()) {
  emulation::copy_async(shared, global, 16, in ? 16 : 0, place);
}
inline void cp_async_4(void* shared, const void* global, bool in = true,
                       emulation::Place place = emulation::Place::here()) {
  emulation::copy_async(shared, global, 4, in ? 4 : 0, place);
}
inline void cp_async_commit() { emulation::copy_commit(); }
template <int pending>
void cp_async_wait() {
  emulation::copy_wait(pending);
}

}  // namespace tessera

inline void __syncthreads(tessera::emulation::Place place = tessera::emulation::Place::here()) {
  tessera::emulation::block_barrier(place);
}
inline int __syncthreads_count(int predicate, tessera::emulation::Place place = tessera::emulation::Place::here()) {
  int r = 0;
  tessera::emulation::block_barrier_votes(
      predicate != 0, [](int a, int b) { return a + b; }, r, place);
  return r;
}
inline int __syncthreads_and(int predicate, tessera::emulation::Place place = tessera::emulation::Place::here()) {
  int r = 0;
  tessera::emulation::block_barrier_votes(
      predicate != 0, [](int a, int b) { return a & b; }, r, place);
  return r;
}
inline int __syncthreads_or(int predicate, tessera::emulation::Place place = tessera::emulation::Place::here()) {
  int r = 0;
  tessera::emulation::block_barrier_votes(
      predicate != 0, [](int a, int b) { return a | b; }, r, place);
  return r;
}
inline void __syncwarp(unsigned mask = 0xFFFFFFFFu,
                       tessera::emulation::Place place = tessera::emulation::Place::here()) {
  tessera::emulation::warp_collective("__syncwarp", mask, nullptr, &tessera::emulation::orders_memory, place);
}
inline void __threadfence() {}
inline void __threadfence_block() {}

template <class T>
T __shfl_sync(unsigned mask, T v, int lane, int width = 32,
              tessera::emulation::Place place = tessera::emulation::Place::here()) {
  return tessera::emulation::shuffle<T, tessera::emulation::source_lane>("__shfl_sync", mask, v, lane, width, place);
}
template <class T>
T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32,
                 tessera::emulation::Place place = tessera::emulation::Place::here()) {
  return tessera::emulation::shuffle<T, tessera::emulation::source_up>("__shfl_up_sync", mask, v,
                                                                       static_cast<int>(delta), width, place);
}
template <class T>
T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32,
                   tessera::emulation::Place place = tessera::emulation::Place::here()) {
  return tessera::emulation::shuffle<T, tessera::emulation::source_down>("__shfl_down_sync", mask, v,
                                                                         static_cast<int>(delta), width, place);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T v, int other, int width = 32,
                  tessera::emulation::Place place = tessera::emulation::Place::here()) {
  return tessera::emulation::shuffle<T, tessera::emulation::source_xor>("__shfl_xor_sync", mask, v, other, width,
                                                                        place);
}
inline unsigned __ballot_sync(unsigned mask, int predicate,
                              tessera::emulation::Place place = tessera::emulation::Place::here()) {
  return tessera::emulation::combined<unsigned, tessera::emulation::all_lanes_ballot>("__ballot_sync", mask,
                                                                                      predicate != 0 ? 1u : 0u, place);
}
inline int __any_sync(unsigned mask, int predicate,
                      tessera::emulation::Place place = tessera::emulation::Place::here()) {
  return __ballot_sync(mask, predicate, place) != 0;
}
inline int __all_sync(unsigned mask, int predicate,
                      tessera::emulation::Place place = tessera::emulation::Place::here()) {
  return __ballot_sync(mask, predicate, place) == mask;
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned v,
                                  tessera::emulation::Place place = tessera::emulation::Place::here()) {
  return tessera::emulation::combined<
      unsigned, tessera::emulation::masked_fold<unsigned, tessera::emulation::fold_sum<unsigned>>>("__reduce_add_sync",
                                                                                                   mask, v, place);
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned v,
                                  tessera::emulation::Place place = tessera::emulation::Place::here()) {
  return tessera::emulation::combined<
      unsigned, tessera::emulation::masked_fold<unsigned, tessera::emulation::fold_max<unsigned>>>("__reduce_max_sync",
                                                                                                   mask, v, place);
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned v,
                                  tessera::emulation::Place place = tessera::emulation::Place::here()) {
  return tessera::emulation::combined<
      unsigned, tessera::emulation::masked_fold<unsigned, tessera::emulation::fold_min<unsigned>>>("__reduce_min_sync",
                                                                                                   mask, v, place);
}

template <class T>
T atomicAdd(T* p, T v) {
  return tessera::emulation::atomic_change(p, [v](T was) { return was + v; });
}
template <class T>
T atomicMax(T* p, T v) {
  return tessera::emulation::atomic_change(p, [v](T was) { return v > was ? v : was; });
}
template <class T>
T atomicMin(T* p, T v) {
  return tessera::emulation::atomic_change(p, [v](T was) { return v < was ? v : was; });
}
template <class T>
T atomicExch(T* p, T v) {
  return tessera::emulation::atomic_change(p, [v](T) { return v; });
}
template <class T>
T atomicCAS(T* p, T expected, T v) {
  return tessera::emulation::atomic_change(p, [v, expected](T was) { return was == expected ? v : was; });
}
