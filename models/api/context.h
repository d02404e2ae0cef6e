// What a context holds, and what one call takes from it.
#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "engine/monitor.h"
#include "engine/team.h"
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
};

// A team and a monitor for one call, or for the life of one stream. Calls do not share threads, so they may run side by side.
class Call {
 public:
  explicit Call(const tessera_context* context);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Team& team() { return team_; }
  const Monitor& monitor() const { return monitor_; }
  // A device of this call's own: calls may run side by side.
  std::shared_ptr<Device> device() const;

 private:
  void report(const Progress& progress);

  std::shared_ptr<ContextState> context_;
  Team team_;
  Monitor monitor_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();  // the phase that runs, for the log: where the one before ended
};

}  // namespace tessera::api

struct tessera_context {
  std::shared_ptr<tessera::api::ContextState> state;
};
