#include "models/data/arrow/device.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/device_api.h"
#include "engine/error.h"
#include "engine/text/printable.h"
#include "models/data/arrow/holder.h"
#include "models/data/arrow/metadata.h"
#include "models/data/arrow/type.h"

namespace tessera {
namespace {

[[noreturn]] void fail(const ArrowSchema& schema, const std::string& what) {
  throw Error(ErrorCode::data, "Column \"" + std::string(schema.name == nullptr ? "" : schema.name) +
                                   "\" of the Arrow device stream has " + what +
                                   ".\n  The program that made the stream is at fault.");
}

// --- from a device to the host ---

struct HostArray {
  std::vector<std::vector<char>> memory;
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
  ArrowArray dictionary{};
};

class Copier {
 public:
  explicit Copier(Device& device) : device_(device) {}

  // A column: buffers whose sizes follow from its length, and texts, whose size is their last offset.
  void column(const ArrowSchema& schema, const ArrowArray& from, ArrowArray* out) {
    const std::string_view format = schema.format == nullptr ? "" : schema.format;
    const auto type = ArrowType::parse(format);
    if (!type || (type->kind == ArrowKind::text && type->offset == 0))
      throw Error(ErrorCode::unsupported, "Column \"" + std::string(schema.name == nullptr ? "" : schema.name) +
                                              "\" lies on a GPU in the Arrow format \"" +
                                              std::string(format.substr(0, 60)) +
                                              "\", which cannot be copied from there.\n  Cast it to utf8 or a type of "
                                              "fixed width first, or copy the table to the host.");
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 64;
    if (from.length < 0 || from.offset < 0 || from.length > kMost || from.offset > kMost - from.length)
      fail(schema, "a negative or impossible length or offset");
    const int64_t values = from.offset + from.length, wanted = type->kind == ArrowKind::none   ? 0
                                                               : type->kind == ArrowKind::text ? 3
                                                                                               : 2;
    if (from.n_buffers < wanted || (wanted > 0 && from.buffers == nullptr))
      fail(schema, std::to_string(from.n_buffers) + " buffers where its format has " + std::to_string(wanted));
    Made made(out, from);
    HostArray& host = made.holder;
    if (wanted > 0) {
      host.memory.resize(3);
      host.buffers.assign(static_cast<size_t>(wanted), nullptr);
      if (from.null_count != 0 && from.buffers[0] != nullptr) fetch(schema, from.buffers[0], (values + 7) / 8, host, 0);
      if (type->kind == ArrowKind::text) {
        fetch(schema, from.buffers[1], (values + 1) * type->offset, host, 1);
        fetch(schema, from.buffers[2], text_bytes(schema, host, values, type->offset), host, 2);
      } else {
        fetch(schema, from.buffers[1], type->kind == ArrowKind::boolean ? (values + 7) / 8 : values * type->width, host,
              1);
      }
    }
    if (schema.dictionary != nullptr) {
      if (from.dictionary == nullptr) fail(schema, "no dictionary");
      column(*schema.dictionary, *from.dictionary, &host.dictionary);
      out->dictionary = &host.dictionary;
    }
    made.keep();
  }

  void batch(const ArrowSchema& schema, const ArrowArray& from, ArrowArray* out) {
    if (from.n_children != schema.n_children || (from.n_children > 0 && from.children == nullptr) || from.length < 0 ||
        from.offset < 0 || from.offset > (int64_t{1} << 56))
      fail(schema,
           std::to_string(from.n_children) + " columns where its schema has " + std::to_string(schema.n_children));
    Made made(out, from);
    HostArray& host = made.holder;
    host.memory.resize(1);
    host.buffers = {nullptr};
    if (from.null_count != 0 && from.n_buffers > 0 && from.buffers != nullptr && from.buffers[0] != nullptr)
      fetch(schema, from.buffers[0], (from.offset + from.length + 7) / 8, host, 0);
    host.children.resize(static_cast<size_t>(from.n_children));
    for (int64_t j = 0; j < from.n_children; ++j) {
      if (schema.children[j] == nullptr || from.children[j] == nullptr)
        fail(schema, "no column " + std::to_string(j + 1));
      column(*schema.children[j], *from.children[j], &host.children[static_cast<size_t>(j)]);
      host.pointers.push_back(&host.children[static_cast<size_t>(j)]);
    }
    out->n_children = from.n_children;
    out->children = host.pointers.data();
    made.keep();
  }

