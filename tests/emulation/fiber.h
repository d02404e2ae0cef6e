// A fiber: its own stack and the position where it stopped. One scheduler (the thread that calls resume) and any number
// of fibers that yield back to it.
#pragma once
#include <cstddef>

namespace tessera::emulation {

struct Fiber {
  void* at = nullptr;     // its stack pointer while it is stopped
  char* stack = nullptr;  // lowest usable address; a page below it is not mapped
  void* fake = nullptr;   // of AddressSanitizer
};

constexpr size_t fiber_stack_bytes() {
#if defined(__SANITIZE_ADDRESS__)
  return 256 * 1024;
#else
  return 64 * 1024;
#endif
}

// From a pool, so that a launch of a million threads maps as many stacks as are alive at once.
Fiber take_fiber();
void give_fiber(Fiber& fiber);  // also one that will never be resumed

// the next resume calls entry(), which must never return: it ends with leave()
void begin_at(Fiber& fiber, void (*entry)());
void resume(Fiber& fiber);              // runs it until it yields or leaves
void yield(Fiber& fiber);               // called on the fiber
[[noreturn]] void leave(Fiber& fiber);  // called on the fiber, for the last time

}  // namespace tessera::emulation
