#include "engine/run/device_run.h"

#include <cstring>
#include <utility>

namespace tessera {
namespace {

// Steps per recording; it is replayed while at least this many steps remain, so the gap between two graphs is paid once
// for all of them.
constexpr int kUnrolled = 16;

}  // namespace

DeviceBytes::DeviceBytes(Device& device, int64_t bytes, const char* what) : device_(device), bytes_(bytes) {
  device.check(device.api().allocate(device.session(), bytes, what, &data_));
}
DeviceBytes::~DeviceBytes() { device_.api().free(device_.session(), data_); }

DeviceRun::DeviceRun(Device& device, const Placement& placement)
    : device_(device),
      state_(device, placement.state_bytes, "weights and optimizer state"),
      activations_(device, placement.activation_bytes, "activations"),
      step_(device, sizeof(StepState), "the state of a step") {}

DeviceRun::~DeviceRun() { forget(); }

void DeviceRun::forget() {
  device_.api().forget(device_.session(), std::exchange(one_, nullptr));
  device_.api().forget(device_.session(), std::exchange(many_, nullptr));
}

const void* DeviceRun::bind(int leaf, const void* from, int64_t bytes) {
  auto& copy = bound_[leaf];
  if (!copy || copy->bytes() != bytes) copy = std::make_unique<DeviceBytes>(device_, bytes, "the table");
  upload(copy->data(), from, bytes);
  return copy->data();
}

template <class T>
void DeviceRun::place(const T*& array, int count, const char* what) {
  const int64_t bytes = static_cast<int64_t>(sizeof(T)) * count;
  tables_.push_back(std::make_unique<DeviceBytes>(device_, bytes, what));
  upload(tables_.back()->data(), array, bytes);
  array = reinterpret_cast<const T*>(tables_.back()->data());
}

void DeviceRun::place_arrays(SpanTable& t) {
  place(t.items, t.count, "the spans of a row");
  place(t.cond_span, t.cond_width, "the spans of a row");
}
void DeviceRun::place_arrays(BlockTable& t) {
  place(t.items, t.count, "the blocks of a weight");
  place(t.holes, t.hole_count, "the blocks of a weight");
}
void DeviceRun::place_arrays(ProfileTable& t) {
  place(t.columns, t.column_count, "the profile of a table");
  place(t.numbers, t.number_count, "the profile of a table");
  place(t.cells, t.cell_count, "the profile of a table");
}

template <class Table>
void DeviceRun::place_table(std::map<const Table*, Table>& placed, const Table*& table) {
  if (table == nullptr) return;
  const auto [at, fresh] = placed.try_emplace(table, *table);
  if (fresh) place_arrays(at->second);
  table = &at->second;
}

const Op& DeviceRun::localize(const Op& op) {
  ops_.push_back(op);
  std::visit(
      [&](auto& o) {
        if constexpr (requires { o.spans; }) place_table(spans_, o.spans);
        if constexpr (requires { o.blocks; }) place_table(blocks_, o.blocks);
        if constexpr (requires { o.profile; }) place_table(profiles_, o.profile);
      },
      ops_.back());
  return ops_.back();
}

void DeviceRun::prepare(std::vector<DeviceCall> calls, int64_t scratch_bytes, bool count_steps) {
  forget();
  compiled_.reset();
  count_steps_ = count_steps;
  calls_ = std::move(calls);
  workspace_.reset();
  workspace_ = std::make_unique<DeviceBytes>(device_, scratch_bytes, "scratch");
}

void DeviceRun::compile(const FusedKernels& fused, std::vector<EmittedLaunch> launches, Compilation how) {
  compiled_ = std::make_unique<CompiledLaunches>(device_, fused, std::move(launches), std::move(how));
}

// Queues n steps.
void DeviceRun::replay(int64_t n) {
  const DeviceApi& api = device_.api();
  if (compiled_ && compiled_->replace(calls_)) forget();  // CUDA frees one in flight after its end
  const auto record = [&](DeviceRecording*& r, int steps) {
    const auto try_to = [&] {
      return api.record(device_.session(), calls_.data(), static_cast<int64_t>(calls_.size()),
                        count_steps_ ? nullptr : step(), workspace_->data(), steps, &r);
    };
    if (r != nullptr) return;
    DeviceStatus status = try_to();
    if (status != DeviceStatus::ok && compiled_ && compiled_->begin_in_order()) status = try_to();
    device_.check(status);
  };
  if (n >= kUnrolled) {
    record(many_, kUnrolled);
    device_.check(api.replay(device_.session(), many_, n / kUnrolled));
  }
  if (n % kUnrolled != 0) {
    record(one_, 1);
    device_.check(api.replay(device_.session(), one_, n % kUnrolled));
  }
}

void DeviceRun::run(StepState& state, int64_t n) {
  start(state, n, {}, false);
  finish(state);
}

void DeviceRun::start(const StepState& state, int64_t n, const std::vector<View>& watched, bool keep) {
  if (flights_.empty()) set_step(state);  // otherwise the device's state is newer
  Flight flight{0, {}, -1};
  if (keep) {
    flight.kept = copies_++ % 2;
    keep_state(flight.kept);
  }
  replay(n);
  std::vector<const void*> from{step()};
  std::vector<int64_t> bytes{static_cast<int64_t>(sizeof(StepState))};
  for (const View& v : watched) {
    from.push_back(v.data);
    bytes.push_back(v.rows * v.cols * v.item_bytes);
    flight.bytes.push_back(bytes.back());
  }
  device_.check(device_.api().begin_download(device_.session(), from.data(), bytes.data(),
                                             static_cast<int>(from.size()), &flight.ticket));
  flights_.push_back(std::move(flight));
}

void DeviceRun::finish(StepState& state) {
  const Flight flight = std::move(flights_.front());
  flights_.pop_front();
  const void* data = nullptr;
  device_.check(device_.api().wait_download(device_.session(), flight.ticket, &data));
  const char* at = static_cast<const char*>(data);
  std::memcpy(&on_device_, at, sizeof on_device_);
  at += sizeof on_device_;
  watched_.clear();
  for (const int64_t bytes : flight.bytes) {
    watched_.push_back(at);
    at += bytes;
  }
  if (flight.kept >= 0) last_kept_ = flight.kept;
  state = on_device_;
}

void DeviceRun::run_unrecorded(int64_t n) {
  for (; n > 0; --n) run_calls(calls_.data(), static_cast<int64_t>(calls_.size()));
  char end = 0;
  download(&end, step(), 1);  // waits
}

void DeviceRun::run_calls(const DeviceCall* calls, int64_t count) {
  device_.check(device_.api().run(device_.session(), calls, count, workspace_->data()));
}

void DeviceRun::upload(void* to, const void* from, int64_t bytes) {
  if (bytes > 0) device_.check(device_.api().upload(device_.session(), to, from, bytes));
}
void DeviceRun::download(void* to, const void* from, int64_t bytes) const {
  if (bytes > 0) device_.check(device_.api().download(device_.session(), to, from, bytes));
}
void DeviceRun::set_step(const StepState& state) {
  if (std::memcmp(&state, &on_device_, sizeof state) == 0) return;
  upload(step_.data(), &state, sizeof state);
  on_device_ = state;
}

void DeviceRun::keep_state() {
  last_kept_ = copies_++ % 2;
  keep_state(last_kept_);
}
void DeviceRun::keep_state(int copy) {
  if (!kept_[copy])
    kept_[copy] = std::make_unique<DeviceBytes>(device_, state_.bytes(), "a copy of the weights and optimizer state");
  device_.check(device_.api().copy(device_.session(), kept_[copy]->data(), state_.data(), state_.bytes()));
}
void DeviceRun::restore_state() {
  for (StepState passed{}; !flights_.empty();) {
    const int kept = last_kept_;
    finish(passed);
    last_kept_ = kept;
  }
  device_.check(device_.api().copy(device_.session(), state_.data(), kept_[last_kept_]->data(), state_.bytes()));
}

}  // namespace tessera
