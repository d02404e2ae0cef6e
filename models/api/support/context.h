// The contents of a context, and the part of it that one call uses.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "tessera/tessera.h"

namespace tessera {
class Device;
}

namespace tessera::api {

// Shared by the handle and by every stream made with it, so that either may be freed first.
struct ContextState {
  tessera_context_options options{};
  std::string device = "cpu";
  std::atomic<bool> cancel{false};
  std::shared_ptr<MemoryLimit> memory;
  MemoryShare held;  // by the caller
};

// That of a live context. Throws Error(usage); Error(cancelled) if the context was cancelled.
const std::shared_ptr<ContextState>& state_of(const tessera_context* context);

// Options of a call that runs as a job.
struct JobHooks {
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(const Progress&)> on_progress;
};

// A team and a monitor for one call, or for the life of one stream. Calls do not share threads, so they may run in
// parallel.
class Call {
 public:
  explicit Call(const tessera_context* context);
  explicit Call(std::shared_ptr<ContextState> context, JobHooks hooks = {});
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Team& team() { return team_; }
  const Monitor& monitor() const { return monitor_; }
  // The device of this call: calls may run in parallel. "cuda" and "auto" are a GPU for each process of a launcher.
  // Throws Error(unsupported) if it does not support this precision; a notice reports the choice of "auto".
  std::shared_ptr<Device> device(const std::string& precision);
  // The same for work that has no precision; null: the processor.
  Device* gpu();

 private:
  void report(const Progress& progress);

  std::shared_ptr<ContextState> context_;
  JobHooks hooks_;
  Team team_;
  Monitor monitor_;
  std::shared_ptr<Device> gpu_;
  // the current phase, for the log: the end of the previous one
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace tessera::api

// for tessera_context_cancel(), which a signal handler may call and which cannot look up handles
constexpr uint64_t kContextMagic = 0x7478657463736574;

struct tessera_context {
  explicit tessera_context(std::shared_ptr<tessera::api::ContextState> s) : state(std::move(s)) {}
  ~tessera_context() { magic = 0; }

  // first: any other handle mistaken for a context has at least this many bytes
  volatile uint64_t magic = kContextMagic;
  std::shared_ptr<tessera::api::ContextState> state;
};
