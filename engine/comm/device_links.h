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
  // The same of bytes that ranks share out, `part` of `total` each (kernels/wires.h): of this rank's part what each of
  // them has, into `room`; or each part as its rank has it, in place.
  virtual void take_parts(const void* from, int64_t total, int64_t part, void* room, void* stream) = 0;
  virtual void gather_parts(void* data, int64_t total, int64_t part, void* stream) = 0;
  // Throws what has gone wrong since the exchanges were queued: their results are then worth nothing.
  virtual void check() = 0;
  virtual bool failed() const = 0;
};

}  // namespace tessera
