// min_hashes: k minima of n·k hashes. 4 bytes read an element; a multiplication, an addition and a minimum a hash. The
// minima of kMinHashPadding functions stay in registers while all elements pass.
#include "kernels/cpu/arrays/table.h"

namespace tessera::TESSERA_ISA {

void min_hashes(const uint32_t* x, int64_t n, const uint32_t* factor, const uint32_t* offset, int64_t count,
                uint32_t* lowest) {
  for (int64_t first = 0; first < count; first += kMinHashPadding) {
    uint32_t low[kMinHashPadding], a[kMinHashPadding], b[kMinHashPadding];
    for (int64_t k = 0; k < kMinHashPadding; ++k) low[k] = ~0u, a[k] = factor[first + k], b[k] = offset[first + k];
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t element = x[i];
#pragma GCC ivdep
      for (int64_t k = 0; k < kMinHashPadding; ++k) {
        const uint32_t hash = a[k] * element + b[k];
        low[k] = hash < low[k] ? hash : low[k];
      }
    }
    for (int64_t k = 0; k < kMinHashPadding; ++k) lowest[first + k] = low[k];
  }
}

}  // namespace tessera::TESSERA_ISA
