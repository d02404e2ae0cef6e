#include "emulation/runtime.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "emulation/machine.h"
#include "emulation/memory.h"
#include "emulation/nccl/turn.h"

namespace tessera::emulation {

// A graph under construction or recorded: work and what it comes after.
struct Recorded {
  struct Node {
    std::string name;
    std::function<void()> run, begin;
    std::set<int> after;
  };
  std::vector<Node> nodes;
  bool broken = false;
};
struct Graph {
  std::shared_ptr<Recorded> recorded;
};
struct GraphExec {
  std::shared_ptr<const Recorded> recorded;
};
struct Mark {  // one record of an event
  bool done = false;
  Stream* stream = nullptr;
};
struct Event {
  std::shared_ptr<Mark> mark;       // of the latest record; none: no wait on it
  std::shared_ptr<Recorded> graph;  // recorded while capturing …
  std::set<int> nodes;              // … after these
};
struct Stream {
  struct Item {
    uint64_t number;
    std::function<void()> run, begin;  // or
    std::shared_ptr<Mark> sets, waits;
  };
  explicit Stream(int on) : device(on) {}
  const int device;
  std::deque<Item> queue;
  std::shared_ptr<Recorded> capture;
  Stream* origin = nullptr;
  std::set<int> tail;
  bool ready() const { return !queue.empty() && (!queue.front().waits || queue.front().waits->done); }
};

namespace {

thread_local int current = 0;  // the device that this thread uses
// Those of the current device: a thread runs, and waits for, the work of no other.
std::vector<Stream*>& streams() {
  static auto* all = new std::map<int, std::vector<Stream*>>;
  return (*all)[current];
}
std::map<uintptr_t, size_t>& pinned() {
  static auto* all = new std::map<uintptr_t, size_t>;
  return *all;
}
uint64_t queued = 0;
bool wired = false;  // other ranks wait for what is queued here

// As a thread that uses the stream's device.
class On {
 public:
  explicit On(const Stream& s) : before_(std::exchange(current, s.device)) {}
  ~On() { current = before_; }
  On(const On&) = delete;

 private:
  const int before_;
};

template <class T>
size_t choose(const std::vector<T>& from) {  // in ascending order of their numbers
  switch (schedule().order) {
    case Schedule::sequential: return 0;
    case Schedule::reverse: return from.size() - 1;
    default: return order_of_streams()() % from.size();
  }
}

void run_head(Stream& s) {
  Stream::Item item = std::move(s.queue.front());
  s.queue.pop_front();
  if (item.sets) item.sets->done = true;
  if (!item.run) return;
  const DeviceAccess access;
  if (!s.queue.empty() && s.queue.front().begin) s.queue.front().begin();
  item.run();
}

// Runs queued work until `done`, of which `wanted` is what it is about.
template <class Done>
void run_until(Stream* wanted, Done&& done) {
  while (!done()) {
    std::vector<Stream*> ready;
    for (Stream* s : streams())
      if (s->ready()) ready.push_back(s);
    if (ready.empty()) throw Fault("a stream waits for an event whose record is never reached");
    std::sort(ready.begin(), ready.end(),
              [](const Stream* a, const Stream* b) { return a->queue.front().number < b->queue.front().number; });
    Stream* next = ready[choose(ready)];
    if (schedule().order == Schedule::sequential && wanted != nullptr) {  // nothing that need not run
      Stream* s = wanted;
      while (!s->ready() && !s->queue.empty()) s = s->queue.front().waits->stream;
      if (s->ready()) next = s;
    }
    run_head(*next);
  }
}
void drain(Stream& s) {
  const On device(s);
  run_until(&s, [&] { return s.queue.empty(); });
}
void drain_all() {
  run_until(nullptr, [] {
    return std::all_of(streams().begin(), streams().end(), [](const Stream* s) { return s->queue.empty(); });
  });
}

// Copies under way from or to pinned memory, which must not be freed before them: by where it begins.
std::map<uintptr_t, int>& under_way() {
  static auto* all = new std::map<uintptr_t, int>;
  return *all;
}
uintptr_t pinned_begin(const void* p) { return std::prev(pinned().upper_bound(reinterpret_cast<uintptr_t>(p)))->first; }

void replay(const Recorded& g) {
  std::vector<int> missing;
  std::vector<std::vector<int>> before(g.nodes.size());
  std::vector<int> ready;
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    missing.push_back(static_cast<int>(g.nodes[n].after.size()));
    for (const int a : g.nodes[n].after) before[static_cast<size_t>(a)].push_back(static_cast<int>(n));
    if (g.nodes[n].after.empty()) ready.push_back(static_cast<int>(n));
  }
  while (!ready.empty()) {
    std::sort(ready.begin(), ready.end());
    const size_t at = choose(ready);
    const int n = ready[at];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(at));
    for (const int b : before[static_cast<size_t>(n)])
      if (const Recorded::Node& next = g.nodes[static_cast<size_t>(b)]; next.begin && next.after.size() == 1)
        next.begin();
    g.nodes[static_cast<size_t>(n)].run();
    for (const int b : before[static_cast<size_t>(n)])
      if (--missing[static_cast<size_t>(b)] == 0) ready.push_back(b);
  }
}

