// The live handles. A pointer is looked up before it is dereferenced, so that a freed handle, one of another kind or an
// arbitrary pointer gives a message instead of a crash.
#pragma once
#include <string>
#include <type_traits>

#include "models/api/support/guard.h"

struct tessera_context;
struct tessera_model;
struct tessera_job;

namespace tessera::api {

enum class HandleKind { none, context, model, job, prior_table };

template <class T>
constexpr HandleKind kind_of = HandleKind::none;
template <>
inline constexpr HandleKind kind_of<tessera_context> = HandleKind::context;
template <>
inline constexpr HandleKind kind_of<tessera_model> = HandleKind::model;
template <>
inline constexpr HandleKind kind_of<tessera_job> = HandleKind::job;

void note_handle(const void* handle, HandleKind kind);  // if it throws bad_alloc, the handle is not recorded
bool forget_handle(const void* handle, HandleKind kind) noexcept;
HandleKind kind_of_handle(const void* handle) noexcept;  // none: not a live handle

[[noreturn]] void fail_handle(const char* name, HandleKind wanted, HandleKind found);

// A required handle. Throws Error(usage) with its name in the header.
template <class T>
T& live(T* handle, const char* name) {
  required(handle, name);
  constexpr HandleKind wanted = kind_of<std::remove_const_t<T>>;
  if (const HandleKind found = kind_of_handle(handle); found != wanted) fail_handle(name, wanted, found);
  return *handle;
}

// Registers a new handle for the caller.
template <class T>
T* give_handle(T* made) {
  try {
    note_handle(made, kind_of<T>);
  } catch (...) {
    delete made;
    throw;
  }
  return made;
}

// The body of the …_free functions. Anything except a live handle is not accessed; tessera_last_error() reports it.
template <class T>
void free_handle(T* handle, const char* name) noexcept {
  if (handle == nullptr) return;
  (void)guarded([&] {
    if (!forget_handle(handle, kind_of<T>)) fail_handle(name, kind_of<T>, kind_of_handle(handle));
    delete handle;
  });
}

}  // namespace tessera::api
