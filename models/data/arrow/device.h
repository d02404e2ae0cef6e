// The Arrow C device interface (https://arrow.apache.org/docs/format/CDeviceDataInterface.html): batches that lie on a
// GPU, brought to the host column by column, and batches of the host as streams of that interface.
#pragma once
#include <functional>
#include <memory>

#include "tessera/arrow.h"

namespace tessera {

class Device;

// Takes the device stream; `out` gives its batches on the host. What the host can read already passes without a copy.
// open(number): the GPU a batch lies on, asked for once a batch does; it throws where there is none.
void host_stream(ArrowDeviceArrayStream* stream, std::function<std::shared_ptr<Device>(int64_t number)> open,
                 ArrowArrayStream* out);

// Takes the stream; `out` gives the same batches as those of the processor.
void device_stream(ArrowArrayStream* stream, ArrowDeviceArrayStream* out);

}  // namespace tessera
