// 03 As 02 with fused multiply-adds, and ten rows: 20 sums of 32 registers.     --error 1e-6
// Expected: half of the instructions of 02, so the floor. Spelled as std::fma of one lane after another the
//   compiler made no vectors of it (107 us): contraction is allowed instead.
// Arithmetic: 123 k multiply-adds on two ports = 61 k cycles.
// Predicted: 21 us at 3 GHz, which is the floor that the capsule prints. Measured: 39 to 64 us (loaded).
#pragma GCC optimize("fp-contract=fast")
#include "kernels/gpu/emitted/launch.cuh"

namespace tessera::gpu::launch_10 {

struct Parameters : LaunchParameters {
  uint32_t product, x, w, bias, y;
  int rows, width;
};

constexpr int kRows = 10, kLanes = 16;
typedef float Vector __attribute__((vector_size(4 * kLanes), aligned(4)));

template <int R>
inline void block(const Parameters& p, int i, int j) {
  const float *x = p.at<const float>(p.x) + i * p.width, *w = p.at<const float>(p.w) + j;
  Vector sum[R][2] = {};
  for (int k = 0; k < p.width; ++k) {
    const Vector b0 = *reinterpret_cast<const Vector*>(w + k * p.width);
    const Vector b1 = *reinterpret_cast<const Vector*>(w + k * p.width + kLanes);
    for (int r = 0; r < R; ++r) {
      const float a = x[r * p.width + k];
      sum[r][0] = sum[r][0] + a * b0, sum[r][1] = sum[r][1] + a * b1;
    }
  }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < 2 * kLanes; ++c) {
      const float z = sum[r][c / kLanes][c % kLanes] + p.at<const float>(p.bias)[j + c];
      p.at<float>(p.product)[(i + r) * p.width + j + c] = z;
      p.at<float>(p.y)[(i + r) * p.width + j + c] = z > 0 ? z : 0.2f * z;
    }
}

extern "C" void launch_10(const Parameters& p) {
  int i = 0;
  for (; i + kRows <= p.rows; i += kRows)
    for (int j = 0; j < p.width; j += 2 * kLanes) block<kRows>(p, i, j);
  for (; i < p.rows; ++i)
    for (int j = 0; j < p.width; j += 2 * kLanes) block<1>(p, i, j);
}

}  // namespace tessera::gpu::launch_10
