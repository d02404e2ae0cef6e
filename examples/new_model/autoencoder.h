#pragma once
#include "models/method/config.h"

namespace tessera {
extern const MethodSpec kAutoencoder;
}
