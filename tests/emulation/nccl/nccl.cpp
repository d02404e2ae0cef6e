// NCCL's C interface over memory that threads and processes share: what ranks on emulated GPUs open instead of NCCL.
// What is queued is done in the order of the emulated stream. Ranks that call different collectives, or with different
// sizes, get ncclInvalidUsage, where NCCL would hang or mix up their data.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

enum Result { success = 0, system_error = 2, invalid_argument = 4, invalid_usage = 5, in_progress = 7 };
constexpr int kMaxRanks = 64, kInt8 = 0;
constexpr size_t kSlot = size_t{1} << 18;  // bytes that a rank hands over at a time
constexpr int kMessages = -2;

struct Place {  // of a rank; a new file is zeros
  std::atomic<uint64_t> posted, taken;
  std::atomic<uint64_t> what, bytes;  // of its collective
};
struct World {
  std::atomic<int> joined, failed;
  Place place[kMaxRanks];
  char slot[kMaxRanks][kSlot];
};

struct UniqueId {
  char bytes[128];
};
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking;
};

thread_local int groups = 0;

// What a group sends to each rank and receives from it.
struct Message {
  const void* from = nullptr;
  void* to = nullptr;
  size_t sent = 0, received = 0;
};

}  // namespace

struct ncclComm {
  World* world = nullptr;
  int rank = 0, size = 1;
  std::string file;
  uint64_t turn = 0;
  std::atomic<bool> aborted{false};

  struct Work {
    ncclComm* comm;
    const void* from;
    void* to;
    size_t bytes;
    int root;  // −1: all; kMessages: a message of each rank to each
    std::vector<Message> messages;
  };
  std::deque<Work> recorded;  // graphs refer to them
  Work group{};               // of the messages that a group has so far
};

namespace {

template <class Ready>
bool wait(ncclComm& c, Ready&& ready) {
  for (int turn = 0; !ready(); ++turn) {
    if (c.aborted || c.world->failed != 0) return false;
    if (turn > 100) std::this_thread::sleep_for(std::chrono::microseconds(50));
    else std::this_thread::yield();
  }
  return true;
}

// One slot of every rank, from `at` on; false: the communicator has failed.
bool exchange(const ncclComm::Work& w, size_t at) {
  ncclComm& c = *w.comm;
  const size_t n = std::min(kSlot, w.bytes - at);
  const uint64_t turn = ++c.turn, what = static_cast<uint64_t>(w.root + 1);
  Place& own = c.world->place[c.rank];
  own.what = what, own.bytes = w.bytes;
  if (w.root < 0 || w.root == c.rank) std::memcpy(c.world->slot[c.rank], static_cast<const char*>(w.from) + at, n);
  own.posted = turn;
  for (int r = 0; r < c.size; ++r) {
    Place& other = c.world->place[r];
    if (!wait(c, [&] { return other.posted >= turn; })) return false;
    if (other.what != what || other.bytes != w.bytes) {
      c.world->failed = invalid_usage;
      return false;
    }
    if (w.root < 0) std::memcpy(static_cast<char*>(w.to) + static_cast<size_t>(r) * w.bytes + at, c.world->slot[r], n);
    else if (w.root == r) std::memcpy(static_cast<char*>(w.to) + at, c.world->slot[r], n);
  }
  own.taken = turn;
  for (int r = 0; r < c.size; ++r)
    if (!wait(c, [&] { return c.world->place[r].taken >= turn; })) return false;
  return true;
}

// The next piece of every message of a group; false: the communicator has failed.
bool exchange_messages(const ncclComm::Work& w, size_t at) {
  ncclComm& c = *w.comm;
  const size_t each = kSlot / static_cast<size_t>(c.size);
  const auto piece = [&](size_t bytes) { return std::min(each, bytes - std::min(at, bytes)); };
  const uint64_t turn = ++c.turn;
  Place& own = c.world->place[c.rank];
  own.what = static_cast<uint64_t>(kMaxRanks + 1), own.bytes = w.bytes;
  for (size_t r = 0; r < w.messages.size(); ++r)
    if (const Message& m = w.messages[r]; piece(m.sent) > 0)
      std::memcpy(c.world->slot[c.rank] + r * each, static_cast<const char*>(m.from) + at, piece(m.sent));
  own.posted = turn;
  for (size_t r = 0; r < w.messages.size(); ++r) {
    Place& other = c.world->place[r];
    if (!wait(c, [&] { return other.posted >= turn; })) return false;
    if (other.what != static_cast<uint64_t>(kMaxRanks + 1) || other.bytes != w.bytes) {
      c.world->failed = invalid_usage;
      return false;
    }
    if (const Message& m = w.messages[r]; piece(m.received) > 0)
      std::memcpy(static_cast<char*>(m.to) + at, c.world->slot[r] + static_cast<size_t>(c.rank) * each,
                  piece(m.received));
  }
  own.taken = turn;
  for (int r = 0; r < c.size; ++r)
    if (!wait(c, [&] { return c.world->place[r].taken >= turn; })) return false;
  return true;
}

void carry_out(void* argument) {
  const auto& w = *static_cast<ncclComm::Work*>(argument);
  const size_t step = w.root == kMessages ? kSlot / static_cast<size_t>(w.comm->size) : kSlot;
  for (size_t at = 0; at < w.bytes; at += step)
    if (!(w.root == kMessages ? exchange_messages(w, at) : exchange(w, at))) return;
}

// The emulated runtime is within the plugin that the library has opened.
using Wire = void (*)(void*, void (*)(void*), void*);
Wire wire() {
  static const Wire found = [] {
    const char* plugin = std::getenv("TESSERA_CUDA_PLUGIN");
    void* library = plugin == nullptr ? nullptr : dlopen(plugin, RTLD_LAZY | RTLD_NOLOAD);
    return library == nullptr ? nullptr : reinterpret_cast<Wire>(dlsym(library, "tessera_emulated_wire"));
  }();
  return found;
}

int queue(ncclComm* c, const void* from, void* to, size_t count, int type, int root, void* stream) {
  if (c == nullptr || c->aborted || wire() == nullptr) return invalid_usage;
  if (type != kInt8 || stream == nullptr || root >= c->size) return invalid_argument;
  c->recorded.push_back({c, from, to, count, root, {}});
  wire()(stream, carry_out, &c->recorded.back());
  return success;
}

// Messages are queued with the last of their group, which has one of every rank to every rank, itself included.
int add_message(ncclComm* c, int peer, const Message& m, int type, void* stream) {
  if (c == nullptr || c->aborted || wire() == nullptr || groups == 0) return invalid_usage;
  if (type != kInt8 || stream == nullptr || peer < 0 || peer >= c->size) return invalid_argument;
  ncclComm::Work& group = c->group;
  group.comm = c, group.root = kMessages;
  group.messages.resize(static_cast<size_t>(c->size));
  Message& own = group.messages[static_cast<size_t>(peer)];
  if (m.from != nullptr) own.from = m.from, own.sent = m.sent;
  if (m.to != nullptr) own.to = m.to, own.received = m.received;
  group.bytes = std::max({group.bytes, m.sent, m.received});
  for (const Message& other : group.messages)
    if (other.from == nullptr || other.to == nullptr) return success;
  c->recorded.push_back(std::exchange(group, {}));
  wire()(stream, carry_out, &c->recorded.back());
  return success;
}

}  // namespace

