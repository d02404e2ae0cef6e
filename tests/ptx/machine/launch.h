// A grid of a PTX kernel, from its first block to its last.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "emulation/machine.h"
#include "ptx/machine/module.h"

namespace tessera::ptx {

struct Wanted {
  emulation::Dim grid, block;
  uint32_t dynamic_shared = 0;
  const char* parameters = nullptr;  // as the kernel's header lays them out
  bool strict = true;                // memory that nobody allocated or lent is out of bounds
  // It may begin before the launch before it has ended, so every lane waits for that (griddepcontrol.wait).
  bool early = false;
  unsigned cluster = 1;  // consecutive blocks that run together
};

// A launch, to be executed once or often. Throws emulation::Fault.
class Launch {
 public:
  Launch(const Module& module, const Function& kernel, const Wanted& wanted);
  ~Launch();
  Launch(const Launch&) = delete;
  // Of an early launch, what all its blocks do before they wait for the launch before. That one runs between this and
  // run(): the earliest that hardware could begin.
  void begin();
  // The rest, or all if it has not begun. Returns the instructions that the warps of one block executed, of the block
  // that executed most.
  int64_t run();

 private:
  struct Grid;
  std::unique_ptr<Grid> grid_;
};
int64_t run(const Module& module, const Function& kernel, const Wanted& wanted);

std::string readable(const std::string& mangled);  // a kernel's name without its parameters

}  // namespace tessera::ptx
