// The product by OpenBLAS, then bias and leaky ReLU.     --error 1e-6
// For comparison, on one thread as the capsule's other times: apt-get install libopenblas0-pthread. OpenBLAS 0.3.21
// does not know every processor with AVX-512 by its number and then takes 4.4 times as long, so it is told which one
// this is.
#include <dlfcn.h>
#include <stdlib.h>

#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t product, x, w, bias, y;
  int rows, width;
};

constexpr int kRowMajor = 101, kAsItLies = 111;  // of cblas.h
using Multiply = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a,
                          int lda, const float* b, int ldb, float beta, float* c, int ldc);

Multiply multiply() {
  if (__builtin_cpu_supports("avx512bf16")) setenv("OPENBLAS_CORETYPE", "SapphireRapids", 0);
  void* library = dlopen("libopenblas.so.0", RTLD_NOW);
  if (library == nullptr) return nullptr;
  reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"))(1);
  return reinterpret_cast<Multiply>(dlsym(library, "cblas_sgemm"));
}

extern "C" void launch_10(const Parameters& p) {
  static const Multiply sgemm = multiply();
  if (sgemm == nullptr) return;  // rejected: nothing is written
  float* product = p.at<float>(p.product);
  sgemm(kRowMajor, kAsItLies, kAsItLies, p.rows, p.width, p.width, 1, p.at<const float>(p.x), p.width,
        p.at<const float>(p.w), p.width, 0, product, p.width);
  for (int i = 0; i < p.rows; ++i)
    for (int j = 0; j < p.width; ++j) {
      const float z = product[i * p.width + j] += p.at<const float>(p.bias)[j];
      p.at<float>(p.y)[i * p.width + j] = z > 0 ? z : 0.2f * z;
    }
}

}  // namespace tessera::gpu::launch_10
