#include "models/api/support/handles.h"

#include <pthread.h>

#include <mutex>
#include <unordered_map>
#include <utility>

namespace tessera::api {
namespace {

using Handles = std::unordered_map<const void*, HandleKind>;

// Without a destructor: handles may be freed while the process ends, after static objects are destroyed. The map is
// freed with the last handle, so that closing the library leaks nothing.
constinit std::mutex mutex;
constinit Handles* handles = nullptr;

// A thread of the parent may hold the mutex during a fork(): the child gets a free one.
void survive_fork() {
  static const int once = ::pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
  (void)once;
}

const char* noun(HandleKind kind) {
  return kind == HandleKind::context       ? "context"
         : kind == HandleKind::model       ? "model"
         : kind == HandleKind::job         ? "job"
         : kind == HandleKind::prior_table ? "prior table"
                                           : "handle";
}

}  // namespace

void note_handle(const void* handle, HandleKind kind) {
  survive_fork();
  const std::lock_guard lock(mutex);
  if (handles == nullptr) handles = new Handles;
  (*handles)[handle] = kind;
}

bool forget_handle(const void* handle, HandleKind kind) noexcept {
  const std::lock_guard lock(mutex);
  if (handles == nullptr) return false;
  const auto at = handles->find(handle);
  if (at == handles->end() || at->second != kind) return false;
  handles->erase(at);
  if (handles->empty()) delete std::exchange(handles, nullptr);
  return true;
}

HandleKind kind_of_handle(const void* handle) noexcept {
  const std::lock_guard lock(mutex);
  if (handles == nullptr) return HandleKind::none;
  const auto at = handles->find(handle);
  return at == handles->end() ? HandleKind::none : at->second;
}

void fail_handle(const char* name, HandleKind wanted, HandleKind found) {
  const std::string head = std::string("The argument ") + name + " is no " + noun(wanted) + ": it is ";
  if (found != HandleKind::none) throw Error(ErrorCode::usage, head + "a " + noun(found) + ".");
  throw Error(ErrorCode::usage,
              head + "not a live handle of this library. It was freed already, or never came from it.");
}

}  // namespace tessera::api
