// The device on which the float half of a test runs: defined by each test program.
#pragma once
#include "engine/device/device.h"

namespace tessera {
Device& float_device();
}
