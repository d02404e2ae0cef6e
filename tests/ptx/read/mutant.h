// Bugs that are planted into PTX before it is read, one at a time.
#pragma once
#include <string>

namespace tessera::ptx {

// TESSERA_PTX_WITHOUT=KERNEL:OPCODE:N in the environment leaves out the N-th instruction (from 0) whose opcode begins
// with OPCODE, in the first function whose mangled name contains KERNEL: a barrier, a wait.
std::string mutated(const std::string& text);

}  // namespace tessera::ptx
