/* Loaded before the C library (LD_PRELOAD): what is done to files of one folder fails as on a failing disk.
 *   FAIL_FOLDER  the folder      FAIL_CALL  write, fsync, posix_fallocate, or damage: a model is written with one
 *                letter changed      FAIL_ERROR  a number of errno.h      FAIL_AFTER  bytes that writing takes before
 *                (0) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long long written;

static int fails(const char* call, int file, size_t bytes) {
  const char *folder = getenv("FAIL_FOLDER"), *which = getenv("FAIL_CALL"), *after = getenv("FAIL_AFTER");
  char link[64], path[PATH_MAX];
  if (folder == NULL || which == NULL || strcmp(which, call) != 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0 || strncmp(path, folder, strlen(folder)) != 0) return 0;
  written += (long long)bytes;
  return written > (after == NULL ? 0 : atoll(after));
}

static int error(void) { return atoi(getenv("FAIL_ERROR")); }

ssize_t write(int file, const void* bytes, size_t count) {
  static ssize_t (*real)(int, const void*, size_t);
  if (real == NULL) real = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  const char word[] = "provenance",
             *at = fails("damage", file, count) ? memmem(bytes, count, word, sizeof word - 1) : NULL;
  if (at != NULL) {
    char* copy = malloc(count);
    memcpy(copy, bytes, count);
    copy[at - (const char*)bytes] = 'x';
    const ssize_t out = real(file, copy, count);
    free(copy);
    return out;
  }
  if (!fails("write", file, count)) return real(file, bytes, count);
  errno = error();
  return -1;
}

int fsync(int file) {
  static int (*real)(int);
  if (real == NULL) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  if (!fails("fsync", file, 1)) return real(file);
  errno = error();
  return -1;
}

int posix_fallocate(int file, off_t offset, off_t length) {
  static int (*real)(int, off_t, off_t);
  if (real == NULL) real = (int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate");
  return fails("posix_fallocate", file, (size_t)length) ? error() : real(file, offset, length);
}
