// Ranks that are processes connected through an address: TCP between machines, local sockets on one machine.
#pragma once
#include <memory>
#include <string>

#include "engine/comm/communicator.h"

namespace tessera {

// Rank `rank` of `size`, once all of them have met at `meeting`: "host:port", where rank 0 listens, or the path of a
// local socket (with a '/'), which rank 0 creates; the others append ".<rank>" for theirs. Anyone who reaches the
// address can join: use it in trusted networks only. Error(usage): an invalid address, ranks that contradict each
// other; Error(io): an address in use, ranks that did not connect within `patience` seconds.
std::shared_ptr<Communicator> socket_communicator(const std::string& meeting, int rank, int size, double patience);

}  // namespace tessera
