#include "engine/comm/nccl.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/plugin/plugin.h"
#include "engine/device/device_api.h"

namespace tessera {
namespace {

// What we use of NCCL's binary interface, which has been the same since 2.14.
using NcclHandle = void*;
using Result = int;
constexpr Result kNcclSuccess = 0, kInProgress = 7;
constexpr int kInt8 = 0, kOldest = 21400;  // 10000·major + 100·minor + patch
struct UniqueId {
  char bytes[128];
};
struct Config {  // as in 2.14; newer libraries read `version`
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef, version = kOldest;
  int blocking = 0;
};

struct Nccl {
  int number = 0;
  Result (*version)(int*) = nullptr;
  Result (*unique_id)(UniqueId*) = nullptr;
  Result (*init)(NcclHandle*, int, UniqueId, int, Config*) = nullptr;
  Result (*async_error)(NcclHandle, Result*) = nullptr;
  Result (*finalize)(NcclHandle) = nullptr;
  Result (*destroy)(NcclHandle) = nullptr;
  Result (*abort)(NcclHandle) = nullptr;
  const char* (*text)(Result) = nullptr;
  Result (*all_gather)(const void*, void*, size_t, int, NcclHandle, void*) = nullptr;
  Result (*broadcast)(const void*, void*, size_t, int, int, NcclHandle, void*) = nullptr;
  Result (*send)(const void*, size_t, int, int, NcclHandle, void*) = nullptr;
  Result (*receive)(void*, size_t, int, int, NcclHandle, void*) = nullptr;
  Result (*begin_group)() = nullptr;
  Result (*end_group)() = nullptr;
};

constexpr const char* kNcclRemedy =
    "Install NCCL 2.14 or newer (libnccl2); TESSERA_NCCL names another libnccl.so. `device=cpu` needs none.";

[[noreturn]] void unusable(const std::string& why) {
  throw Error(ErrorCode::unsupported,
              fmt::format("NCCL, which connects the GPUs of ranks: {}.\n  {}", why, kNcclRemedy));
}

Nccl open_nccl() {
  std::string why;  // never closed: its threads run until the process ends
  void* library = open_library("TESSERA_NCCL", {"libnccl.so.2", "libnccl.so"}, RTLD_NOW | RTLD_LOCAL, why);
  if (library == nullptr) unusable(why);
  Nccl n;
  const auto function = [&](auto& to, const char* name) {
    to = reinterpret_cast<std::decay_t<decltype(to)>>(dlsym(library, name));
    if (to == nullptr) unusable(fmt::format("the library has no {}", name));
  };
  function(n.version, "ncclGetVersion");
  if (n.version(&n.number) != kNcclSuccess || n.number < kOldest)
    unusable(fmt::format("its version is {}.{}", n.number / 10000, n.number / 100 % 100));
  function(n.unique_id, "ncclGetUniqueId"), function(n.init, "ncclCommInitRankConfig");
  function(n.async_error, "ncclCommGetAsyncError"), function(n.finalize, "ncclCommFinalize");
  function(n.destroy, "ncclCommDestroy"), function(n.abort, "ncclCommAbort"), function(n.text, "ncclGetErrorString");
  function(n.all_gather, "ncclAllGather"), function(n.broadcast, "ncclBroadcast");
  function(n.send, "ncclSend"), function(n.receive, "ncclRecv");
  function(n.begin_group, "ncclGroupStart"), function(n.end_group, "ncclGroupEnd");
  return n;
}

const Nccl& nccl() {
  static const Nccl library = open_nccl();
  return library;
}

// Calls are non-blocking, so a rank that has ended blocks no other. A thread checks for failures until the end: kernels
// that wait for a rank that has ended stop only when their communicator is aborted.
class NcclLinks : public DeviceLinks {
 public:
  NcclLinks(const Communicator& rank, const UniqueId& id) : rank_(rank) {
    Config config;
    const Result r = nccl().init(&handle_, rank.size(), id, rank.rank(), &config);
    try {
      wait_for(r, "joining the other GPUs");
    } catch (...) {
      if (handle_ != nullptr) (void)nccl().abort(handle_);
      throw;
    }
    watcher_ = std::thread([this] { watch(); });
  }

  ~NcclLinks() override {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    watcher_.join();
    if (failure_) return;  // aborted, which frees it
    try {
      wait_for(nccl().finalize(handle_), "leaving the other GPUs");
      (void)nccl().destroy(handle_);
    } catch (const Error&) { (void)nccl().abort(handle_); }
  }

