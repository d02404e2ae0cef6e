// unary, binary, lerp_rows, broadcast: each is a map (gpu/dialect/map.cuh has the kernel and its head) of one of the
// functions of gpu/bodies/elementwise.cuh.
//   8 to 16 bytes and 1 to ~30 FLOP per element: bandwidth-bound.
#include "kernels/gpu/bodies/elementwise.cuh"
#include "kernels/gpu/dialect/map.cuh"

namespace tessera::gpu {
namespace {

void unary_run(const Call& call, int64_t, void* scratch) {
  with_function(*static_cast<const Unary*>(call.op),
                [&](auto f) { map<decltype(f), 1>(scratch, "unary", f, {&call.in[0]}, call.out[0]); });
}
void binary_run(const Call& call, int64_t, void* scratch) {
  with_function(*static_cast<const Binary*>(call.op), [&](auto f) {
    map<decltype(f), 2>(scratch, "binary", f, {&call.in[0], &call.in[1]}, call.out[0]);
  });
}
void lerp_run(const Call& call, int64_t, void* scratch) {
  map<Lerp, 3>(scratch, "lerp_rows", {}, {&call.in[0], &call.in[1], &call.in[2]}, call.out[0]);
}

void broadcast_run(const Call& call, int64_t, void* scratch) {
  map<Same, 1>(scratch, "broadcast", {}, {&call.in[0]}, call.out[0]);
}

}  // namespace

Kernel unary_entry() { return {one_if_any, unary_run, nullptr}; }
Kernel binary_entry() { return {one_if_any, binary_run, nullptr}; }
Kernel lerp_rows_entry() { return {one_if_any, lerp_run, nullptr}; }
Kernel broadcast_entry() { return {one_if_any, broadcast_run, nullptr}; }

}  // namespace tessera::gpu
