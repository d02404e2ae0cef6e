// Rows in the memory of a device.
#include <fmt/format.h>

#include "engine/device/device.h"
#include "models/api/rows.h"
#include "models/api/support/context.h"
#include "models/api/support/handles.h"
#include "models/data/arrow/device.h"

using namespace tessera;
using namespace tessera::api;

namespace {

std::shared_ptr<Device> open_gpu(int64_t number) {
  try {
    return std::make_shared<Device>(fmt::format("cuda:{}", number));
  } catch (const Error& e) {
    throw Error(e.code(),
                fmt::format("The rows lie on GPU {}, which cannot be used here: {}\n  Copy them to the host first.",
                            number, e.what()));
  }
}

}  // namespace

tessera_status tessera_rows_from_device(const tessera_context* context, ArrowDeviceArrayStream* rows,
                                        ArrowArrayStream* out) {
  return guarded([&] {
    struct Incoming {
      ArrowDeviceArrayStream stream{};
      ~Incoming() {
        if (stream.release != nullptr) stream.release(&stream);
      }
    } incoming;
    if (rows != nullptr) incoming.stream = std::exchange(*rows, ArrowDeviceArrayStream{});
    auto& to = required(out, "out");
    (void)state_of(context);
    if (incoming.stream.release == nullptr)
      throw Error(
          ErrorCode::usage,
          "The stream rows is NULL or was released already. A stream is consumed by the function it is given to.");
    host_stream(&incoming.stream, open_gpu, &to);
  });
}

tessera_status tessera_rows_to_device(ArrowArrayStream* rows, ArrowDeviceArrayStream* out) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows");
    device_stream(incoming.get(), &required(out, "out"));
  });
}
