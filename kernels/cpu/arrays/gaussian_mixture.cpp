// gaussian_scores, gaussian_moments: the two products of a mixture with full covariances. The log-density of a Gaussian
// is linear in the features (1, x_a, x_a·x_b), so the E step is a product of parameters and features, the M step one of
// responsibilities and features.
//   2·K·F·block FLOP each, 8·(K·F + (K + F)·block) bytes, from the cache: compute-bound · K a multiple of 4
//   four components at a time; a sum over points is kept by lane and added in the order of lanes
#include "kernels/cpu/arrays/table.h"

namespace tessera::TESSERA_ISA {

void gaussian_scores(const double* theta, const double* feature, int64_t components, int64_t features, int64_t block,
                     double* out) {
  constexpr int kLanes = Simd<double>::kLanes;
  for (int64_t k = 0; k < components; k += 4)
    for (int64_t r = 0; r < block; r += 2 * kLanes) {
      Vec<double> acc[4][2] = {};
      for (int64_t f = 0; f < features; ++f) {
        const Vec<double> a = load(feature + f * block + r), b = load(feature + f * block + r + kLanes);
        for (int q = 0; q < 4; ++q) {
          const Vec<double> t = lanes_of(theta[(k + q) * features + f]);
          acc[q][0] = mul_add(t, a, acc[q][0]);
          acc[q][1] = mul_add(t, b, acc[q][1]);
        }
      }
      for (int q = 0; q < 4; ++q)
        store(out + (k + q) * block + r, acc[q][0]), store(out + (k + q) * block + r + kLanes, acc[q][1]);
    }
}

void gaussian_moments(const double* share, const double* feature, int64_t components, int64_t features, int64_t block,
                      double* sum) {
  constexpr int kLanes = Simd<double>::kLanes;
  for (int64_t k = 0; k < components; k += 4)
    for (int64_t f = 0; f < features; ++f) {
      Vec<double> acc[4] = {};
      for (int64_t r = 0; r < block; r += kLanes) {
        const Vec<double> x = load(feature + f * block + r);
        for (int q = 0; q < 4; ++q) acc[q] = mul_add(load(share + (k + q) * block + r), x, acc[q]);
      }
      for (int q = 0; q < 4; ++q) {
        double s = 0;
        for (int l = 0; l < kLanes; ++l) s += acc[q][l];
        sum[(k + q) * features + f] += s;
      }
    }
}

}  // namespace tessera::TESSERA_ISA
