// The wires between the devices of ranks: what an exchange of a step is queued on when the step runs on a device.
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
  // Throws what has gone wrong since the exchanges were queued: their results are then worth nothing.
  virtual void check() = 0;
  virtual bool failed() const = 0;
};

}  // namespace tessera
