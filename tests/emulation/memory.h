// Device memory of the emulated machine: every allocation has guards around it, and holds NaN until it is written to.
#pragma once
#include <cstddef>
#include <string>

namespace tessera::emulation {

struct Region {
  char* begin = nullptr;
  size_t bytes = 0;
  size_t row = 0, stride = 0;  // bytes: of rows with gaps between them; 0: one contiguous row
  const char* end() const { return begin + bytes; }
  bool holds(const void* p, size_t n) const;  // all of it in a row, or rows lie one after the other
};
constexpr size_t kDeviceGuard = 256, kHostGuard = 128;

void* allocate_device(size_t bytes);  // nullptr where the device has no room left
// false: not the begin of an allocation. Throws Fault where its guards were written to
bool free_device(void* p);
Region device_region(const void* p);  // the allocation that contains p; begin == nullptr: none
// The same, its guards included; nullptr: none. Found at once where the address before it lay in the same. Valid until
// memory is allocated, freed, borrowed or given back.
const Region* region_at_or_near(const void* p);
void check_guards();  // throws Fault

// Memory of the host that stands in for an allocation while this lives, so that the race checker looks at it. It may
// lie in rows; what lies between them and kHostGuard bytes on either side are not a kernel's to touch.
class Borrowed {
 public:
  Borrowed(const void* p, size_t bytes, size_t row = 0, size_t stride = 0);
  ~Borrowed();
  Borrowed(const Borrowed&) = delete;

 private:
  const void* p_ = nullptr;
};
size_t device_bytes_in_use();

// While one lives, device memory may be touched: kernels and copies have one. AddressSanitizer reports the host's
// accesses outside.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
};

}  // namespace tessera::emulation
