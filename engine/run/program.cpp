#include "engine/run/program.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/cpu/cpu_features.h"
#include "base/error.h"
#include "engine/device/gpu_launches.h"
#include "engine/plan/op_rules.h"
#include "engine/run/device_run.h"
#include "engine/schedule/cpu_recurrent_tiles.h"

namespace tessera {

namespace {

// Large arenas use huge pages if the system has them: all values of a step then share a few TLB entries.
constexpr size_t kLargePage = size_t{2} << 20;
std::align_val_t alignment_of(int64_t bytes) {
  return std::align_val_t(bytes >= int64_t{8 * kLargePage} ? kLargePage : 64);
}

}  // namespace

Arena::Arena(int64_t bytes, const char* what, const Team& team)
    : share_(team.share(bytes, what)), data_(nullptr), bytes_(bytes) {
  const size_t size = static_cast<size_t>(bytes > 0 ? bytes : 64);
  data_ = static_cast<char*>(::operator new(size, alignment_of(bytes), std::nothrow));
  if (data_ == nullptr)
    throw Error(ErrorCode::memory, "no memory for " + std::to_string((bytes + 999'999) / 1'000'000) + " MB of " + what +
                                       ".\n  A smaller `batch_size` needs less.");
  // if refused, small pages are used
  if (alignment_of(bytes) == std::align_val_t(kLargePage))
    ::madvise(data_, size / kLargePage * kLargePage, MADV_HUGEPAGE);
  std::memset(data_, 0, size);
}
Arena::~Arena() { ::operator delete(data_, alignment_of(bytes_)); }

Program::Program(Plan plan, const KernelTable& table, Team& team, uint64_t seed, bool reuse)
    : plan_(std::move(plan)),
      table_(table),
      team_(team),
      arranged_(arrange(plan_, Device::processor(), table, reuse)),
      state_(placement_.state_bytes, "weights and optimizer state", team),
      activations_(placement_.activation_bytes, "activations", team),
      calls_(team.share(call_bytes(plan_, arranged_.layout), "calls of a step")),
      bound_(plan_.leaves.size(), nullptr),
      source_(plan_.leaves.size(), nullptr),
      step_(std::make_unique<StepState>(StepState{seed, 0, -1})) {}

Program::Program(Plan plan, Device& device, Team& team, uint64_t seed, bool reuse)
    : plan_(std::move(plan)),
      table_(table_of(device)),
      team_(team),
      arranged_(arrange(plan_, device, table_, reuse)),
      device_(device.is_processor() ? nullptr : std::make_unique<DeviceRun>(device, placement_)),
      state_(device_ ? 0 : placement_.state_bytes, "weights and optimizer state", team),
      activations_(device_ ? 0 : placement_.activation_bytes, "activations", team),
      calls_(team.share(device_ ? 0 : call_bytes(plan_, arranged_.layout), "calls of a step")),
      bound_(plan_.leaves.size(), nullptr),
      source_(plan_.leaves.size(), nullptr),
      step_(std::make_unique<StepState>(StepState{seed, 0, -1})) {}

Program::~Program() = default;

void Program::bind(const std::string& leaf, const void* data) {
  for (size_t i = 0; i < plan_.leaves.size(); ++i)
    if (plan_.leaves[i].name == leaf && plan_.leaves[i].kind == Leaf::bound) {
      const Value& v = plan_[plan_.leaves[i].value];
      static const char nothing = 0;  // the address of a leaf without elements
      if (v.shape.count() == 0) data = &nothing;
      const void* was = bound_[i];
      source_[i] = data;
      bound_[i] = device_ ? device_->bind(static_cast<int>(i), data, v.shape.count() * item_bytes(v)) : data;
      if (bound_[i] != was) ready_ = false;
      return;
    }
  throw Error(ErrorCode::internal, "the plan has no bound leaf " + leaf);
}

char* Program::state_address(const std::string& leaf, size_t item) const {
  for (const Leaf& l : plan_.leaves)
    if (l.name == leaf && l.kind == Leaf::state) {
      if (item != static_cast<size_t>(item_bytes(plan_[l.value])))
        throw Error(ErrorCode::internal, "state " + leaf + " has another scalar type");
      return (device_ ? device_->state() : state_.data()) + placement_.slots[static_cast<size_t>(l.value)].offset;
    }
  throw Error(ErrorCode::internal, "the plan has no state " + leaf);
}

void* Program::host_state(const std::string& leaf, size_t item) {
  if (device_) throw Error(ErrorCode::internal, "state " + leaf + " is on a device");
  starts_since_kept_ = 0;
  return state_address(leaf, item);
}

void Program::put_state(const std::string& leaf, const void* from, size_t item) {
  starts_since_kept_ = 0;
  char* to = state_address(leaf, item);
  const int64_t bytes = plan_.shape(plan_.find_leaf(leaf)).count() * static_cast<int64_t>(item);
  if (device_) device_->upload(to, from, bytes);
  else std::memcpy(to, from, static_cast<size_t>(bytes));
}

void Program::get_state(const std::string& leaf, void* to, size_t item) const {
  const char* from = state_address(leaf, item);
  const int64_t bytes = plan_.shape(plan_.find_leaf(leaf)).count() * static_cast<int64_t>(item);
  if (device_) device_->download(to, from, bytes);
  else std::memcpy(to, from, static_cast<size_t>(bytes));
}

void Program::refresh(std::initializer_list<const char*> leaves) {
  if (!device_) return;
  for (size_t i = 0; i < source_.size(); ++i)
    if (source_[i] != nullptr && std::find(leaves.begin(), leaves.end(), plan_.leaves[i].name) != leaves.end())
      bind(plan_.leaves[i].name, source_[i]);
}

View Program::fetch(Id v) const {
  View from = view(v);
  if (!device_) return from;
  auto [at, fresh] = fetched_.try_emplace(v);
  std::vector<char>& copy = at->second;
  if (fresh) {
    copy.resize(static_cast<size_t>(from.rows * from.cols * from.item_bytes));
    copy_out(v, copy.data(), static_cast<size_t>(from.item_bytes));
  }
  return {copy.data(), from.rows, from.cols, from.cols, from.item_bytes};
}

View Program::view(Id v) const {
  if (v == kNone) return {};
  const Slot& s = placement_.slots[static_cast<size_t>(v)];
  const Shape shape = plan_.shape(v);
  char* base = nullptr;
  if (s.where == Slot::state) base = device_ ? device_->state() : state_.data();
  else if (s.where == Slot::activation) base = device_ ? device_->activations() : activations_.data();
  else if (s.where == Slot::bound) base = static_cast<char*>(const_cast<void*>(bound_[static_cast<size_t>(s.leaf)]));
  const bool lanes = !chains_.lanes.empty() && chains_.lanes[static_cast<size_t>(v)];
  const auto at = [&](void* data, bool in_lanes) {
    const Value& value = plan_[v];
    return View{data, shape.rows, shape.cols, s.ld, item_bytes(value), in_lanes, false, stored_as(value.dtype)};
  };
  if (s.where == Slot::unread) return at(nullptr, false);
  // not in an arena: see run_block()
  if (s.where == Slot::block) return at(reinterpret_cast<void*>(static_cast<intptr_t>(s.offset)), lanes);
  if (base == nullptr)
    throw Error(ErrorCode::internal, "no memory is bound to " + plan_.leaves[static_cast<size_t>(s.leaf)].name);
  return at(base + s.offset, lanes);
}

// A node's call with its whole views, which are appended to views_.
Program::Ready Program::ready(int n, int64_t& scratch) {
  const Node& node = plan_.nodes[static_cast<size_t>(n)];
  const View* in = views_.data() + views_.size();
  for (const Id v : node.in) views_.push_back(view(v));
  const View* out = views_.data() + views_.size();
  for (const Id v : node.out) views_.push_back(view(v));
  Ready r{};
  r.node = n;
  r.call = {in,
            out,
            static_cast<int>(node.in.size()),
            static_cast<int>(node.out.size()),
            nullptr,
            device_ ? device_->step() : step_.get()};
  const Op& op = device_ ? device_->localize(node.op) : node.op;
  r.kernel = kernel_of(table_, op);
  std::visit([&](const auto& o) { r.call.op = &o; }, op);
  r.tiles = r.live_tiles = r.kernel.tiles(r.call);
  if (r.kernel.scratch_bytes != nullptr) scratch = std::max(scratch, r.kernel.scratch_bytes(r.call));
  return r;
}

// Builds the calls once all leaves are bound.
void Program::prepare() {
  if (ready_) return;
  views_.clear();
  phases_.clear();
  row_chains_.clear();
  of_batch_.clear();
  by_rows_.clear();
  live_ = device_ ? std::nullopt : live_rows(plan_, chains_);
  size_t views = 0;
  for (const Node& n : plan_.nodes) views += n.in.size() + n.out.size();
  views_.reserve(views);
  int64_t scratch = 0;
  for (const auto& nodes : placement_.phases) {
    Phase phase;
    std::map<int, std::vector<int>> chains;
    for (const int n : nodes) {
      if (!placement_.runs[static_cast<size_t>(n)]) continue;
      const int chain = chains_.phases.empty() ? -1 : chains_.chain_of[static_cast<size_t>(n)];
      if (chain >= 0) {
        chains[chain].push_back(n);
        continue;
      }
      phase.calls.push_back(ready(n, scratch));
      phase.tiles += phase.calls.back().tiles;
      if (live_ && n == live_->maker) live_from_ = phases_.size();
      if (live_) phase.calls.back().by_rows = ends_with_batch(phase.calls.back());
    }
    for (const auto& [number, links] : chains) {
      const RowChain& c = chains_.chains[static_cast<size_t>(number)];
      row_chains_.push_back(chain_of(links, c, scratch));
      if (live_) row_chains_.back().per_place = live_->of_chain[static_cast<size_t>(number)];
      Ready blocks{};
      blocks.chain = static_cast<int>(row_chains_.size()) - 1;
      blocks.tiles = (c.rows + row_chains_.back().block - 1) / row_chains_.back().block;
      phase.tiles += blocks.tiles;
      phase.calls.insert(phase.calls.begin(), blocks);  // the longest pieces first
    }
    if (phase.tiles == 0) continue;
    phase.shares.resize(static_cast<size_t>(team_.size()));
    int64_t first = 0;
    for (const Ready& r : phase.calls) {
      for (int64_t t = 0; t < r.tiles; ++t)
        phase.shares[static_cast<size_t>(t * team_.size() / r.tiles)].push_back(first + t);
      first += r.tiles;
    }
    for (size_t c = 0; c < phase.calls.size(); ++c)
      if (phase.calls[c].by_rows) by_rows_.emplace_back(phases_.size(), c);
    phases_.push_back(std::move(phase));
  }
  scratch_.clear();
  if (device_) {
    std::vector<DeviceCall> calls = device_calls(scratch);
    device_->prepare(std::move(calls), scratch, fused_ != nullptr && fused_->count_steps());
    if (compilation_ && fused_) device_->compile(*table_.fused, fused_->emit(device_->workspace()), *compilation_);
  } else {
    kernel_scratch_ = (scratch + 63) / 64 * 64;
    const int64_t own = chain_bytes(plan_, arranged_.layout, team_.size());
    for (int t = 0; t < team_.size(); ++t)
      scratch_.push_back(std::make_unique<Arena>(kernel_scratch_ + own, "scratch", team_));
  }
  ready_ = true;
}

// Finds the views of a call that end with the batch: what is summed over its rows, or all rows of an op in no chain;
// true: the latter.
bool Program::ends_with_batch(const Ready& call) {
  const Node& x = plan_.nodes[static_cast<size_t>(call.node)];
  const auto per_place = [this](Id v) { return v == kNone ? 0 : live_->per_place[static_cast<size_t>(v)]; };
  if (move_of(x.op).kind != Move::none ||
      !std::any_of(x.in.begin(), x.in.end(), [&](Id v) { return per_place(v) > 0; }))
    return false;
  const bool by_rows = per_place(x.out[0]) > 0;
  const int64_t rows = plan_.shape(x.out[0]).rows;
  const OperandSet sums = traits(x).sums;
  const auto first = static_cast<size_t>(call.call.in - views_.data());
  for (size_t i = 0; i < x.in.size(); ++i) {
    if (x.in[i] == kNone) continue;
    const int64_t own = plan_.shape(x.in[i]).rows;
    if (by_rows ? along_rows(x, i) && own == rows : sums.has(i)) of_batch_.emplace_back(first + i, own / live_->places);
  }
  for (size_t k = 0; k < x.out.size() && by_rows; ++k)
    of_batch_.emplace_back(first + x.in.size() + k, rows / live_->places);
  return by_rows;
}

// Once the step's rows are counted.
void Program::end_batch() {
  batch_rows_ = std::min<int64_t>(*static_cast<const int32_t*>(view(live_->count).data), live_->places);
  for (const auto& [at, per_place] : of_batch_) views_[at].rows = per_place * batch_rows_;
  for (const auto& [phase, call] : by_rows_) {
    Ready& r = phases_[phase].calls[call];
    r.live_tiles = r.kernel.tiles(r.call);
  }
}

Program::Chain Program::chain_of(const std::vector<int>& nodes, const RowChain& cut, int64_t& scratch) {
  const int64_t rows = cut.rows;
  Chain chain{rows, cut.tiles ? 1 : block_rows(plan_, rows, team_.size()), {}, {}, {}, {}, 0, cut.tiles};
  for (const int n : nodes) {
    const Node& node = plan_.nodes[static_cast<size_t>(n)];
    const auto visible = [&](Id v, bool along) {
      if (v == kNone) return Visibility::whole;
      if (placement_.slots[static_cast<size_t>(v)].where == Slot::block) return Visibility::own;
      return !cut.tiles && along && plan_.shape(v).rows == rows ? Visibility::rows : Visibility::whole;
    };
    for (size_t i = 0; i < node.in.size(); ++i) chain.visibility.push_back(visible(node.in[i], along_rows(node, i)));
    for (const Id v : node.out) chain.visibility.push_back(visible(v, true));
    for (const auto* values : {&node.in, &node.out})
      for (const Id v : *values) {
        chain.inside.push_back(v == kNone ? 0 : placement_.slots[static_cast<size_t>(v)].inside);
        chain.own_bytes.push_back(cut.tiles && chain.visibility[chain.own_bytes.size()] == Visibility::own
                                      ? tile_bytes(plan_, v, item_bytes(plan_[v]))
                                      : 0);
      }
    chain.views = std::max(chain.views, node.in.size() + node.out.size());
    chain.links.push_back(ready(n, scratch));
  }
  return chain;
}

void Program::run_block(const Chain& chain, int64_t number, char* scratch) const {
  const int64_t end = chain.per_place > 0 ? chain.per_place * batch_rows_ : chain.rows;
  const int64_t begin = number * chain.block, rows = std::min(chain.block, end - begin);
  if (rows <= 0) return;
  View* views = reinterpret_cast<View*>(scratch + kernel_scratch_);
  char* own = scratch + kernel_scratch_ + (chain.views * sizeof(View) + 63) / 64 * 64;
  const Visibility* visible = chain.visibility.data();
  const int64_t* inside = chain.inside.data();
  for (const Ready& link : chain.links) {
    Call call = link.call;
    const View* from = call.in;  // the outputs follow the inputs
    const int count = call.inputs + call.outputs;
    for (int i = 0; i < count; ++i) {
      View v = from[i];
      if (visible[i] == Visibility::rows) v.data = static_cast<char*>(v.data) + begin * v.ld * v.item_bytes;
      else if (visible[i] == Visibility::own)
        v.data = own + reinterpret_cast<intptr_t>(v.data) * chain.block + inside[i];
      if (visible[i] != Visibility::whole) v.rows = rows;
      views[i] = v;
    }
    visible += count, inside += count;
    call.in = views;
    call.out = views + call.inputs;
    call.block = true;
    call.first_row = begin;
    const int64_t tiles = link.kernel.tiles(call);
    for (int64_t t = 0; t < tiles; ++t) link.kernel.run(call, t, scratch);
  }
}

void Program::run_tile(const Chain& chain, int64_t tile, char* scratch) const {
  View* views = reinterpret_cast<View*>(scratch + kernel_scratch_);
  char* own = scratch + kernel_scratch_ + (chain.views * sizeof(View) + 63) / 64 * 64;
  size_t at = 0;
  for (const Ready& link : chain.links) {
    Call call = link.call;
    const int count = call.inputs + call.outputs;
    for (int i = 0; i < count; ++i, ++at) {
      views[i] = call.in[i];  // the outputs follow the inputs
      if (chain.visibility[at] != Visibility::own) continue;
      // Offset as if the previous tiles were stored before it, because a kernel addresses its tile by number.
      const auto before = static_cast<uintptr_t>(tile * chain.own_bytes[at]);
      views[i].data = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(own) +
                                              reinterpret_cast<uintptr_t>(views[i].data) - before);
      views[i].own = true;
    }
    call.in = views;
    call.out = views + call.inputs;
    if (link.tiles > 0) link.kernel.run(call, tile, scratch);
  }
}

std::vector<DeviceCall> Program::device_calls(int64_t& scratch) {
  // by node; without a kernel if there is no work
  std::vector<DeviceCall> calls(plan_.nodes.size(), DeviceCall{});
  std::vector<DeviceCall> in_order;
  for (const Phase& phase : phases_)
    for (const Ready& r : phase.calls) {
      calls[static_cast<size_t>(r.node)] = {r.kernel, r.call, op_name(plan_.nodes[static_cast<size_t>(r.node)].op)};
      if (r.tiles > 0) in_order.push_back(calls[static_cast<size_t>(r.node)]);
      else calls[static_cast<size_t>(r.node)].kernel.run = nullptr;
    }
  if (fusion_.empty()) return in_order;
  fused_ = std::make_unique<FusedCalls>(fusion_, plan_, *table_.fused, calls, scratch, device_->step());
  scratch = fused_->scratch_bytes();
  return fused_->calls();
}

void Program::copy_out(Id value, void* to, size_t item) const {
  View v = view(value);
  if (static_cast<size_t>(v.item_bytes) != item)
    throw Error(ErrorCode::internal, "a value is read with another scalar type");
  if (v.rows == 0 || v.cols == 0) return;
  std::vector<char> fetched;
  if (device_) {
    fetched.resize(static_cast<size_t>((v.rows - 1) * v.ld + v.cols) * item);
    device_->download(fetched.data(), v.data, static_cast<int64_t>(fetched.size()));
    v.data = fetched.data();
  }
  for (int64_t r = 0; r < v.rows; ++r)
    std::memcpy(static_cast<char*>(to) + static_cast<size_t>(r * v.cols) * item,
                static_cast<char*>(v.data) + r * v.ld * v.item_bytes, static_cast<size_t>(v.cols) * item);
}

const KernelTable* cpu_kernels(const std::string& name) {
#ifdef TESSERA_HAS_plain
  if (name == "plain") return &isa_plain::kernels_f32();
  if (name == "double") return &isa_plain::kernels_f64();
#endif
#ifdef TESSERA_HAS_avx2
  if (name == "avx2" && runs(Isa::avx2)) return &isa_avx2::kernels_f32();
#endif
#ifdef TESSERA_HAS_avx512
  if (name == "avx512" && runs(Isa::avx512)) return &isa_avx512::kernels_f32();
#endif
#ifdef TESSERA_HAS_amx_bf16
  if (name == "amx_bf16" && runs(Isa::amx_bf16)) return &isa_amx_bf16::kernels_f32();
#endif
#ifdef TESSERA_HAS_avx512_bf16
  if (name == "avx512_bf16" && runs(Isa::avx512_bf16)) return &isa_avx512_bf16::kernels_f32();
#endif
  return nullptr;
}

const KernelTable& cpu_kernels() { return *cpu_kernels(name_of(best_isa())); }

}  // namespace tessera
