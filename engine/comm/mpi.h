// Ranks that are processes started by mpirun or srun. Open MPI is opened at run time: the library has no link to it.
#pragma once
#include <memory>

#include "engine/comm/communicator.h"

namespace tessera {

// This process among all that its launcher started; to be called once: MPI is initialised by the call and finalised
// with the communicator. Throws Error(unsupported) without Open MPI.
std::shared_ptr<Communicator> mpi_communicator();

}  // namespace tessera
