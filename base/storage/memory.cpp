#include "base/storage/memory.h"

#include <string>

#include "base/error.h"

namespace tessera {
namespace {

std::string megabytes(int64_t bytes) {
  if (bytes < 1'000'000) return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  const int64_t tenths = bytes / 100'000 + (bytes % 100'000 > 0 ? 1 : 0);
  return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " MB";
}

}  // namespace

void MemoryLimit::take(int64_t bytes, const char* what) {
  const int64_t before = held_.fetch_add(bytes, std::memory_order_relaxed);
  if (limit_ == 0 || before + bytes <= limit_) return;
  give_back(bytes);
  throw Error(ErrorCode::memory, "The memory limit of " + megabytes(limit_) + " does not leave " + megabytes(bytes) +
                                     " for " + what + ": " + megabytes(before) +
                                     " are in use.\n  Raise `memory_limit`, or use fewer rows or "
                                     "columns, or a smaller `batch_size`.");
}

}  // namespace tessera
