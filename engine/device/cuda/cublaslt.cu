// matmul by cuBLASLt: out = Σ_i op(A_i)·op(B_i) (+ addend), one library call per pair, each adding to the sum of the
// previous pairs. Matrices stay row-major.
//   the algorithm is the library's first choice for the shape, selected when the call is recorded · the bits depend on
//       the library and may differ between its releases
#include "engine/device/cuda/cublaslt.h"

#include <cublasLt.h>
#include <dlfcn.h>

#include "engine/device/cuda/check.h"
#include "kernels/gpu/bodies/elementwise.cuh"
#include "kernels/gpu/dialect/map.cuh"

namespace tessera::cuda {
namespace {

constexpr int64_t kRoom = int64_t{32} << 20;  // bytes of workspace that an algorithm may use

struct Library {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtGetStatusString) text;
  decltype(&cublasLtMatmulDescCreate) describe;
  decltype(&cublasLtMatmulDescDestroy) forget;
  decltype(&cublasLtMatmulDescSetAttribute) set;
  decltype(&cublasLtMatrixLayoutCreate) layout;
  decltype(&cublasLtMatrixLayoutDestroy) forget_layout;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout;
  decltype(&cublasLtMatmulPreferenceCreate) prefer;
  decltype(&cublasLtMatmulPreferenceDestroy) forget_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;
  decltype(&cublasLtMatmulAlgoGetHeuristic) choose;
  decltype(&cublasLtMatmul) multiply;
  cublasLtHandle_t handle = nullptr;
};

template <class F>
bool find(void* library, const char* name, F& f) {
  f = reinterpret_cast<F>(dlsym(library, name));
  return f != nullptr;
}

bool load(Library& l, std::string& reason) {
  void* library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    reason = dlerror();
    return false;
  }
  if (!(find(library, "cublasLtCreate", l.create) && find(library, "cublasLtGetStatusString", l.text) &&
        find(library, "cublasLtMatmulDescCreate", l.describe) && find(library, "cublasLtMatmulDescDestroy", l.forget) &&
        find(library, "cublasLtMatmulDescSetAttribute", l.set) &&
        find(library, "cublasLtMatrixLayoutCreate", l.layout) &&
        find(library, "cublasLtMatrixLayoutDestroy", l.forget_layout) &&
        find(library, "cublasLtMatrixLayoutSetAttribute", l.set_layout) &&
        find(library, "cublasLtMatmulPreferenceCreate", l.prefer) &&
        find(library, "cublasLtMatmulPreferenceDestroy", l.forget_preference) &&
        find(library, "cublasLtMatmulPreferenceSetAttribute", l.set_preference) &&
        find(library, "cublasLtMatmulAlgoGetHeuristic", l.choose) && find(library, "cublasLtMatmul", l.multiply))) {
    reason = "libcublasLt.so.13 lacks a required function";
    return false;
  }
  if (const cublasStatus_t s = l.create(&l.handle); s != CUBLAS_STATUS_SUCCESS) {
    reason = std::string("cublasLtCreate: ") + l.text(s);
    return false;
  }
  return true;
}

Library& library() {
  static Library l;
  return l;
}

void ok(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  message() = std::string("cuBLASLt: ") + call + " failed while recording a product: " + library().text(status) +
              ".\n  Without TESSERA_CUDA_MATH=cublaslt it is not used.";
  throw Failed{DeviceStatus::failed};
}

// Descriptors that live until the call is queued.
template <class T>
struct Held {
  T value = nullptr;
  cublasStatus_t (*forget)(T);
  ~Held() {
    if (value != nullptr) forget(value);
  }
};
using Layout = Held<cublasLtMatrixLayout_t>;

void lay_out(const View& v, Layout& to) {
  const Library& l = library();
  const cublasLtOrder_t order = CUBLASLT_ORDER_ROW;
  ok(l.layout(&to.value, CUDA_R_32F, static_cast<uint64_t>(v.rows), static_cast<uint64_t>(v.cols), v.ld),
     "cublasLtMatrixLayoutCreate");
  ok(l.set_layout(to.value, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order), "cublasLtMatrixLayoutSetAttribute");
}

template <bool tf32>
void run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const Matmul*>(call.op);
  const GpuContext& context = gpu_context(scratch);
  const Library& l = library();
  const View& out = call.out[0];
  if (op.addend) gpu::map<gpu::Same, 1>(scratch, "broadcast", gpu::Same{}, {&call.in[2 * op.pairs]}, out);
  Held<cublasLtMatmulDesc_t> product{nullptr, l.forget};
  Held<cublasLtMatmulPreference_t> wish{nullptr, l.forget_preference};
  ok(l.describe(&product.value, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
     "cublasLtMatmulDescCreate");
  const cublasOperation_t as[2] = {CUBLAS_OP_N, CUBLAS_OP_T};
  ok(l.set(product.value, CUBLASLT_MATMUL_DESC_TRANSA, &as[op.trans_a], sizeof as[0]),
     "cublasLtMatmulDescSetAttribute");
  ok(l.set(product.value, CUBLASLT_MATMUL_DESC_TRANSB, &as[op.trans_b], sizeof as[0]),
     "cublasLtMatmulDescSetAttribute");
  ok(l.prefer(&wish.value), "cublasLtMatmulPreferenceCreate");
  const size_t room = static_cast<size_t>(kRoom);
  ok(l.set_preference(wish.value, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room),
     "cublasLtMatmulPreferenceSetAttribute");
  Layout to{nullptr, l.forget_layout};
  lay_out(out, to);
  for (int i = 0; i < op.pairs; ++i) {
    const View &a = call.in[2 * i], &b = call.in[2 * i + 1];
    Layout from_a{nullptr, l.forget_layout}, from_b{nullptr, l.forget_layout};
    lay_out(a, from_a);
    lay_out(b, from_b);
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    ok(l.choose(l.handle, product.value, from_a.value, from_b.value, to.value, to.value, wish.value, 1, &found, &count),
       "cublasLtMatmulAlgoGetHeuristic");
    ok(count > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmulAlgoGetHeuristic");
    const float one = 1, keep = i > 0 || op.addend ? 1.0f : 0.0f;
    ok(l.multiply(l.handle, product.value, &one, a.data, from_a.value, b.data, from_b.value, &keep, out.data, to.value,
                  out.data, to.value, &found.algo, context.workspace, room, context.stream),
       "cublasLtMatmul");
  }
}

int64_t scratch_bytes(const Call&) { return kRoom; }

template <bool tf32>
const KernelTable& table() {
  static const KernelTable made = [] {
    KernelTable t = kernels_cuda();
    t.matmul = {gpu::one_if_any, run<tf32>, scratch_bytes};
    t.fused = nullptr;
    return t;
  }();
  return made;
}

}  // namespace

const KernelTable* cublaslt_kernels(bool tf32, std::string& reason) {
  if (library().handle == nullptr && !load(library(), reason)) return nullptr;
  return tf32 ? &table<true>() : &table<false>();
}

}  // namespace tessera::cuda