 private:
  // An array that is released unless it is kept.
  struct Made {
    Made(ArrowArray* to, const ArrowArray& from) : out(to), holder(*new HostArray) {
      *out = ArrowArray{};
      out->length = from.length, out->null_count = from.null_count, out->offset = from.offset;
      out->private_data = &holder;
      out->release = release_holder<HostArray>;
    }
    ~Made() {
      if (!kept) release_holder<HostArray>(out);
    }
    void keep() {
      out->n_buffers = static_cast<int64_t>(holder.buffers.size());
      out->buffers = holder.buffers.data();
      kept = true;
    }
    ArrowArray* out;
    HostArray& holder;
    bool kept = false;
  };

  void fetch(const ArrowSchema& schema, const void* from, int64_t bytes, HostArray& host, size_t buffer) {
    if (bytes > 0 && from == nullptr) fail(schema, "no values (its buffer is NULL)");
    std::vector<char>& to = host.memory[buffer];
    to.resize(static_cast<size_t>(bytes > 0 ? bytes : 1));
    if (bytes > 0) device_.check(device_.api().download(device_.session(), to.data(), from, bytes));
    host.buffers[buffer] = to.data();
  }

  int64_t text_bytes(const ArrowSchema& schema, const HostArray& host, int64_t values, int width) const {
    int64_t end = 0;
    int32_t small = 0;
    const char* last = host.memory[1].data() + values * width;
    if (width == 4) std::memcpy(&small, last, sizeof small), end = small;
    else std::memcpy(&end, last, sizeof end);
    if (end < 0) fail(schema, "descending text offsets");
    return end;
  }

  Device& device_;
};

struct FromDevice {
  ArrowDeviceArrayStream stream{};
  ArrowSchema schema{};
  std::function<std::shared_ptr<Device>(int64_t)> open;
  std::map<int64_t, std::shared_ptr<Device>> devices;
  std::string error;

  ~FromDevice() {
    if (schema.release != nullptr) schema.release(&schema);
    if (stream.release != nullptr) stream.release(&stream);
  }

  [[noreturn]] void fail_stream(int code) {
    const char* message = stream.get_last_error == nullptr ? nullptr : stream.get_last_error(&stream);
    throw Error(code_of(code), message != nullptr && *message != 0 ? message : "The Arrow device stream failed.");
  }
  void take_schema(ArrowSchema* out) {
    *out = ArrowSchema{};
    if (const int code = stream.get_schema(&stream, out)) {
      out->release = nullptr;
      fail_stream(code);
    }
  }
  Device& device(int64_t number) {
    std::shared_ptr<Device>& d = devices[number];
    if (d == nullptr) d = open(number);
    return *d;
  }

