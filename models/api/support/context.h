// What a context holds, and what one call takes from it.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "engine/run/monitor.h"
#include "engine/run/team.h"
#include "tessera/tessera.h"

namespace tessera {
class Device;
}

namespace tessera::api {

// Shared by the handle and by every stream made with it, so that either may go first.
struct ContextState {
  tessera_context_options options{};
  std::string device = "cpu";
  std::atomic<bool> cancel{false};
  std::shared_ptr<MemoryLimit> memory;
};

// That of a live context. Throws Error(usage); Error(cancelled) where the context was cancelled.
const std::shared_ptr<ContextState>& state_of(const tessera_context* context);

// What a job wants of the call that it is.
struct JobHooks {
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(const Progress&)> on_progress;
};

// A team and a monitor for one call, or for the life of one stream. Calls do not share threads, so they may run side by
// side.
class Call {
 public:
  explicit Call(const tessera_context* context);
  explicit Call(std::shared_ptr<ContextState> context, JobHooks hooks = {});
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Team& team() { return team_; }
  const Monitor& monitor() const { return monitor_; }
  // A device of this call's own: calls may run side by side.
  std::shared_ptr<Device> device() const;

 private:
  void report(const Progress& progress);

  std::shared_ptr<ContextState> context_;
  JobHooks hooks_;
  Team team_;
  Monitor monitor_;
  // the phase that runs, for the log: where the one before ended
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace tessera::api

// for tessera_context_cancel(), which a signal handler may call and which can look nothing up
constexpr uint64_t kContextMagic = 0x7478657463736574;

struct tessera_context {
  explicit tessera_context(std::shared_ptr<tessera::api::ContextState> s) : state(std::move(s)) {}
  ~tessera_context() { magic = 0; }

  // first: whatever other handle is taken for a context has as many bytes there
  volatile uint64_t magic = kContextMagic;
  std::shared_ptr<tessera::api::ContextState> state;
};
