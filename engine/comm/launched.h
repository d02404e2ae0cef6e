// Ranks that are processes of a launcher: its environment variables, and how the ranks connect.
#pragma once
#include <memory>
#include <string>

#include "engine/comm/communicator.h"

namespace tessera {

// This process among those that a launcher started, according to its environment.
struct Launched {
  int rank = 0, size = 1;
  int local = 0;        // its number among those on this machine
  std::string meeting;  // where they meet without MPI: "host:port", or the path of a local socket; "": by MPI
  std::string fault;    // what is wrong with the variables; "": nothing
  bool any() const { return size > 1; }
};
// Open MPI's and Slurm's variables; TESSERA_RANK, TESSERA_WORLD_SIZE and TESSERA_RENDEZVOUS; RANK, WORLD_SIZE,
// MASTER_ADDR and MASTER_PORT as torchrun sets them: the first set of these that exists.
Launched launched();
Launched sound_launch();  // the same; throws Error(usage) for a fault

// This process among all that its launcher started, once for the life of the process. Error(usage): no launcher
// started it, or its variables contradict each other; Error(unsupported): there is no Open MPI; Error(io): the others
// cannot be reached.
std::shared_ptr<Communicator> launched_communicator();

}  // namespace tessera
