#include "support/float_device.h"

#include "emulated_device.h"

namespace tessera {
Device& float_device() { return emulated_device(); }
}  // namespace tessera
