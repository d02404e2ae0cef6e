// The memory of this process and of the machine.
#include "base/storage/process_memory.h"

#include "models/api/support/guard.h"

tessera_status tessera_process_memory(int64_t* resident, int64_t* peak, int64_t* available) {
  return tessera::api::guarded([&] {
    const tessera::ProcessMemory m = tessera::process_memory();
    if (resident != nullptr) *resident = m.resident;
    if (peak != nullptr) *peak = m.peak;
    if (available != nullptr) *available = m.available;
  });
}
