// Ranks that are processes started by mpirun or srun. Open MPI is opened at run time: the library has no link to it.
#pragma once
#include <memory>

#include "engine/comm/communicator.h"

namespace tessera {

// The place of this process among those that a launcher started, as its environment says.
struct Launched {
  int rank = 0, size = 1;
  int local = 0;  // its number among those on this machine
  bool any() const { return size > 1; }
};
Launched launched();

// This process among all that its launcher started, once for the life of the process: MPI begins with the first call
// and ends with the process. Error(unsupported) where there is no Open MPI, Error(usage) where no launcher started it.
std::shared_ptr<Communicator> mpi_communicator();

}  // namespace tessera
