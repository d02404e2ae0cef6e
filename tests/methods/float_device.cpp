#include "support/float_device.h"

namespace tessera {
Device& float_device() { return Device::processor(); }
}  // namespace tessera
