// A window that processes of one machine and user share.
#pragma once
#include <memory>

#include "engine/comm/communicator.h"

namespace tessera {

// Collective. nullptr if a rank cannot map the memory of all others, on another machine or in another container.
std::unique_ptr<SharedWindow> window_of_processes(Communicator& rank, int64_t capacity);

}  // namespace tessera
