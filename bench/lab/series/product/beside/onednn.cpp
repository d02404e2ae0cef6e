// The product by oneDNN, then bias and leaky ReLU.     --error 1e-6
// For comparison, on one thread as the capsule's other times: apt-get install libdnnl2.
#include <dlfcn.h>
#include <stdlib.h>

#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t product, x, w, bias, y;
  int rows, width;
};

// dnnl_sgemm of dnnl.h: row-major, dnnl_dim_t is int64_t, 0 is success.
using Multiply = int (*)(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
                         int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc);

Multiply multiply() {
  setenv("OMP_NUM_THREADS", "1", 1);  // read when the library is loaded
  void* library = dlopen("libdnnl.so.2", RTLD_NOW);
  return library == nullptr ? nullptr : reinterpret_cast<Multiply>(dlsym(library, "dnnl_sgemm"));
}

extern "C" void launch_10(const Parameters& p) {
  static const Multiply sgemm = multiply();
  if (sgemm == nullptr) return;  // rejected: nothing is written
  float* product = p.at<float>(p.product);
  sgemm('N', 'N', p.rows, p.width, p.width, 1, p.at<const float>(p.x), p.width, p.at<const float>(p.w), p.width, 0,
        product, p.width);
  for (int i = 0; i < p.rows; ++i)
    for (int j = 0; j < p.width; ++j) {
      const float z = product[i * p.width + j] += p.at<const float>(p.bias)[j];
      p.at<float>(p.y)[i * p.width + j] = z > 0 ? z : 0.2f * z;
    }
}

}  // namespace tessera::gpu::launch_10
