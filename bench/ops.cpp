// Every op from its test cases (tests/ops/op_case.h), with the kernels of this CPU on one thread: the time of a call,
// its rates by the op's cost (engine/plan/op_rules.h), and the floor of these bytes and FLOPs on this machine. For each
// op the case that moves the most bytes.
//   bench_ops            all ops
//   bench_ops NAME       every case of one op
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "engine/run/program.h"
#include "engine/run/roofline.h"
#include "ops/op_run.h"

namespace tessera::oracle {
namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A case's op over contiguous memory.
class Bound {
 public:
  explicit Bound(const Case& c) {
    const Grids in = draw_inputs(c, true);
    Plan plan;
    std::vector<Id> ids;
    for (size_t i = 0; i < c.in.size(); ++i) {
      const Input& x = c.in[i];
      ids.push_back(x.absent ? kNone : plan.leaf(Leaf::bound, std::to_string(i), x.shape, x.dtype));
      views_.push_back(x.absent ? View{} : room(x.shape));
      for (size_t k = 0; k < in[i].cells.size() && !x.absent; ++k) {
        if (x.dtype == DType::index)
          static_cast<int32_t*>(views_.back().data)[k] = static_cast<int32_t>(in[i].cells[k].v);
        else static_cast<float*>(views_.back().data)[k] = static_cast<float>(in[i].cells[k].v);
      }
    }
    const std::vector<Id> out = plan.emit(c.op, ids);
    for (size_t k = 0; k < out.size(); ++k)
      views_.push_back(static_cast<int>(k) < in_place(c.op) ? views_[k] : room(plan.shape(out[k])));
    cost = tessera::cost(c.op, plan, ids, out);
    state_ = c.state;
    kernel_ = kernel_of(cpu_kernels(), c.op, &op_);
    call_ = {views_.data(), views_.data() + ids.size(), static_cast<int>(ids.size()), static_cast<int>(out.size()), op_,
             &state_};
    scratch_.resize(static_cast<size_t>(kernel_.scratch_bytes == nullptr ? 0 : kernel_.scratch_bytes(call_)) + 64);
    tiles_ = kernel_.tiles(call_);
  }
  void run() {
    for (int64_t t = 0; t < tiles_; ++t) kernel_.run(call_, t, scratch_.data());
  }
  // The fastest of several rounds of a few milliseconds.
  double time() {
    run();
    double best = 1e9;
    for (int round = 0; round < 5; ++round) {
      int64_t calls = 0;
      const double start = seconds();
      while (seconds() - start < 4e-3) {
        for (int i = 0; i < 16; ++i) run();
        calls += 16;
      }
      best = std::min(best, (seconds() - start) / static_cast<double>(calls));
    }
    return best;
  }
  Cost cost;

 private:
  View room(Shape s) {
    memory_.push_back(std::make_unique<float[]>(static_cast<size_t>(s.count()) + 16));
    return {memory_.back().get(), s.rows, s.cols, s.cols, 4};
  }
  std::vector<std::unique_ptr<float[]>> memory_;
  std::vector<View> views_;
  std::vector<char> scratch_;
  StepState state_{};
  const void* op_ = nullptr;
  Kernel kernel_{};
  Call call_{};
  int64_t tiles_ = 0;
};

void print(const Case& c) {
  Bound bound(c);
  Team one(1);
  const Ceilings ceilings = measure_ceilings(one, static_cast<int64_t>(bound.cost.bytes) + 4096);
  const double time = bound.time(), floor = ceilings.floor(bound.cost);
  std::string shapes;
  for (const Input& i : c.in)
    shapes += i.absent ? " -" : " " + std::to_string(i.shape.rows) + "x" + std::to_string(i.shape.cols);
  std::printf("%-26s %9.2f us %8.2f GB/s %8.2f GFLOP/s  floor %9.2f us %5.0f %%  %s\n", op_name(c.op), 1e6 * time,
              1e-9 * bound.cost.bytes / time, 1e-9 * bound.cost.flops / time, 1e6 * floor, 100 * floor / time,
              shapes.c_str());
}

}  // namespace

int run(const std::string& only) {
  std::printf("kernels: %s, one thread\n", cpu_kernels().name);
  for (const std::string& name : op_names()) {
    std::vector<const Case*> cases;
    for (const Case& c : all_cases())
      if (op_name(c.op) == name && (only.empty() || only == name)) cases.push_back(&c);
    if (only.empty())  // the largest of them
      std::stable_sort(cases.begin(), cases.end(),
                       [](auto* a, auto* b) { return Bound(*a).cost.bytes > Bound(*b).cost.bytes; });
    for (size_t i = 0; i < (only.empty() ? 1 : cases.size()); ++i) print(*cases[i]);
  }
  return 0;
}

}  // namespace tessera::oracle

int main(int count, char** arguments) { return tessera::oracle::run(count > 1 ? arguments[1] : ""); }
