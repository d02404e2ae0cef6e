// A program's memory and steps on a device: three plain allocations, a copy of every bound leaf, and the step, recorded
// once and replayed.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/device_api.h"
#include "engine/plan/plan.h"
#include "engine/run/compiled_launches.h"
#include "engine/schedule/placement.h"
#include "kernels/math/profile.h"

namespace tessera {

// Device memory; zero at first.
class DeviceBytes {
 public:
  DeviceBytes(Device& device, int64_t bytes, const char* what);
  ~DeviceBytes();
  DeviceBytes(const DeviceBytes&) = delete;
  char* data() const { return static_cast<char*>(data_); }
  int64_t bytes() const { return bytes_; }

 private:
  Device& device_;
  void* data_ = nullptr;
  int64_t bytes_;
};

// An array here and its copy on a device; the copy is zero at first.
template <class T>
struct DeviceArray {
  DeviceArray(Device& d, int64_t count, const char* what)
      : device(d), here(static_cast<size_t>(count)), there(d, count * static_cast<int64_t>(sizeof(T)), what) {}
  T* on_device() const { return reinterpret_cast<T*>(there.data()); }
  void upload() { device.check(device.api().upload(device.session(), there.data(), here.data(), there.bytes())); }
  void download() { device.check(device.api().download(device.session(), here.data(), there.data(), there.bytes())); }

  Device& device;
  std::vector<T> here;
  DeviceBytes there;
};

class DeviceRun {
 public:
  DeviceRun(Device& device, const Placement& placement);
  ~DeviceRun();

  char* state() const { return state_.data(); }
  char* activations() const { return activations_.data(); }
  StepState* step() const { return reinterpret_cast<StepState*>(step_.data()); }

  // The device's copy of a bound leaf, made from the host's.
  const void* bind(int leaf, const void* from, int64_t bytes);
  // An op for calls on the device: the tables that it points to are in device memory. Lives as long as this.
  const Op& localize(const Op& op);

  // `count_steps`: the calls of a step advance the state themselves.
  void prepare(std::vector<DeviceCall> calls, int64_t scratch_bytes, bool count_steps);
  // Before the steps queued next, and later ones: those of the fused launches that are compiled by then replace the
  // interpreter's.
  void compile(const FusedKernels& fused, std::vector<EmittedLaunch> launches, Compilation how);
  const CompiledLaunches* compiled() const { return compiled_.get(); }
  const void* workspace() const { return workspace_->data(); }
  // Runs n steps from `state`, which becomes the device's state after them.
  void run(StepState& state, int64_t n);
  // The same in two halves: start() returns when the steps and the downloads of `watched` are queued, finish() waits
  // for the oldest of at most two starts.
  void start(const StepState& state, int64_t n, const std::vector<View>& watched, bool keep);
  void finish(StepState& state);
  const void* watched(size_t i) const { return watched_[i]; }
  void run_calls(const DeviceCall* calls, int64_t count);  // without advancing the state
  void run_unrecorded(int64_t n);                          // the calls of n steps one by one, for benches

  void upload(void* to, const void* from, int64_t bytes);
  void download(void* to, const void* from, int64_t bytes) const;
  void set_step(const StepState& state);
  void keep_state();  // a copy on the device
  // the copy made before the last finished steps; steps still in flight become no-ops
  void restore_state();

 private:
  template <class T>
  void place(const T*& array, int count, const char* what);  // replaces it by the device's copy
  void place_arrays(SpanTable& t);
  void place_arrays(BlockTable& t);
  void place_arrays(ProfileTable& t);
  // Copies a host table of an op, with its arrays, to the device; ops with the same table share the copy.
  template <class Table>
  void place_table(std::map<const Table*, Table>& placed, const Table*& table);
  void forget();
  void replay(int64_t n);
  void keep_state(int copy);

  Device& device_;
  DeviceBytes state_, activations_, step_;
  StepState on_device_{};  // the contents of step_, as far as known here
  std::map<int, std::unique_ptr<DeviceBytes>> bound_;
  std::map<const SpanTable*, SpanTable> spans_;
  std::map<const BlockTable*, BlockTable> blocks_;
  std::map<const ProfileTable*, ProfileTable> profiles_;
  std::deque<std::unique_ptr<DeviceBytes>> tables_;
  std::deque<Op> ops_;
  std::vector<DeviceCall> calls_;
  bool count_steps_ = false;
  struct Flight {  // steps in flight
    int64_t ticket;
    std::vector<int64_t> bytes;  // of the watched views
    int kept;                    // the state copy made before them; −1: none
  };
  std::deque<Flight> flights_;
  std::vector<const void*> watched_;
  std::unique_ptr<DeviceBytes> workspace_, kept_[2];
  int copies_ = 0, last_kept_ = 0;
  DeviceRecording *one_ = nullptr, *many_ = nullptr;
  std::unique_ptr<CompiledLaunches> compiled_;
};

}  // namespace tessera