  void all_gather(const void* mine, void* all, int64_t bytes, int64_t apart, void* stream) override {
    const std::lock_guard lock(mutex_);
    if (failure_) throw Error(*failure_);
    const auto count = static_cast<size_t>(bytes);
    if (apart == bytes) {
      wait_for(nccl().all_gather(mine, all, count, kInt8, handle_, stream), "queueing an exchange");
      return;
    }
    // Rows with gaps between them: a broadcast of each rank, as one launch.
    group([&](auto&& add) {
      for (int r = 0; r < rank_.size(); ++r)
        add(nccl().broadcast(mine, static_cast<char*>(all) + r * apart, count, kInt8, r, handle_, stream));
    });
  }
  void take_parts(const void* from, int64_t total, int64_t part, void* room, void* stream) override {
    const std::lock_guard lock(mutex_);
    if (failure_) throw Error(*failure_);
    const auto own = static_cast<size_t>(owned_by(total, part, rank_.rank()));
    group([&](auto&& add) {
      for (int r = 0; r < rank_.size(); ++r) {
        add(nccl().send(static_cast<const char*>(from) + r * part, static_cast<size_t>(owned_by(total, part, r)), kInt8,
                        r, handle_, stream));
        add(nccl().receive(static_cast<char*>(room) + static_cast<size_t>(r) * own, own, kInt8, r, handle_, stream));
      }
    });
  }
  void gather_parts(void* data, int64_t total, int64_t part, void* stream) override {
    const std::lock_guard lock(mutex_);
    if (failure_) throw Error(*failure_);
    group([&](auto&& add) {
      for (int r = 0; r < rank_.size(); ++r) {
        char* at = static_cast<char*>(data) + r * part;
        add(nccl().broadcast(at, at, static_cast<size_t>(owned_by(total, part, r)), kInt8, r, handle_, stream));
      }
    });
  }

  void check() override {
    const std::lock_guard lock(mutex_);
    look();  // the last check may have been before the step's end
    if (failure_) throw Error(*failure_);
  }
  bool failed() const override {
    const std::lock_guard lock(mutex_);
    return failure_ != nullptr;
  }

 private:
  Error error_of(Result result, const char* doing) const {
    return Error(ErrorCode::io, fmt::format("{}: NCCL failed {}: {}.\n  NCCL_DEBUG=WARN says more; the last checkpoint "
                                            "continues with `resume`.",
                                            name_of_rank(rank_.rank(), rank_.size()), doing, nccl().text(result)));
  }
  // Queues everything that `calls` adds as one launch; the caller holds the lock.
  template <class Calls>
  void group(Calls&& calls) {
    must(nccl().begin_group(), "queueing an exchange");
    Result first = kNcclSuccess;
    calls([&](Result each) {
      if (first == kNcclSuccess && each != kInProgress) first = each;
    });
    wait_for(nccl().end_group(), "queueing an exchange");
    must(first, "queueing an exchange");
  }
  void must(Result result, const char* doing) const {
    if (result != kNcclSuccess) throw error_of(result, doing);
  }

  // Waits until the last call is no longer in progress.
  void wait_for(Result result, const char* doing) const {
    using Clock = std::chrono::steady_clock;
    const auto begun = Clock::now();
    while (result == kNcclSuccess || result == kInProgress) {
      if (nccl().async_error(handle_, &result) == kNcclSuccess && result == kNcclSuccess) return;
      if (result != kInProgress) break;
      if (const auto why = rank_.ended()) throw Error(*why);
      if (std::chrono::duration<double>(Clock::now() - begun).count() > rank_.patience)
        throw Error(ErrorCode::io, fmt::format("{}: no answer for {:.4g} s {}: another rank is gone, or its GPU cannot "
                                               "be reached.",
                                               name_of_rank(rank_.rank(), rank_.size()), rank_.patience, doing));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    throw error_of(result, doing);
  }

  // Aborts the communicator if a rank ended the job or NCCL failed, because the device's kernels would wait forever.
  void look() {
    if (failure_) return;
    std::optional<Error> why = rank_.ended();
    Result result = kNcclSuccess;
    if (const Result asked = nccl().async_error(handle_, &result); asked != kNcclSuccess) result = asked;
    if (!why && result != kNcclSuccess && result != kInProgress) why = error_of(result, "in an exchange");
    if (!why) return;
    failure_ = std::make_unique<Error>(*why);
    (void)nccl().abort(handle_);
  }

  void watch() {
    constexpr auto kOften = std::chrono::milliseconds(50);
    std::unique_lock lock(mutex_);
    while (!failure_ && !changed_.wait_for(lock, kOften, [&] { return ends_; })) look();
  }

  const Communicator& rank_;
  NcclHandle handle_ = nullptr;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Error> failure_;
  bool ends_ = false;
  std::thread watcher_;
};

}  // namespace

void require_nccl() { (void)nccl(); }

void link_devices(Communicator& rank, Device& device) {
  if (rank.size() == 1 || device.is_processor()) return;
  const std::vector<std::string> versions = rank.gather(std::to_string(nccl().number));
  for (int r = 1; r < rank.size(); ++r)
    if (versions[static_cast<size_t>(r)] != versions[0])
      throw Error(ErrorCode::unsupported,
                  fmt::format("{} has NCCL {}, rank 0 has {}.\n  Install one version everywhere.",
                              name_of_rank(r, rank.size()), versions[static_cast<size_t>(r)], versions[0]));
  UniqueId id{};
  if (rank.rank() == 0 && nccl().unique_id(&id) != kNcclSuccess)
    throw Error(ErrorCode::io, "NCCL: no network interface can be used.\n  NCCL_SOCKET_IFNAME names one.");
  rank.broadcast(&id, sizeof id);
  device.check(device.api().run(device.session(), nullptr, 0, nullptr));  // selects the GPU for this thread
  rank.link(std::make_unique<NcclLinks>(rank, id));
}

}  // namespace tessera
