// PTX text as the machine executes it: decoded instructions, and where registers, parameters and arrays lie.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tessera::ptx {

class Warp;
struct WarpsKept;
using Mask = uint32_t;  // of a warp's lanes
constexpr int kLanes = 32;
constexpr Mask kAll = 0xFFFFFFFFu;

// What a program cannot be read for: the line, what stands there, and why. Thrown before anything runs.
class Unreadable : public std::runtime_error {
 public:
  Unreadable(int line, const std::string& text, const std::string& why)
      : std::runtime_error("PTX line " + std::to_string(line) + ": " + why + ": " + text) {}
};

// Who sees the bytes of an address. `call` are the parameters of device functions, which a lane has for itself.
enum class Space : uint8_t { generic, global, shared, local, parameter, call, cluster };
// A generic address names its space in its upper byte; those of the host, which global ones are, have none.
constexpr uint64_t window_of(Space s) { return s == Space::global ? 0 : (0x70ull + static_cast<uint64_t>(s)) << 56; }
constexpr Space space_of(uint64_t address) {
  return address >> 60 == 7 ? static_cast<Space>(address >> 56 & 15) : Space::global;
}
constexpr uint32_t kDynamicShared =
    1u << 24;  // where a block's dynamic shared memory begins, behind every static array
// A shared address of block r of a cluster has r + 1 in its upper bits.
constexpr uint32_t kRankShift = 26;

// What follows an instruction: the next one, or something that the warp decides (warp.cpp).
enum class Flow : uint8_t { next, branch, call, leave, block_barrier, cluster_barrier, launch_before, whole_mask };

constexpr uint32_t kConstant = 1u << 31;    // of an operand: it lies in the constants of the module, not in registers
constexpr uint32_t kNowhere = 0x7FFFFFFFu;  // a target that is thrown away
constexpr int kOperands = 14;               // of the longest, mma

struct Instruction {
  void (*run)(Warp&, const Instruction&, Mask) = nullptr;
  Flow flow = Flow::next;
  bool unless = false;       // the guard is negated
  bool uniform = false;      // bra.uni, call.uni
  bool is_volatile = false;  // ld.volatile
  uint8_t count = 1;         // elements of a vector access
  Space space = Space::generic;
  uint8_t width[kOperands] = {};     // bytes of each register operand
  uint32_t guard = 0;                // a predicate; 0: always
  uint32_t operand[kOperands] = {};  // byte offsets of 32 values each, or numbers of predicates
  int64_t offset = 0;                // of an address
  int64_t source_offset = 0;         // of the second address of cp.async
  uint32_t target = 0;               // of a branch or call
  uint32_t member_mask = kNowhere;   // the operand of a collective that says which lanes take part; nowhere: all
  int line = 0;
};

struct Array {  // of shared memory
  uint32_t offset = 0, bytes = 0, alignment = 1;
};

struct Function {
  std::string name;
  bool entry = false;
  uint32_t begin = 0;                                     // its first instruction
  std::vector<std::pair<uint32_t, uint32_t>> parameters;  // offset, bytes
  uint32_t parameters_total = 0;
  unsigned max_threads = 1024;  // .maxntid
  std::vector<Array> shared;    // what it, or a function it may call, reads and writes
};

struct Module {
  std::vector<Instruction> code;
  std::vector<std::string> lines;
  std::map<std::string, Function> functions;
  std::vector<std::vector<char>> globals;  // .global arrays with their values
  std::vector<uint64_t> constants;         // 32 copies of each immediate
  uint32_t register_bytes = 0, predicates = 0, local_bytes = 0, call_bytes = 0;
  int target = 0;                            // 80 of sm_80
  mutable std::shared_ptr<WarpsKept> warps;  // of earlier launches, with their registers (launch.cpp)
};

// Throws Unreadable.
Module read_module(const std::string& text);

// The handler of a typed opcode ("fma.rn.f32") whose operands are registers and immediates; nullptr: not known.
using Handler = void (*)(Warp&, const Instruction&, Mask);
Handler arithmetic(const std::string& opcode);  // integer.cpp, floating.cpp
Handler conversion(const std::string& opcode);
Handler collective(const std::string& opcode);        // among a warp's lanes: collectives.cpp
Handler access(bool store, const std::string& type);  // memory.cpp
Handler asynchronous(const std::string& opcode);      // cp.async, griddepcontrol
Handler of_cluster(const std::string& opcode);        // mapa, barrier.cluster
Handler matrices(const std::string& opcode);          // ldmatrix
int bytes_of(const std::string& type);                // of f32: 4; 0: a predicate; −1: no type

// The predicates that are always there.
constexpr uint32_t kNever = 1, kAlways = 2;
// Registers that hold %tid.x and the like, 4 bytes a lane, at the beginning of the file.
extern const std::vector<std::string> kSpecial;

}  // namespace tessera::ptx
