// Wires between the GPUs of ranks: NVIDIA's NCCL, opened at run time: the library has no link to it. Ranks meet over
// their host's transport (threads or MPI); NCCL moves only the data that steps exchange.
#pragma once
#include "engine/comm/communicator.h"
#include "engine/device/device.h"

namespace tessera {

// Throws Error(unsupported) if NCCL cannot be opened or is too old; call it before any work.
void require_nccl();

// Every rank of `rank` calls it, each with its own GPU: from then on steps on these devices exchange over NCCL, until
// rank.link(nullptr). Does nothing for the processor and for one rank. The device outlives the link; steps recorded
// with it do not. Error(io) names the rank that could not join.
void link_devices(Communicator& rank, Device& device);

}  // namespace tessera