  void next(ArrowArray* out) {
    struct Taken {
      ArrowDeviceArray batch{};
      ~Taken() {
        if (batch.array.release != nullptr) batch.array.release(&batch.array);
      }
    } taken;
    ArrowDeviceArray& batch = taken.batch;
    if (const int code = stream.get_next(&stream, &batch)) {
      batch.array.release = nullptr;
      fail_stream(code);
    }
    *out = ArrowArray{};
    if (batch.array.release == nullptr) return;
    switch (batch.device_type) {
      case ARROW_DEVICE_CPU: break;
      case ARROW_DEVICE_CUDA:
      case ARROW_DEVICE_CUDA_HOST:
      case ARROW_DEVICE_CUDA_MANAGED: {
        if (batch.device_type == ARROW_DEVICE_CUDA_HOST && batch.sync_event == nullptr) break;
        Device& d = device(std::max<int64_t>(batch.device_id, 0));
        if (batch.sync_event != nullptr) d.check(d.api().wait_event(d.session(), batch.sync_event));
        if (batch.device_type != ARROW_DEVICE_CUDA) break;
        if (schema.release == nullptr) take_schema(&schema);
        return Copier(d).batch(schema, batch.array, out);
      }
      default:
        throw Error(ErrorCode::unsupported, "The rows lie on a device of type " + std::to_string(batch.device_type) +
                                                " of the Arrow device interface; supported are the CPU (1) and CUDA "
                                                "(2, 3, 13).\n  Copy them to the host first.");
    }
    *out = batch.array;
    batch.array.release = nullptr;
  }
};

constexpr const char* kNoHostMemory = "There is not enough host memory for rows on a GPU.\n  Use smaller batches.";

// --- from the host to the device interface ---

ArrowArrayStream& inner(ArrowDeviceArrayStream* s) { return *static_cast<ArrowArrayStream*>(s->private_data); }

}  // namespace

void host_stream(ArrowDeviceArrayStream* stream, std::function<std::shared_ptr<Device>(int64_t)> open,
                 ArrowArrayStream* out) {
  auto holder = std::make_unique<FromDevice>();
  holder->stream = *stream;
  stream->release = nullptr;
  if (holder->stream.release == nullptr)
    throw Error(ErrorCode::usage,
                "The Arrow device stream was already released.\n  A stream can be consumed only once.");
  if (holder->stream.get_schema == nullptr || holder->stream.get_next == nullptr)
    throw Error(ErrorCode::data,
                "The Arrow device stream lacks its functions get_schema or get_next.\n  The program that made the "
                "stream is at fault.");
  holder->open = std::move(open);
  out->get_schema = [](ArrowArrayStream* s, ArrowSchema* schema) {
    return guarded<FromDevice>(s, kNoHostMemory, [&](FromDevice& h) { h.take_schema(schema); });
  };
  out->get_next = [](ArrowArrayStream* s, ArrowArray* array) {
    return guarded<FromDevice>(s, kNoHostMemory, [&](FromDevice& h) { h.next(array); });
  };
  out->get_last_error = [](ArrowArrayStream* s) -> const char* {
    const auto* h = static_cast<FromDevice*>(s->private_data);
    return h == nullptr || h->error.empty() ? nullptr : h->error.c_str();
  };
  out->release = [](ArrowArrayStream* s) {
    delete static_cast<FromDevice*>(s->private_data);
    s->private_data = nullptr;
    s->release = nullptr;
  };
  out->private_data = holder.release();
}

void device_stream(ArrowArrayStream* stream, ArrowDeviceArrayStream* out) {
  if (stream->release == nullptr)
    throw Error(ErrorCode::usage, "The Arrow stream was already released.\n  A stream can be consumed only once.");
  auto holder = std::make_unique<ArrowArrayStream>(*stream);
  stream->release = nullptr;
  *out = ArrowDeviceArrayStream{};
  out->device_type = ARROW_DEVICE_CPU;
  out->get_schema = [](ArrowDeviceArrayStream* s, ArrowSchema* schema) {
    return s->private_data == nullptr ? EINVAL : inner(s).get_schema(&inner(s), schema);
  };
  out->get_next = [](ArrowDeviceArrayStream* s, ArrowDeviceArray* batch) {
    *batch = ArrowDeviceArray{};
    batch->device_id = -1;
    batch->device_type = ARROW_DEVICE_CPU;
    return s->private_data == nullptr ? EINVAL : inner(s).get_next(&inner(s), &batch->array);
  };
  out->get_last_error = [](ArrowDeviceArrayStream* s) -> const char* {
    return s->private_data == nullptr ? nullptr : inner(s).get_last_error(&inner(s));
  };
  out->release = [](ArrowDeviceArrayStream* s) {
    if (s->private_data == nullptr) return;
    if (inner(s).release != nullptr) inner(s).release(&inner(s));
    delete &inner(s);
    s->private_data = nullptr;
    s->release = nullptr;
  };
  out->private_data = holder.release();
}

}  // namespace tessera
