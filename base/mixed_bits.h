// The hash of all code: splitmix64's finalizer (Steele, Lea and Flood 2014).
#pragma once
#include <cstdint>

namespace tessera {

// A bijection in which every bit of the result depends on every bit of x. 0 stays 0.
constexpr uint64_t mixed_bits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
// The hash of a sequence, number by number.
constexpr uint64_t hash_with(uint64_t hash, uint64_t next) { return mixed_bits(hash + 0x9e3779b97f4a7c15 + next); }

}  // namespace tessera
