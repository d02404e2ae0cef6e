// What the ops need by which ranks exchange within a step.
#pragma once
#include <cstdint>

namespace tessera {

// How a step reaches the other ranks (engine/comm/communicator.h owns it). `stream`: a device's, on which the call is
// queued; nullptr on the processor. False: another rank is gone or has failed, and the step stops.
struct Wires {
  void* communicator;
  // the bytes of rank r go to `to` + r·apart
  bool (*all_gather)(void* communicator, const void* from, void* to, int64_t bytes, int64_t apart, void* stream);
  // The two below are of `total` bytes that are shared out: rank r owns `part` of them from r·part on, the last less.
  // at[r]: what rank r has in the part of this one, on a device in `room` (the part once for each rank); valid until
  // the next exchange.
  bool (*take_parts)(void* communicator, const void* from, int64_t total, int64_t part, void* room, const void** at,
                     void* stream);
  // in place: each part as the rank has it that owns it
  bool (*gather_parts)(void* communicator, void* data, int64_t total, int64_t part, void* stream);
};

constexpr int kMostRanks = 64;

// What rank r owns of `total`, of which each rank owns `part`, the last ones less or nothing.
constexpr int64_t owned_by(int64_t total, int64_t part, int64_t r) {
  const int64_t left = total - r * part;
  return left < 0 ? 0 : left < part ? left : part;
}

}  // namespace tessera
