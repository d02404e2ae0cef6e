// The dialect of kernels/gpu/dialect/dialect.h on the emulated machine. Its twin is kernels/gpu/dialect/device.h.
#pragma once
#include <memory>
#include <string>
#include <tuple>

#include "emulation/device.h"
#include "emulation/dialect.h"
#include "emulation/machine.h"
#include "emulation/mma.h"
#include "emulation/runtime.h"
#include "emulation/warp.h"

namespace tessera {

template <class T>
struct SharedType {
  using type = T;
};

#define TESS_SHARED(name, ...) \
  static ::tessera::emulation::Site name##_site; \
  auto& name = ::tessera::emulation::shared<typename ::tessera::SharedType<__VA_ARGS__>::type>(name##_site)
#define TESS_DYN_SHARED(T, name) T* name = static_cast<T*>(::tessera::emulation::dynamic_shared_memory())

struct Launch {
  dim3 grid, block;
  size_t smem = 0;
  cudaStream_t stream = nullptr;
  bool cooperative = false;
  unsigned cluster = 1;
};

// One copy for all threads: on a fiber's stack a large one would be copied thousands of times.
template <class T>
struct Constants {
  std::shared_ptr<const T> value;
  Constants(const T& v) : value(std::make_shared<const T>(v)) {}
  const T& operator*() const { return *value; }
};

using CudaFailure = void (*)(cudaError_t error, const char* call);
extern CudaFailure on_cuda_failure;
inline void cuda_check(cudaError_t error, const char* call) {
  if (error != cudaSuccess) on_cuda_failure(error, call);
}

template <class... P, class... A>
void launch(const Launch& l, const char* name, void (*kernel)(P...), const A&... arguments) {
  if (l.grid.x == 0 || l.grid.y == 0 || l.grid.z == 0) return;
  struct Launched {
    void (*kernel)(P...);
    std::tuple<P...> arguments;
  };
  const Launched call{kernel, std::tuple<P...>(static_cast<P>(arguments)...)};
  const emulation::Grid grid{
      name, {l.grid.x, l.grid.y, l.grid.z}, {l.block.x, l.block.y, l.block.z}, l.smem, l.cooperative, false, l.cluster};
  emulation::enqueue(l.stream, name, [call, grid] {
    emulation::run_grid(
        grid, [](void* p) { std::apply(static_cast<Launched*>(p)->kernel, static_cast<Launched*>(p)->arguments); },
        const_cast<Launched*>(&call));
  });
}

inline void launch_loaded(const Launch& l, const char* name, const void* kernel, const void* parameter, bool early) {
  const auto* loaded = static_cast<const emulation::LoadedKernel*>(kernel);
  std::string copy(static_cast<const char*>(parameter), loaded->parameter_bytes);
  const emulation::Grid grid{
      name, {l.grid.x, l.grid.y, l.grid.z}, {l.block.x, l.block.y, l.block.z}, 0, false, early, l.cluster};
  if (early && emulation::device().major < 9) throw emulation::Fault("an early launch needs compute capability 9.0");
  emulation::enqueue(l.stream, name, [=]() mutable { emulation::run_grid(grid, loaded->run, copy.data()); });
}

inline void wait_for_launch_before() { emulation::wait_for_launch_before(); }
inline int lane_id() { return emulation::lane(); }
inline void grid_sync(emulation::Place place = emulation::Place::here()) { emulation::grid_barrier(place); }
inline int cluster_rank() { return emulation::cluster_rank(); }
inline void cluster_sync(emulation::Place place = emulation::Place::here()) { emulation::cluster_barrier(place); }
template <class T>
T from_block(const T* own, int rank, emulation::Place place = emulation::Place::here()) {
  T value;
  emulation::from_block(own, rank, &value, sizeof value, place);
  return value;
}
template <class T>
void to_block(T* own, int rank, const T& value, emulation::Place place = emulation::Place::here()) {
  emulation::to_block(own, rank, &value, sizeof value, place);
}

}  // namespace tessera
