// The Arrow C device interface (https://arrow.apache.org/docs/format/CDeviceDataInterface.html): batches in GPU memory,
// copied to the host column by column, and host batches as streams of that interface.
#pragma once
#include <functional>
#include <memory>

#include "tessera/arrow.h"

namespace tessera {

class Device;

// Takes the device stream; `out` gives its batches on the host. Memory that the host can read is not copied.
// open(number): opens the GPU of a batch when the first such batch arrives; throws if there is none.
void host_stream(ArrowDeviceArrayStream* stream, std::function<std::shared_ptr<Device>(int64_t number)> open,
                 ArrowArrayStream* out);

// Takes the stream; `out` gives the same batches as CPU batches.
void device_stream(ArrowArrayStream* stream, ArrowDeviceArrayStream* out);

}  // namespace tessera
