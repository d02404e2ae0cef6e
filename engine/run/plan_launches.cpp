#include "engine/run/plan_launches.h"

#include <deque>

#include "engine/device/gpu_launches.h"
#include "engine/emit/op_text.h"
#include "engine/plan/op_rules.h"

namespace tessera {
namespace {

class CallsWithoutMemory {
 public:
  CallsWithoutMemory(const Plan& plan, const Placement& placement) : plan_(plan), placement_(placement) {
    state_ = take(placement.state_bytes);
    activations_ = take(placement.activation_bytes);
    step_ = reinterpret_cast<StepState*>(take(sizeof(StepState)));
    for (const Leaf& leaf : plan.leaves) {
      const Value& v = plan[leaf.value];
      bound_.push_back(leaf.kind == Leaf::bound ? take(v.shape.count() * item_bytes(v.dtype, 4)) : 0);
    }
  }
  StepState* step() const { return step_; }
  std::vector<DeviceCall> calls() {
    std::vector<DeviceCall> all(plan_.nodes.size(), DeviceCall{});
    for (size_t n = 0; n < plan_.nodes.size(); ++n) {
      const Node& node = plan_.nodes[n];
      if (!placement_.runs[n]) continue;
      views_.emplace_back();
      for (const auto* values : {&node.in, &node.out})
        for (const Id v : *values) views_.back().push_back(view(v));
      all[n].kernel.run = [](const Call&, int64_t, void*) {};
      const View* in = views_.back().data();
      all[n].call = {in,
                     in + node.in.size(),
                     static_cast<int>(node.in.size()),
                     static_cast<int>(node.out.size()),
                     attributes(node.op),
                     step_};
      all[n].name = op_name(node.op);
    }
    return all;
  }

 private:
  uintptr_t take(int64_t bytes) {
    const uintptr_t at = next_;
    next_ += static_cast<uintptr_t>((bytes + 511) / 256 * 256);
    return at;
  }
  View view(Id id) const {
    if (id == kNone) return {};
    const Slot& s = placement_.slots[static_cast<size_t>(id)];
    const Value& v = plan_[id];
    const uintptr_t base = s.where == Slot::state        ? state_
                           : s.where == Slot::activation ? activations_
                           : s.where == Slot::bound      ? bound_[static_cast<size_t>(s.leaf)]
                                                         : 0;
    return {reinterpret_cast<void*>(base + static_cast<uintptr_t>(s.offset)),
            v.shape.rows,
            v.shape.cols,
            s.ld,
            item_bytes(v.dtype, 4),
            false,
            false,
            stored_as(v.dtype)};
  }
  template <class T>
  void place(const T*& array, int count) {
    array = reinterpret_cast<const T*>(take(static_cast<int64_t>(sizeof(T)) * count));
  }
  const void* attributes(const Op& op) {
    ops_.push_back(op);
    const void* at = nullptr;
    std::visit(
        [&](auto& o) {
          if constexpr (requires { o.spans; }) {
            auto [table, fresh] = spans_.try_emplace(o.spans, *o.spans);
            if (fresh)
              place(table->second.items, table->second.count), place(table->second.cond_span, table->second.cond_width);
            o.spans = &table->second;
          }
          if constexpr (requires { o.blocks; }) {
            auto [table, fresh] = blocks_.try_emplace(o.blocks, *o.blocks);
            if (fresh)
              place(table->second.items, table->second.count), place(table->second.holes, table->second.hole_count);
            o.blocks = &table->second;
          }
          at = &o;
        },
        ops_.back());
    return at;
  }

  const Plan& plan_;
  const Placement& placement_;
  uintptr_t next_ = 1 << 20, state_ = 0, activations_ = 0;
  StepState* step_ = nullptr;
  std::vector<uintptr_t> bound_;
  std::deque<std::vector<View>> views_;
  std::deque<Op> ops_;
  std::map<const SpanTable*, SpanTable> spans_;
  std::map<const BlockTable*, BlockTable> blocks_;
};

}  // namespace

std::vector<EmittedLaunch> emit_launches(const Plan& plan, const Fusion& fusion, const Placement& placement) {
  CallsWithoutMemory memory(plan, placement);
  const FusedKernels any{{nullptr, [](const Call&, int64_t, void*) {}, nullptr},
                         [](const FusedLaunchOp&) { return true; },
                         emitted_slices_bytes};
  const std::vector<DeviceCall> own = memory.calls();
  const FusedCalls fused(fusion, plan, any, own, 0, memory.step());
  return fused.emit(nullptr);
}

}  // namespace tessera