void queue_item(Stream& s, Stream::Item item) {
  item.number = ++queued;
  s.queue.push_back(std::move(item));
}

bool capturing() {
  return std::any_of(streams().begin(), streams().end(), [](const Stream* s) { return s->capture != nullptr; });
}
cudaError_t available() {
  return !device().driver ? cudaErrorInsufficientDriver : device().count == 0 ? cudaErrorNoDevice : cudaSuccess;
}

// An allocation or a wait while a stream is captured breaks the capture.
cudaError_t outside_capture() {
  if (const cudaError_t e = available(); e != cudaSuccess) return e;
  if (!capturing()) return cudaSuccess;
  for (Stream* s : streams())
    if (s->capture) s->capture->broken = true;
  return cudaErrorStreamCaptureUnsupported;
}

bool in_device(const void* p, size_t bytes) {
  const Region r = device_region(p);
  return r.begin != nullptr && static_cast<const char*>(p) + bytes <= r.end();
}
bool is_pinned(const void* p) {
  const uintptr_t a = reinterpret_cast<uintptr_t>(p);
  auto next = pinned().upper_bound(a);
  return next != pinned().begin() && a < std::prev(next)->first + std::prev(next)->second;
}

}  // namespace

Device& device() {
  static Device d = [] {  // a whole program on the emulated GPU is told by its environment
    const char* t = std::getenv("TESSERA_EMULATED_GPUS");
    Device from;
    if (const char* full = std::getenv("TESSERA_EMULATED_FULL_GPU")) from.full = std::atoi(full);
    if (const char* memory = std::getenv("TESSERA_EMULATED_MEMORY")) from.memory = std::stoull(memory);
    if (const char* capability = std::getenv("TESSERA_EMULATED_CAPABILITY"))
      if (std::sscanf(capability, "%d.%d", &from.major, &from.minor) != 2) std::abort();
    if (t == nullptr) return from;
    from.driver = std::string(t) != "no-driver";
    from.count = std::atoi(t);
    return from;
  }();
  return d;
}

void enqueue(Stream* stream, const char* name, std::function<void()> work, std::function<void()> begin) {
  const Turn turn;
  if (stream == nullptr) {
    if (capturing()) throw Fault(std::string(name) + " is put on the default stream while another is captured");
    drain_all();
    const DeviceAccess access;
    work();
    return;
  }
  if (!stream->capture) {
    queue_item(*stream, {0, std::move(work), std::move(begin), nullptr, nullptr});
    return;
  }
  stream->capture->nodes.push_back({name, std::move(work), std::move(begin), stream->tail});
  stream->tail = {static_cast<int>(stream->capture->nodes.size()) - 1};
}

std::map<std::string, Image>& images() {
  static auto* all = new std::map<std::string, Image>;
  return *all;
}

void reset_runtime() {
  for (Stream* s : streams()) {
    s->queue.clear();
    s->capture = nullptr;
    s->tail.clear();
  }
  under_way().clear();
}

}  // namespace tessera::emulation

using namespace tessera::emulation;