#define NCCL extern "C" __attribute__((visibility("default")))

NCCL int ncclGetVersion(int* version) {
  const char* other = std::getenv("TESSERA_EMULATED_NCCL_VERSION");
  *version = other == nullptr ? 22809 : std::atoi(other);
  return success;
}
NCCL const char* ncclGetErrorString(int result) {
  switch (result) {
    case success: return "no error";
    case system_error: return "unhandled system error";
    case invalid_argument: return "invalid argument";
    case invalid_usage: return "invalid usage";
    case in_progress: return "NCCL operation in progress";
    default: return "unknown result code";
  }
}
NCCL int ncclGetUniqueId(UniqueId* id) {
  *id = {};
  const char* folder = std::getenv("TMPDIR");
  std::snprintf(id->bytes, sizeof id->bytes, "%s/emulated-nccl-XXXXXX", folder == nullptr ? "/tmp" : folder);
  const int file = mkstemp(id->bytes);
  if (file < 0) return system_error;
  const bool sized = ftruncate(file, sizeof(World)) == 0;
  close(file);
  return sized ? success : system_error;
}
NCCL int ncclCommInitRankConfig(ncclComm** comm, int size, UniqueId id, int rank, Config* config) {
  if (config->magic != 0xcafebeef || config->blocking != 0 || size > kMaxRanks) return invalid_argument;
  const int file = open(id.bytes, O_RDWR);
  if (file < 0) return system_error;
  void* memory = mmap(nullptr, sizeof(World), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return system_error;
  auto* c = new ncclComm;
  c->world = static_cast<World*>(memory);
  c->rank = rank, c->size = size, c->file = id.bytes;
  ++c->world->joined;
  *comm = c;
  return in_progress;
}
NCCL int ncclCommGetAsyncError(ncclComm* c, int* result) {
  const int failed = c->world->failed;
  *result = failed != 0 ? failed : c->world->joined < c->size ? in_progress : success;
  if (*result == success && c->rank == 0) (void)unlink(c->file.c_str());  // all have opened it
  return success;
}
// What hangs on the device ends; the memory stays, since recorded graphs may still refer to it.
NCCL int ncclCommAbort(ncclComm* c) {
  c->aborted = true;
  (void)unlink(c->file.c_str());
  return success;
}
NCCL int ncclCommFinalize(ncclComm* c) { return c->aborted ? invalid_usage : success; }
NCCL int ncclCommDestroy(ncclComm* c) {
  if (c->aborted) return invalid_usage;
  (void)munmap(c->world, sizeof(World));
  delete c;
  return success;
}
NCCL int ncclAllGather(const void* from, void* to, size_t count, int type, ncclComm* c, void* stream) {
  return queue(c, from, to, count, type, -1, stream);
}
NCCL int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, ncclComm* c, void* stream) {
  return root < 0 ? static_cast<int>(invalid_argument) : queue(c, from, to, count, type, root, stream);
}
NCCL int ncclSend(const void* from, size_t count, int type, int peer, ncclComm* c, void* stream) {
  return add_message(c, peer, {from, nullptr, count, 0}, type, stream);
}
NCCL int ncclRecv(void* to, size_t count, int type, int peer, ncclComm* c, void* stream) {
  return add_message(c, peer, {nullptr, to, 0, count}, type, stream);
}
NCCL int ncclGroupStart() { return ++groups, success; }
NCCL int ncclGroupEnd() { return groups-- > 0 ? success : invalid_usage; }
