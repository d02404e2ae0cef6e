// The interface of the ops by which ranks exchange within a step.
#pragma once
#include <cstdint>

namespace tessera {

// Functions by which a step exchanges with the other ranks (engine/comm/communicator.h owns them). `stream`: a
// device's, on which the call is queued; nullptr on the processor. False: another rank has ended or failed, and the
// step stops.
struct Wires {
  void* communicator;
  // the bytes of rank r go to `to` + r·stride
  bool (*all_gather)(void* communicator, const void* from, void* to, int64_t bytes, int64_t stride, void* stream);
  // The two below work on `total` bytes divided among ranks: rank r owns `part` of them from r·part on, the last rank
  // fewer. at[r]: rank r's bytes of this rank's part, on a device in `scratch` (ranks × part bytes); valid until
  // the next exchange.
  bool (*take_parts)(void* communicator, const void* from, int64_t total, int64_t part, void* scratch, const void** at,
                     void* stream);
  // in place: each part from the rank that owns it
  bool (*gather_parts)(void* communicator, void* data, int64_t total, int64_t part, void* stream);
};

constexpr int kMaxRanks = 64;

// How much of `total` rank r owns if each rank owns `part`, the last ones less or nothing.
constexpr int64_t owned_by(int64_t total, int64_t part, int64_t r) {
  const int64_t left = total - r * part;
  return left < 0 ? 0 : left < part ? left : part;
}

}  // namespace tessera
