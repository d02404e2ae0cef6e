// Links between the devices of ranks: exchanges of a step that runs on a device are queued on them.
#pragma once
#include <cstdint>

namespace tessera {

class DeviceLinks {
 public:
  DeviceLinks() = default;
  virtual ~DeviceLinks() = default;
  DeviceLinks(const DeviceLinks&) = delete;
  DeviceLinks& operator=(const DeviceLinks&) = delete;

  // Queues on `stream`, which may be recording: `bytes` of every rank, to all + rank·apart. Throws Error.
  virtual void all_gather(const void* mine, void* all, int64_t bytes, int64_t apart, void* stream) = 0;
  // The same for `total` bytes divided among ranks, `part` each (kernels/wires.h). take_parts: every rank's bytes of
  // this rank's part, into `room`; gather_parts: each part from the rank that owns it, in place.
  virtual void take_parts(const void* from, int64_t total, int64_t part, void* room, void* stream) = 0;
  virtual void gather_parts(void* data, int64_t total, int64_t part, void* stream) = 0;
  // Throws an error that occurred since the exchanges were queued: their results are then invalid.
  virtual void check() = 0;
  virtual bool failed() const = 0;
};

}  // namespace tessera
