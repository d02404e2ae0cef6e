// Runs one op of a case: straight through a kernel table, in memory laid out to catch mistakes, or as a plan in double.
#pragma once
#include <string>
#include <vector>

#include "engine/run/program.h"
#include "op_case.h"

namespace tessera::oracle {

// A number as a narrow type holds it, and back.
uint16_t narrow_bits(double v, DType type);
double narrow_value(uint16_t bits, DType type);

// The inputs' values, rounded to the scalar they will be read in; the same for the same case.
Grids draw_inputs(const Case& c, bool in_float);

// An op's kernel and its attributes.
Kernel kernel_of(const KernelTable& table, const Op& op, const void** attributes);
bool has_kernel(const KernelTable& table, const Op& op);
std::vector<std::string> op_names(const KernelTable& table);  // of those that it has kernels for

struct Layout {
  int64_t pad = 0;       // elements between rows
  int64_t offset = 0;    // elements before the first row: misaligned
  int order = 0;         // tiles: 0 forward, 1 backward, 2 shuffled
  int64_t multiple = 1;  // rows start at multiples of this many elements
};

struct Ran {
  std::vector<std::vector<double>> out;  // indices too
  std::string damage;                    // what was written that is not the op's to write; empty: nothing
};

// Outputs are filled with NaN before, the scratch with NaN before every tile, and the memory around all is checked
// after.
// `run` runs a tile of a call; it depends on the backend.
using RunTile = void (*)(const Kernel& kernel, const Call& call, int64_t tile, void* scratch);
inline void run_on_cpu(const Kernel& kernel, const Call& call, int64_t tile, void* scratch) {
  kernel.run(call, tile, scratch);
}
Ran run_kernel(const KernelTable& table, const Case& c, const Grids& in, Layout layout, RunTile run = run_on_cpu);

// A plan in double over a case's inputs, all bound by "x0", "x1", …; run() gives an output's elements.
class Study {
 public:
  explicit Study(const Case& c);
  Plan plan;
  Recorder r;
  std::vector<Var> in;       // of the case; empty Vars where absent
  Grids values;              // what is bound to them; change and run again
  Var weights(Shape shape);  // a bound real tensor of random values
  // a value of its own: two gradients may be one value
  void output(Var v, const std::string& name) { r.output(1.0 * v, name); }
  std::vector<double> run(const std::string& output);
  double& extra(size_t tensor, size_t element) { return extras_[tensor][element]; }
  size_t extras() const { return extras_.size(); }
  size_t extra_size(size_t tensor) const { return extras_[tensor].size(); }

 private:
  std::vector<std::vector<double>> extras_, reals_;
  std::vector<std::vector<int32_t>> indices_;
  Team team_;
  std::unique_ptr<Program> program_;
  std::mt19937_64 random_{7};
  StepState state_;
};

}  // namespace tessera::oracle
