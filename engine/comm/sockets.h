// Ranks that are processes which find one another by an address: TCP between machines, local sockets on one.
#pragma once
#include <memory>
#include <string>

#include "engine/comm/communicator.h"

namespace tessera {

// Rank `rank` of `size`, once all of them have met at `meeting`: "host:port", where rank 0 listens, or the path of a
// local socket (with a '/'), which rank 0 makes; the others add ".<rank>" for theirs. Anyone who reaches the address
// can join: it is for networks whose members are trusted. Error(usage): an address that is none, ranks that contradict
// each other; Error(io): an address in use, ranks that did not come within `patience` seconds.
std::shared_ptr<Communicator> socket_communicator(const std::string& meeting, int rank, int size, double patience);

}  // namespace tessera