const char* cudaGetErrorName(cudaError_t e) {
  switch (e) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorInvalidKernelImage: return "cudaErrorInvalidKernelImage";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    case cudaErrorSymbolNotFound: return "cudaErrorSymbolNotFound";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorStreamCaptureUnsupported: return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated: return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureUnjoined: return "cudaErrorStreamCaptureUnjoined";
    default: return "cudaErrorUnknown";
  }
}
const char* cudaGetErrorString(cudaError_t e) {
  switch (e) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInsufficientDriver: return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    default: return "an error of the emulated runtime";
  }
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) {
  const cudaError_t e = available();
  if (e == cudaSuccess) *count = device().count;
  return e;
}
cudaError_t cudaGetDevice(int* number) {
  *number = current;
  return available();
}
cudaError_t cudaSetDevice(int number) {
  if (const cudaError_t e = available(); e != cudaSuccess) return e;
  if (number < 0 || number >= device().count) return cudaErrorInvalidDevice;
  current = number;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int number) {
  if (const cudaError_t e = available(); e != cudaSuccess) return e;
  if (number < 0 || number >= device().count) return cudaErrorInvalidDevice;
  *p = {};
  std::snprintf(p->name, sizeof p->name, "Emulated GPU");
  p->totalGlobalMem = device().memory;
  p->sharedMemPerBlockOptin = 227 * 1024;
  p->major = device().major;
  p->minor = device().minor;
  p->multiProcessorCount = device().multiprocessors;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = device().driver ? 13000 : 0;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const Turn turn;
  if (const cudaError_t e = available(); e != cudaSuccess) return e;
  *total = device().memory;
  *free = current == device().full ? 0 : device().memory - device_bytes_in_use();
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** p, size_t bytes) {
  const Turn turn;
  if (const cudaError_t e = outside_capture(); e != cudaSuccess) return e;
  *p = bytes == 0 || current == device().full ? nullptr : allocate_device(bytes);
  return *p == nullptr && bytes != 0 ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFree(void* p) {
  const Turn turn;
  if (const cudaError_t e = outside_capture(); e != cudaSuccess) return e;
  if (p == nullptr) return cudaSuccess;
  drain_all();
  return free_device(p) ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaHostAlloc(void** p, size_t bytes, unsigned) {
  const Turn turn;
  if (const cudaError_t e = outside_capture(); e != cudaSuccess) return e;
  *p = std::malloc(bytes);
  std::memset(*p, 0xFF, bytes);
  pinned()[reinterpret_cast<uintptr_t>(*p)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* p) {
  const Turn turn;
  if (p == nullptr) return cudaSuccess;
  if (under_way()[reinterpret_cast<uintptr_t>(p)] > 0)
    throw Fault("cudaFreeHost while a copy from or to that memory is under way");
  if (pinned().erase(reinterpret_cast<uintptr_t>(p)) == 0) return cudaErrorInvalidValue;
  std::free(p);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const Turn turn;
  if (const cudaError_t e = available(); e != cudaSuccess) return e;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice,
             from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (bytes == 0) return cudaSuccess;
  if ((to_device && !in_device(to, bytes)) || (from_device && !in_device(from, bytes))) return cudaErrorInvalidValue;
  if ((!to_device && in_device(to, 1)) || (!from_device && in_device(from, 1))) return cudaErrorInvalidValue;
  const bool capture = stream != nullptr && stream->capture != nullptr;
  const bool pageable = (!from_device && !is_pinned(from)) || (!to_device && !is_pinned(to));
  if (capture && pageable) {
    stream->capture->broken = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  if (!from_device && pageable) {  // staged: the host may change its memory at once
    auto staged = std::make_shared<std::string>(static_cast<const char*>(from), bytes);
    enqueue(stream, "copy", [=] { std::memcpy(to, staged->data(), bytes); });
    return cudaSuccess;
  }
  const bool held = !capture && !pageable && !(to_device && from_device);
  const uintptr_t memory = held ? pinned_begin(to_device ? from : to) : 0;
  if (held) ++under_way()[memory];
  enqueue(stream, "copy", [=] {
    std::memcpy(to, from, bytes);
    if (held) --under_way()[memory];
  });
  if (!to_device && pageable && stream != nullptr) drain(*stream);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const Turn turn;
  if (const cudaError_t e = outside_capture(); e != cudaSuccess) return e;
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
cudaError_t cudaMemsetAsync(void* p, int value, size_t bytes, cudaStream_t stream) {
  const Turn turn;
  if (const cudaError_t e = available(); e != cudaSuccess) return e;
  if (bytes == 0) return cudaSuccess;
  if (!in_device(p, bytes)) return cudaErrorInvalidValue;
  enqueue(stream, "fill", [=] { std::memset(p, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const Turn turn;
  if (const cudaError_t e = available(); e != cudaSuccess) return e;
  *stream = new Stream(current);
  streams().push_back(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Turn turn;
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  const On device(*stream);
  drain(*stream);
  streams().erase(std::find(streams().begin(), streams().end(), stream));
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Turn turn;
  if (const cudaError_t e = outside_capture(); e != cudaSuccess) return e;
  if (stream == nullptr) drain_all();
  else drain(*stream);
  check_guards();
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  const Turn turn;
  if (const cudaError_t e = outside_capture(); e != cudaSuccess) return e;
  drain_all();
  check_guards();
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (const cudaError_t e = available(); e != cudaSuccess) return e;
  *event = new Event;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Turn turn;
  *event = {};
  if (stream->capture) {
    event->graph = stream->capture;
    event->nodes = stream->tail;
    return cudaSuccess;
  }
  event->mark = std::make_shared<Mark>(Mark{false, stream});
  queue_item(*stream, {0, nullptr, nullptr, event->mark, nullptr});
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Turn turn;
  if (event->graph) {
    if (!stream->capture) {
      stream->capture = event->graph;
      stream->tail.clear();
    }
    if (stream->capture != event->graph) return cudaErrorStreamCaptureIsolation;
    stream->tail.insert(event->nodes.begin(), event->nodes.end());
    return cudaSuccess;
  }
  if (stream->capture) {
    if (!event->mark) return cudaSuccess;
    stream->capture->broken = true;
    return cudaErrorStreamCaptureIsolation;
  }
  if (event->mark) queue_item(*stream, {0, nullptr, nullptr, nullptr, event->mark});
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Turn turn;
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t e = outside_capture(); e != cudaSuccess) return e;
  if (!event->mark) return cudaSuccess;
  run_until(event->mark->done ? nullptr : event->mark->stream, [&] { return event->mark->done; });
  return cudaSuccess;
}
// A query lets the device advance a little, so that polling ends.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Turn turn;
  if (!event->mark) return cudaSuccess;
  if (event->mark->done) return cudaSuccess;
  bool once = false;
  run_until(event->mark->stream, [&] { return std::exchange(once, true); });
  return event->mark->done ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* image, void*, void**, unsigned, void*, void**,
                                unsigned) {
  const Turn turn;
  if (const cudaError_t e = outside_capture(); e != cudaSuccess) return e;
  const auto found = images().find(static_cast<const char*>(image));
  if (found == images().end()) return cudaErrorInvalidKernelImage;
  *library = &found->second;
  return cudaSuccess;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  const Turn turn;
  const auto found = library->find(name);
  if (found == library->end()) return cudaErrorSymbolNotFound;
  *kernel = &found->second;
  return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  const Turn turn;
  for (const Stream* s : streams())
    if (!library->empty() && !s->queue.empty()) throw Fault("a library is unloaded while its device has work");
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const Turn turn;
  if (stream == nullptr || stream->capture) return cudaErrorInvalidValue;
  stream->capture = std::make_shared<Recorded>();
  stream->tail.clear();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Turn turn;
  if (!stream->capture) return cudaErrorInvalidValue;
  const std::shared_ptr<Recorded> r = stream->capture;
  std::set<int> reached = stream->tail;
  for (int n = static_cast<int>(r->nodes.size()) - 1; n >= 0; --n)
    if (reached.count(n) != 0)
      reached.insert(r->nodes[static_cast<size_t>(n)].after.begin(), r->nodes[static_cast<size_t>(n)].after.end());
  for (Stream* s : streams())
    if (s->capture == r) {
      s->capture = nullptr;
      s->tail.clear();
    }
  *graph = nullptr;
  if (r->broken) return cudaErrorStreamCaptureInvalidated;
  if (reached.size() != r->nodes.size()) return cudaErrorStreamCaptureUnjoined;
  *graph = new Graph{r};
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  *exec = new GraphExec{graph->recorded};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const Turn turn;
  enqueue(stream, "graph", [g = exec->recorded] { replay(*g); });
  if (wired) drain(*stream);  // a GPU works while its host waits for another rank
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}

// For the emulated NCCL, a library of its own: `work` waits for other threads or processes, so it has no turn.
extern "C" __attribute__((visibility("default"))) void tessera_emulated_wire(void* stream, void (*work)(void*),
                                                                             void* argument) {
  wired = true;
  enqueue(static_cast<Stream*>(stream), "wire", [=] {
    const Pause pause;
    work(argument);
  });
}
