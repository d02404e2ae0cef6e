/* Opens and closes the library again and again, using it in between: it goes away each time, and nothing of it stays.
 *   reopen <libtessera.so> */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tessera/tessera.h"

static int is_loaded(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[4096];
  int found = 0;
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) found |= strstr(line, "libtessera") != NULL;
  if (maps != NULL) fclose(maps);
  return found;
}

/* Without those of files (what else the machine does decides which are mapped), and without what the
 * allocator keeps for threads that have ended. */
static long resident_pages(void) {
  long size = 0, resident = 0, of_files = 0;
  malloc_trim(0);
  FILE* statm = fopen("/proc/self/statm", "r");
  if (statm == NULL || fscanf(statm, "%ld %ld %ld", &size, &resident, &of_files) != 3) resident = of_files = 0;
  if (statm != NULL) fclose(statm);
  return resident - of_files;
}

static long smaller(long a, long b) { return a < b ? a : b; }

static void fail(const char* what, int round) {
  printf("round %d: %s\n", round, what);
  exit(1);
}

static void* find(void* library, const char* name, int round) {
  void* function = dlsym(library, name);
  if (function == NULL) fail(name, round);
  return function;
}

static void use(void* library, int round) {
  tessera_status (*context_new)(const tessera_context_options*, tessera_context**);
  void (*context_free)(tessera_context*);
  tessera_status (*example)(const tessera_context*, const char*, int64_t, uint64_t, struct ArrowArrayStream*);
  tessera_status (*fit)(const tessera_context*, const tessera_fit_options*, struct ArrowArrayStream*, tessera_model**);
  tessera_status (*load)(const char*, tessera_model**);
  void (*model_free)(tessera_model*);
  const char* (*last_error)(void);
  *(void**)&context_new = find(library, "tessera_context_new", round);
  *(void**)&context_free = find(library, "tessera_context_free", round);
  *(void**)&example = find(library, "tessera_example", round);
  *(void**)&fit = find(library, "tessera_fit", round);
  *(void**)&load = find(library, "tessera_model_load", round);
  *(void**)&model_free = find(library, "tessera_model_free", round);
  *(void**)&last_error = find(library, "tessera_last_error", round);

  tessera_context_options options = {.struct_size = sizeof options, .threads = 2};
  tessera_fit_options untrained = {.struct_size = sizeof untrained, .settings = "epochs=0"};
  tessera_context* context = NULL;
  tessera_model* model = NULL;
  struct ArrowArrayStream rows;
  if (context_new(&options, &context) != TESSERA_OK || example(context, NULL, 100, 1, &rows) != TESSERA_OK ||
      fit(context, &untrained, &rows, &model) != TESSERA_OK)
    fail(last_error(), round);
  model_free(model);
  if (load("/there/is/none", &model) != TESSERA_E_IO || strlen(last_error()) == 0) fail("no message", round);
  context_free(context);
}

int main(int count, char** arguments) {
  enum { kRounds = 24, kWarm = 6, kSome = 6 };
  /* The least of some rounds: what threads leave for a moment is no leak. */
  long first = LONG_MAX, last = LONG_MAX;
  int round;
  if (count != 2) return 2;
  for (round = 0; round < kRounds; ++round) {
    void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) fail(dlerror(), round);
    use(library, round);
    if (dlclose(library) != 0) fail(dlerror(), round);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (is_loaded()) fail("the library is still there after dlclose()", round);
#endif
    if (round >= kWarm && round < kWarm + kSome) first = smaller(first, resident_pages());
    if (round >= kRounds - kSome) last = smaller(last, resident_pages());
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  /* A leak of a hundredth of what a round takes would show. */
  if (last - first > (4L << 20) / sysconf(_SC_PAGESIZE)) fail("it grows", round);
#else
  (void)is_loaded;
#endif
  printf("%d rounds\n", round);
  return 0;
}
