#include "engine/comm/mpi.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/plugin/plugin.h"
#include "engine/comm/process_window.h"
#include "engine/comm/waiting.h"

namespace tessera {
namespace {

// What we use of Open MPI's binary interface: handles are pointers to objects that the library exports.
using Handle = void*;
constexpr int kSerialized = 2, kSuccess = 0, kTag = 0x7e55, kAnyRank = -1;
// Counts are ints.
constexpr int64_t kMaxBytes = int64_t{1} << 30;

struct Mpi {
  int (*init)(int*, char***, int, int*) = nullptr;
  int (*finalize)() = nullptr;
  int (*rank)(Handle, int*) = nullptr;
  int (*size)(Handle, int*) = nullptr;
  int (*isend)(const void*, int, Handle, int, int, Handle, Handle*) = nullptr;
  int (*irecv)(void*, int, Handle, int, int, Handle, Handle*) = nullptr;
  int (*test)(Handle*, int*, void*) = nullptr;
  int (*probe)(int, int, Handle, int*, void*) = nullptr;
  int (*abort)(Handle, int) = nullptr;
  int (*set_errors)(Handle, Handle) = nullptr;
  Handle world = nullptr, byte = nullptr, errors_return = nullptr;
};

constexpr const char* kRemedy =
    "Install Open MPI (Debian: openmpi-bin); TESSERA_MPI names another libmpi.so. `devices` needs none.";

Mpi open_mpi() {
  std::string why;
  // Open MPI's plugins look up its functions by name. Never closed: it runs until the process ends.
  void* library = open_library("TESSERA_MPI", {"libmpi.so.40", "libmpi.so"}, RTLD_NOW | RTLD_GLOBAL, why);
  if (library == nullptr) throw Error(ErrorCode::unsupported, fmt::format("MPI: {}.\n  {}", why, kRemedy));
  const auto symbol = [&](const char* name) {
    void* found = dlsym(library, name);
    if (found == nullptr)
      throw Error(
          ErrorCode::unsupported,
          fmt::format("MPI: the library has no {}; only the interface of Open MPI is known.\n  {}", name, kRemedy));
    return found;
  };
  Mpi m;
  const auto function = [&](auto& to, const char* name) {
    to = reinterpret_cast<std::decay_t<decltype(to)>>(symbol(name));
  };
  m.world = symbol("ompi_mpi_comm_world"), m.byte = symbol("ompi_mpi_byte"),
  m.errors_return = symbol("ompi_mpi_errors_return");
  function(m.init, "MPI_Init_thread"), function(m.finalize, "MPI_Finalize");
  function(m.rank, "MPI_Comm_rank"), function(m.size, "MPI_Comm_size");
  function(m.isend, "MPI_Isend"), function(m.irecv, "MPI_Irecv"), function(m.test, "MPI_Test");
  function(m.probe, "MPI_Iprobe");
  function(m.abort, "MPI_Abort"), function(m.set_errors, "MPI_Comm_set_errhandler");
  return m;
}

// Messages in flight, and their other ranks.
struct Request {
  Handle handle;
  int other;
};

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(const Mpi& mpi, int rank, int size) : Communicator(rank, size), mpi_(mpi), process_(::getpid()) {}
  ~MpiCommunicator() override {
    // MPI_Finalize waits for all ranks: it is not called after a failure, nor in a child of fork().
    if (!failed_ && process_ == ::getpid()) (void)mpi_.finalize();
  }
  const char* transport() const override { return "MPI"; }

  void abort(const Error& why) noexcept override {
    failed_ = true;
    std::fprintf(stderr, "tessera: %s\n", why.what());
    (void)mpi_.abort(mpi_.world, 1);
  }
  void give_up() noexcept override { failed_ = true; }

 private:
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    std::vector<Request> requests;
    const auto each = [&](int64_t bytes, auto&& start) {
      for (int64_t at = 0; at < bytes; at += kMaxBytes) start(at, static_cast<int>(std::min(bytes - at, kMaxBytes)));
    };
    for (const Incoming& i : in)
      each(i.bytes, [&](int64_t at, int n) {
        requests.push_back({nullptr, i.from});
        must(mpi_.irecv(static_cast<char*>(i.data) + at, n, mpi_.byte, i.from, kTag, mpi_.world,
                        &requests.back().handle),
             i.from);
      });
    for (const Outgoing& o : out)
      each(o.bytes, [&](int64_t at, int n) {
        requests.push_back({nullptr, o.to});
        must(mpi_.isend(static_cast<const char*>(o.data) + at, n, mpi_.byte, o.to, kTag, mpi_.world,
                        &requests.back().handle),
             o.to);
      });
    wait(requests);
  }

  void wait(std::vector<Request>& requests) {
    for (Waiting waiting;;) {
      std::erase_if(requests, [&](Request& r) {
        int done = 0;
        must(mpi_.test(&r.handle, &done, nullptr), r.other);
        return done != 0;
      });
      if (requests.empty()) return;
      if (waiting.turn() > patience) {
        failed_ = true;
        throw no_answer(requests.front().other);
      }
    }
  }

  std::unique_ptr<SharedWindow> open_window(int64_t capacity) override { return window_of_processes(*this, capacity); }
  // Earlier sends may still be in flight: they progress only while one of MPI's functions is called.
  void look_around() override {
    int there = 0;
    (void)mpi_.probe(kAnyRank, kTag, mpi_.world, &there, nullptr);
  }

  void must(int status, int other) {
    if (status == kSuccess) return;
    failed_ = true;
    throw Error(ErrorCode::io,
                fmt::format("{} cannot be reached (MPI error {}); the job ends.", name_of_rank(other, size()), status));
  }

  const Mpi mpi_;
  const pid_t process_;
  bool failed_ = false;
};

}  // namespace

std::shared_ptr<Communicator> mpi_communicator() {
  const Mpi m = open_mpi();
  int level = 0, rank = 0, size = 1;
  if (m.init(nullptr, nullptr, kSerialized, &level) != kSuccess || level < kSerialized)
    throw Error(ErrorCode::unsupported, "MPI cannot be used by several threads of a process here.\n  Use `devices`.");
  (void)m.set_errors(m.world, m.errors_return);
  (void)m.rank(m.world, &rank), (void)m.size(m.world, &size);
  return std::make_shared<MpiCommunicator>(m, rank, size);
}

}  // namespace tessera
