// Bugs that are planted into PTX before it is read, one at a time.
#pragma once
#include <string>

namespace tessera::ptx {

// TESSERA_PTX_BUG=KERNEL:OPCODE:N:INSTEAD in the environment changes the N-th instruction (from 0) that begins with
// OPCODE, in the first function whose mangled name contains KERNEL: it then begins with INSTEAD ("@%p" and "@!%p" turn
// a guard, "setp.lt" and "setp.le" move a bound). Without INSTEAD it is left out: a barrier, a wait.
std::string mutated(const std::string& text);

}  // namespace tessera::ptx
