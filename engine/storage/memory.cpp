#include "engine/storage/memory.h"

#include <string>

#include "engine/error.h"

namespace tessera {
namespace {

std::string mebibytes(int64_t bytes) {
  const int64_t tenths = (bytes * 10 + (1 << 20) - 1) >> 20;
  return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " MiB";
}

}  // namespace

void MemoryLimit::take(int64_t bytes, const char* what) {
  const int64_t before = held_.fetch_add(bytes, std::memory_order_relaxed);
  if (limit_ == 0 || before + bytes <= limit_) return;
  give_back(bytes);
  throw Error(ErrorCode::memory, "The memory limit of " + mebibytes(limit_) + " has no room for " + mebibytes(bytes) +
                                     " of " + what + ": " + mebibytes(before) +
                                     " are in use.\n  Raise memory_limit (--memory-limit), or use fewer rows or "
                                     "columns, or a smaller --batch-size.");
}

}  // namespace tessera
