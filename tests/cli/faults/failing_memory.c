/* Loaded before the C library (LD_PRELOAD): every FAIL_AT-th allocation of the process fails. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

static long at, passed;

/* The libraries that the program starts with are loaded by then: what they allocate is not counted. */
__attribute__((constructor)) static void begin(void) {
  const char* text = getenv("FAIL_AT");
  at = text == NULL ? 0 : atol(text);
}

static int fails(void) { return at > 0 && __atomic_add_fetch(&passed, 1, __ATOMIC_RELAXED) % at == 0; }

void* malloc(size_t size) {
  static void* (*real)(size_t);
  if (real == NULL) real = (void* (*)(size_t))dlsym(RTLD_NEXT, "malloc");
  if (fails()) return errno = ENOMEM, NULL;
  return real(size);
}

void* realloc(void* block, size_t size) {
  static void* (*real)(void*, size_t);
  if (real == NULL) real = (void* (*)(void*, size_t))dlsym(RTLD_NEXT, "realloc");
  if (fails()) return errno = ENOMEM, NULL;
  return real(block, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  static void* (*real)(size_t, size_t);
  if (real == NULL) real = (void* (*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
  if (fails()) return errno = ENOMEM, NULL;
  return real(alignment, size);
}
