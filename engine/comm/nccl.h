// Wires between the GPUs of ranks: NVIDIA's NCCL, opened at run time: the library has no link to it. Ranks meet over
// their host's transport (threads or MPI); NCCL moves only what steps exchange.
#pragma once
#include "engine/comm/communicator.h"
#include "engine/device/device.h"

namespace tessera {

// Error(unsupported) where NCCL cannot be opened or is too old: to be said before any work.
void require_nccl();

// Every rank of `rank` calls it, each with its own GPU: from then on steps on these devices exchange over NCCL, until
// rank.link(nullptr). Nothing to do for the processor and for one rank. The device outlives the link, and what was
// recorded on it does not. Error(io) names the rank that could not join.
void link_devices(Communicator& rank, Device& device);

}  // namespace tessera
