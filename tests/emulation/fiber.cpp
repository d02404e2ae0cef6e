#include "emulation/fiber.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <vector>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace tessera::emulation {
namespace {

// What AddressSanitizer has to know of the scheduler's stack, and of a switch.
struct Scheduler {
  void* at = nullptr;
  void* fake = nullptr;
  void* bottom = nullptr;
  size_t size = 0;
};
thread_local Scheduler scheduler;

#if defined(__SANITIZE_ADDRESS__)
void leaving(void** fake, const void* bottom, size_t size) { __sanitizer_start_switch_fiber(fake, bottom, size); }
void arrived(void* fake) { __sanitizer_finish_switch_fiber(fake, nullptr, nullptr); }
#else
void leaving(void**, const void*, size_t) {}
void arrived(void*) {}
#endif

void learn_own_stack() {
  if (scheduler.bottom != nullptr) return;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) std::abort();
  pthread_attr_getstack(&attributes, &scheduler.bottom, &scheduler.size);
  pthread_attr_destroy(&attributes);
}

class Pool {
 public:
  ~Pool() {
    for (char* s : free_) munmap(s - page_, page_ + fiber_stack_bytes());
  }
  char* take() {
    if (!free_.empty()) {
      char* s = free_.back();
      free_.pop_back();
      return s;
    }
    void* p = mmap(nullptr, page_ + fiber_stack_bytes(), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    mprotect(p, page_, PROT_NONE);
    return static_cast<char*>(p) + page_;
  }
  void give(char* s) {
#if defined(__SANITIZE_ADDRESS__)
    ASAN_UNPOISON_MEMORY_REGION(s, fiber_stack_bytes());  // frames that never returned
#endif
    free_.push_back(s);
  }

 private:
  size_t page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<char*> free_;
};
Pool pool;

}  // namespace

#if defined(__x86_64__)
extern "C" void tessera_switch_stack(void** save, void* load);
asm(R"(
.text
.type tessera_switch_stack, @function
.hidden tessera_switch_stack
.globl tessera_switch_stack
tessera_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tessera_switch_stack, .-tessera_switch_stack
)");

namespace {
void (*entry_of_new)() = nullptr;
void first() {  // on a new fiber
  arrived(nullptr);
  entry_of_new();
  std::abort();
}
void switch_to(void** save, void* load) { tessera_switch_stack(save, load); }
}  // namespace

void begin_at(Fiber& fiber, void (*entry)()) {
  entry_of_new = entry;
  void** top = reinterpret_cast<void**>(fiber.stack + fiber_stack_bytes());
  // a return address that is never used, and the alignment the ABI wants at a function's first instruction
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&first);  // where the first switch returns to
  for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
  fiber.at = top;
  fiber.fake = nullptr;
}
#else
// The portable way; some twenty times slower, as each switch asks the system for its signal mask.
namespace {
void (*entry_of_new)() = nullptr;
void first() {
  arrived(nullptr);
  entry_of_new();
  std::abort();
}
void switch_to(void** save, void* load) {
  ucontext_t here;
  *save = &here;
  swapcontext(&here, static_cast<ucontext_t*>(load));
}
}  // namespace

void begin_at(Fiber& fiber, void (*entry)()) {
  entry_of_new = entry;
  auto* context = reinterpret_cast<ucontext_t*>(fiber.stack);  // at the far end of the stack
  getcontext(context);
  context->uc_stack.ss_sp = fiber.stack + sizeof(ucontext_t);
  context->uc_stack.ss_size = fiber_stack_bytes() - sizeof(ucontext_t);
  makecontext(context, first, 0);
  fiber.at = context;
  fiber.fake = nullptr;
}
#endif

Fiber take_fiber() {
  Fiber f;
  f.stack = pool.take();
  return f;
}
void give_fiber(Fiber& fiber) {
  if (fiber.stack != nullptr) pool.give(fiber.stack);
  fiber = {};
}

void resume(Fiber& fiber) {
  learn_own_stack();
  leaving(&scheduler.fake, fiber.stack, fiber_stack_bytes());
  switch_to(&scheduler.at, fiber.at);
  arrived(scheduler.fake);
}

void yield(Fiber& fiber) {
  leaving(&fiber.fake, scheduler.bottom, scheduler.size);
  switch_to(&fiber.at, scheduler.at);
  arrived(fiber.fake);
}

void leave(Fiber& fiber) {
  leaving(nullptr, scheduler.bottom, scheduler.size);
  switch_to(&fiber.at, scheduler.at);
  std::abort();
}

}  // namespace tessera::emulation
