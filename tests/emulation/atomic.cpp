#include "emulation/block.h"
#include "emulation/gpu.h"

namespace tessera {

namespace emulation {
AtomicScope::AtomicScope(const void*, size_t) {
  if (watcher != nullptr) watcher->atomic(true);
}
AtomicScope::~AtomicScope() {
  if (watcher != nullptr) watcher->atomic(false);
}
}  // namespace emulation

}  // namespace tessera
