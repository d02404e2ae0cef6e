// Where the float half of a test runs: each program of tests says.
#pragma once
#include "engine/device/device.h"

namespace tessera {
Device& float_device();
}
