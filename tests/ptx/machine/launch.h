// A grid of a PTX kernel, from its first block to its last.
#pragma once
#include <string>

#include "emulation/machine.h"
#include "ptx/machine/module.h"

namespace tessera::ptx {

struct Wanted {
  emulation::Dim grid, block;
  uint32_t dynamic_shared = 0;
  const char* parameters = nullptr;  // as the kernel's header lays them out
  bool strict = true;                // memory that nobody allocated or lent is out of bounds
  // It may begin before the launch before it has ended: what a lane does to global memory before its wait
  // (griddepcontrol) is a fault. So the launch before can have ended in fact.
  bool early = false;
};
// Returns the instructions that the warps of one block executed, of the block that executed most. Throws
// emulation::Fault.
int64_t run(const Module& module, const Function& kernel, const Wanted& wanted);

std::string readable(const std::string& mangled);  // a kernel's name without its parameters

}  // namespace tessera::ptx
