#include "engine/run/footprint.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "base/error.h"
#include "engine/device/device_api.h"
#include "engine/passes/batch/shard.h"
#include "engine/passes/passes.h"
#include "engine/plan/op_rules.h"
#include "engine/run/program.h"
#include "engine/schedule/split_optimizer.h"

namespace tessera {
namespace {

int64_t whole_lines(int64_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

// Views with the shapes and layouts of a program, without its memory: they are enough to compute the size of a kernel's
// scratch.
class Shapes {
 public:
  Shapes(const Plan& plan, const KernelTable& table, const Layout& layout)
      : plan_(plan), table_(table), layout_(layout) {}

  int64_t scratch() {
    int64_t largest = 0;
    for (size_t n = 0; n < plan_.nodes.size(); ++n)
      if (layout_.placement.runs[n]) largest = std::max(largest, scratch_of(plan_.nodes[n]));
    return largest;
  }

 private:
  int64_t scratch_of(const Node& x) {
    const Kernel kernel = kernel_of(table_, x.op);
    if (kernel.scratch_bytes == nullptr) return 0;
    std::vector<View> views;
    for (const Id v : x.in) views.push_back(view(v));
    for (const Id v : x.out) views.push_back(view(v));
    Call call{};
    call.in = views.data(), call.out = views.data() + x.in.size();
    call.inputs = static_cast<int>(x.in.size()), call.outputs = static_cast<int>(x.out.size());
    std::visit([&](const auto& op) { call.op = &op; }, x.op);
    return kernel.scratch_bytes(call);
  }
  View view(Id v) {
    if (v == kNone) return {};
    const Slot& s = layout_.placement.slots[static_cast<size_t>(v)];
    const Shape shape = plan_.shape(v);
    const DType type = plan_[v].dtype;
    const bool lanes = !layout_.chains.lanes.empty() && layout_.chains.lanes[static_cast<size_t>(v)];
    char* data = s.where == Slot::unread ? nullptr : &somewhere_;
    return {data, shape.rows, shape.cols, s.ld, item_bytes(type, table_.scalar_bytes), lanes, false, stored_as(type)};
  }

  const Plan& plan_;
  const KernelTable& table_;
  const Layout& layout_;
  alignas(kCacheLine) char somewhere_ = 0;
};

}  // namespace

const KernelTable& table_of(const Device& device) {
  return device.is_processor() ? cpu_kernels() : *device.api().kernels;
}

Kernel kernel_of(const KernelTable& table, const Op& op) {
  const Kernel kernel = std::visit(
      [&](const auto& o) -> Kernel {
        using T = std::decay_t<decltype(o)>;
#define TESSERA_KERNEL(type, field, parts) \
  if constexpr (std::is_same_v<T, type>) return table.field;
        TESSERA_OPS(TESSERA_KERNEL)
#undef TESSERA_KERNEL
        return {};
      },
      op);
  if (kernel.run == nullptr)
    throw Error(ErrorCode::unsupported, std::string("the op ") + op_name(op) + " has no " + table.name +
                                            " kernel.\n  `device=cpu` runs the same plan.");
  return kernel;
}

Arranged arrange(Plan& plan, const Device& device, const KernelTable& table, bool reuse) {
  if (device.is_processor()) {
    narrow_values(plan);
    // The sums of ranks are outputs of exchanges: one update of a whole set would have to copy all of them side by
    // side.
    if (plan.find_leaf(kRankOrder) != kNone) split_updates(plan);
    return {{}, lay_out(plan, table.scalar_bytes, reuse)};
  }
  if (!plan.fuse || table.fused == nullptr) return {{}, {{}, place(plan, table.scalar_bytes, reuse)}};
  Fusion fusion = fuse(plan);
  const auto phases = phases_of(fusion);
  Placement placement = place(plan, table.scalar_bytes, reuse, &phases);
  return {std::move(fusion), {{}, std::move(placement)}};
}

int64_t call_bytes(const Plan& plan, const Layout& layout) {
  constexpr int64_t kCall = sizeof(Kernel) + sizeof(Call) + 2 * sizeof(int64_t);
  constexpr int64_t kOfChain = 2 * sizeof(int64_t) + 1;  // per value: what a chain stores about its location
  int64_t bytes = 0;
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    if (!layout.placement.runs[n]) continue;
    const auto values = static_cast<int64_t>(plan.nodes[n].in.size() + plan.nodes[n].out.size());
    bytes += values * static_cast<int64_t>(sizeof(View)) + 2 * (kCall + values * kOfChain);
  }
  return bytes;
}

int64_t chain_bytes(const Plan& plan, const Layout& layout, int threads) {
  int64_t largest = 0;
  for (const RowChain& c : layout.chains.chains) {
    size_t views = 0;
    for (const int n : c.nodes) {
      const Node& x = plan.nodes[static_cast<size_t>(n)];
      if (layout.placement.runs[static_cast<size_t>(n)]) views = std::max(views, x.in.size() + x.out.size());
    }
    const int64_t block = c.tiles ? 1 : block_rows(plan, c.rows, threads);
    largest = std::max(largest, block * c.row_bytes + whole_lines(static_cast<int64_t>(views * sizeof(View))));
  }
  return largest;
}

Footprint footprint(const Plan& plan, const Device& device, int threads, bool reuse) {
  Plan own = plan;
  const KernelTable& table = table_of(device);
  const Arranged a = arrange(own, device, table, reuse);
  const int64_t kernels = whole_lines(Shapes(own, table, a.layout).scratch());
  const bool here = device.is_processor();
  const int64_t state = a.layout.placement.state_bytes;
  return {state, a.layout.placement.activation_bytes,
          here ? threads * (kernels + chain_bytes(own, a.layout, threads)) : kernels, here ? 0 : 2 * state,
          here ? call_bytes(own, a.layout) : 0};
}

}  // namespace tessera
