// The emulated machine does what the CUDA programming model says, under every schedule.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "buffer.h"
#include "kernels/gpu/dialect/warp.h"

namespace tessera {
namespace {

class Machine : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { emulation::set_schedule(emulation::parse_schedule(GetParam())); }
  void TearDown() override { emulation::set_schedule({}); }
};
INSTANTIATE_TEST_SUITE_P(Schedules, Machine,
                         testing::Values("sequential", "reverse", "random:1", "random:2", "random:3"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, ':');
                           return name;
                         });

std::vector<float> counted(size_t n) {
  std::vector<float> v(n);
  std::iota(v.begin(), v.end(), 0.0f);
  return v;
}

__global__ void block_sums(const float* x, float* sums, int n) {
  TESS_SHARED(part, float[8]);
  TESS_DYN_SHARED(float, copy);
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  copy[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  const float s = warp_sum(copy[blockDim.x - 1 - threadIdx.x]);
  if (lane_id() == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x != 0) return;
  float total = 0;
  for (unsigned w = 0; w < blockDim.x / 32; ++w) total += part[w];
  sums[blockIdx.x] = total;
}

TEST_P(Machine, BlocksSumThroughSharedMemory) {
  const Buffer<float> x(counted(1000));
  const Buffer<float> sums(4);
  launch({4, 256, 256 * sizeof(float)}, "block_sums", block_sums, x.data(), sums.data(), 1000);
  EXPECT_EQ(sums.read(), (std::vector<float>{32640, 98176, 163712, 204972}));
}

__global__ void where_am_i(int* out) {
  const unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  __syncthreads();
  out[b * blockDim.x * blockDim.y * blockDim.z + t] = static_cast<int>(b * 1000 + t);
}
TEST_P(Machine, EveryThreadOfEveryBlockRunsOnceWithItsIndices) {
  const Buffer<int> out(24 * 30);
  launch({{2, 3, 4}, {5, 3, 2}}, "where_am_i", where_am_i, out.data());
  const std::vector<int> got = out.read();
  for (int i = 0; i < 24 * 30; ++i) ASSERT_EQ(got[static_cast<size_t>(i)], i / 30 * 1000 + i % 30);
}

struct Warps {
  int down[32], up[32], exchanged[32], rotated[32], groups[32], halves[32];
  unsigned ballot[32], count[32], largest[32];
  int any[32], all[32];
};
__global__ void warp_functions(Warps* w) {
  const int l = lane_id();
  w->down[l] = __shfl_down_sync(kWholeWarp, l, 3);
  w->up[l] = __shfl_up_sync(kWholeWarp, l, 5);
  w->exchanged[l] = __shfl_xor_sync(kWholeWarp, l, 6);
  w->rotated[l] = __shfl_sync(kWholeWarp, l, l + 1);
  w->groups[l] = __shfl_down_sync(kWholeWarp, l, 1, 8);
  w->ballot[l] = __ballot_sync(kWholeWarp, l % 3 == 0);
  w->count[l] = __reduce_add_sync(kWholeWarp, static_cast<unsigned>(l));
  w->largest[l] = __reduce_max_sync(kWholeWarp, static_cast<unsigned>(l * 7 % 32));
  w->any[l] = __any_sync(kWholeWarp, l == 31);
  w->all[l] = __all_sync(kWholeWarp, l < 31);
  if (l < 16) w->halves[l] = __shfl_xor_sync(0xFFFFu, l, 1);  // the two halves of a warp go their own ways
  else w->halves[l] = __shfl_sync(0xFFFF0000u, l, 20);
}
TEST_P(Machine, WarpFunctions) {
  const Buffer<Warps> out(1);
  launch({1, 32}, "warp_functions", warp_functions, out.data());
  const Warps w = out.read()[0];
  for (int l = 0; l < 32; ++l) {
    SCOPED_TRACE("lane " + std::to_string(l));
    EXPECT_EQ(w.down[l], l + 3 < 32 ? l + 3 : l);
    EXPECT_EQ(w.up[l], l - 5 >= 0 ? l - 5 : l);
    EXPECT_EQ(w.exchanged[l], l ^ 6);
    EXPECT_EQ(w.rotated[l], (l + 1) % 32);
    EXPECT_EQ(w.groups[l], l % 8 == 7 ? l : l + 1);
    EXPECT_EQ(w.ballot[l], 0x49249249u);
    EXPECT_EQ(w.count[l], 496u);
    EXPECT_EQ(w.largest[l], 31u);
    EXPECT_EQ(w.any[l], 1);
    EXPECT_EQ(w.all[l], 0);
    EXPECT_EQ(w.halves[l], l < 16 ? l ^ 1 : 20);
  }
}

// What kernels call, and what they call where nvcc compiles them.
template <class T>
__global__ void reductions(const float* x, T* out) {
  const int l = lane_id();
  const T mine = static_cast<T>(x[l]);
  T v = mine;
  int at = l;
  warp_argmax(v, at);
  out[l] = warp_sum(mine), out[32 + l] = warp_max(mine), out[64 + l] = warp_min(mine), out[96 + l] = static_cast<T>(at),
  out[128 + l] = v;
}
template <class T>
__global__ void butterflies(const float* x, T* out) {
  const int l = lane_id();
  const T mine = static_cast<T>(x[l]);
  T v = mine;
  int at = l;
  butterfly::warp_argmax(v, at);
  out[l] = butterfly::warp_sum(mine), out[32 + l] = butterfly::warp_max(mine), out[64 + l] = butterfly::warp_min(mine),
  out[96 + l] = static_cast<T>(at), out[128 + l] = v;
}
template <class T>
void check_reductions(const std::vector<float>& x, const std::string& what) {
  const Buffer<float> in(x);
  const Buffer<T> once(160), stepwise(160);
  launch({1, 32}, "reductions", reductions<T>, in.data(), once.data());
  launch({1, 32}, "butterflies", butterflies<T>, in.data(), stepwise.data());
  const std::vector<T> a = once.read(), b = stepwise.read();
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(a[i] == b[i] || (a[i] != a[i] && b[i] != b[i])) << what << ", " << i << ": " << a[i] << " and " << b[i];
  if (std::any_of(x.begin(), x.end(), [](float v) { return v != v; })) return;
  const auto largest = std::max_element(x.begin(), x.end());  // the first of equal ones
  const T sum = std::accumulate(x.begin(), x.end(), T{0}, [](T s, float v) { return s + static_cast<T>(v); });
  for (size_t l = 0; l < 32; ++l) {
    EXPECT_NEAR(static_cast<double>(a[l]), static_cast<double>(sum), 0.01) << what;
    EXPECT_EQ(a[l], a[0]) << what << ": every lane has the same bits";
    EXPECT_EQ(a[32 + l], static_cast<T>(*largest)) << what;
    EXPECT_EQ(a[64 + l], static_cast<T>(*std::min_element(x.begin(), x.end()))) << what;
    EXPECT_EQ(a[96 + l], static_cast<T>(largest - x.begin())) << what << ": the lowest of equal ones";
    EXPECT_EQ(a[128 + l], static_cast<T>(*largest)) << what;
  }
}
TEST_P(Machine, WarpReductionsAreTheButterflyBitForBit) {
  std::vector<float> x(32);
  for (size_t i = 0; i < 32; ++i) x[i] = std::sin(static_cast<float>(i * i)) * std::exp2(static_cast<float>(i % 13));
  x[7] = x[20] = 5000;
  check_reductions<float>(x, "float");
  check_reductions<double>(x, "double");
  for (size_t lane = 0; lane < 32; ++lane) {  // every lane counts
    std::vector<float> one(32, 0.0f);
    for (const float v : {1.0f, -1.0f, std::numeric_limits<float>::quiet_NaN()}) {
      one[lane] = v;
      check_reductions<float>(one, "lane " + std::to_string(lane) + " holds " + std::to_string(v));
    }
  }
}

__global__ void votes(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  out[t] = __syncthreads_count(t % 2) * 100 + __syncthreads_and(t < 40) * 10 + __syncthreads_or(t == 39);
}
TEST_P(Machine, BarriersVote) {
  const Buffer<int> out(40);
  launch({1, 40}, "votes", votes, out.data());
  EXPECT_EQ(out.read(), std::vector<int>(40, 2011));
}

__global__ void passed_on(int* x, int rounds) {  // each block takes its neighbour's number, round by round
  for (int r = 0; r < rounds; ++r) {
    const int got = x[(blockIdx.x + 1) % gridDim.x];
    grid_sync();
    if (threadIdx.x == 0) x[blockIdx.x] = got + 1;
    grid_sync();
  }
}
TEST_P(Machine, CooperativeBlocksMeetAtTheGridBarrier) {
  const Buffer<int> x(std::vector<int>{10, 20, 30, 40, 50});
  launch({5, 33, 0, nullptr, true}, "passed_on", passed_on, x.data(), 3);
  EXPECT_EQ(x.read(), (std::vector<int>{43, 53, 13, 23, 33}));
}

// Each block sums what it holds, the first of a cluster adds the sums in the order of the ranks and tells all.
__global__ void cluster_sums(const float* x, float* sums, int blocks) {
  TESS_SHARED(part, float4);
  TESS_SHARED(total, float);
  const float own = warp_sum(x[blockIdx.x * 32 + threadIdx.x]);
  if (threadIdx.x == 0) part = {own, 2 * own, 0, static_cast<float>(cluster_rank())};
  cluster_sync();
  if (cluster_rank() == 0 && threadIdx.x == 0) {
    float sum = 0;
    for (int r = 0; r < blocks; ++r) {
      const float4 of = from_block(&part, r);
      sum = 2 * sum + of.x + of.y + of.w;
    }
    for (int r = 0; r < blocks; ++r) to_block(&total, r, sum + static_cast<float>(r));
  }
  cluster_sync();
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}
TEST_P(Machine, BlocksOfAClusterReachEachOther) {
  const Buffer<float> x(counted(6 * 32));
  const Buffer<float> sums(6);
  launch({6, 32, 0, nullptr, false, 3}, "cluster_sums", cluster_sums, x.data(), sums.data(), 3);
  std::vector<float> wanted;
  for (int first : {0, 3}) {
    float sum = 0;
    for (int r = 0; r < 3; ++r)
      sum = 2 * sum + 3 * (496 + 1024 * static_cast<float>(first + r)) + static_cast<float>(r);
    for (int r = 0; r < 3; ++r) wanted.push_back(sum + static_cast<float>(r));
  }
  EXPECT_EQ(sums.read(), wanted);
  const Buffer<float> alone(6);
  launch({6, 32}, "cluster_sums", cluster_sums, x.data(), alone.data(), 1);
  EXPECT_EQ(alone.read()[5], 3 * (496 + 1024 * 5)) << "without clusters a block is one of its own";
}

__global__ void counter(int* n) {
  atomicAdd(n, 2);
  atomicMax(n + 1, static_cast<int>(threadIdx.x));
}
TEST_P(Machine, Atomics) {
  const Buffer<int> n(std::vector<int>{0, -1});
  launch({3, 64}, "counter", counter, n.data());
  EXPECT_EQ(n.read(), (std::vector<int>{384, 63}));
}

__global__ void doubled(const float* x, float* y, int n) {  // double buffer: the next tile comes while this one is used
  TESS_SHARED(tile, float[2][32][4]);
  const int t = static_cast<int>(threadIdx.x);
  cp_async_16(tile[0][t], x + t * 4);
  cp_async_commit();
  for (int k = 0; k < n; ++k) {
    cp_async_16(tile[(k + 1) % 2][t], x + ((k + 1) * 32 + t) * 4, k + 1 < n);
    cp_async_commit();
    cp_async_wait<1>();
    __syncthreads();
    for (int i = 0; i < 4; ++i) y[(k * 32 + t) * 4 + i] = 2 * tile[k % 2][31 - t][i];
    __syncthreads();
  }
  cp_async_wait<0>();
}
TEST_P(Machine, AsynchronousCopiesArriveAtTheirWait) {
  const Buffer<float> x(counted(3 * 128)), y(3 * 128);
  launch({1, 32}, "doubled", doubled, x.data(), y.data(), 3);
  const std::vector<float> got = y.read();
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], 2 * static_cast<float>(i / 128 * 128 + (31 - i % 128 / 4) * 4 + i % 4));
}

// D = A·B from fragments as the PTX manual lays them out; the numbers tell any two indices apart.
template <int k_size, class Load, class Multiply>
__device__ void tile_product(const float* a, const float* b, float* d, Load&& load, Multiply&& multiply) {
  const int g = lane_id() / 4, t = lane_id() % 4;
  float sum[4] = {};
  uint32_t fa[4], fb[2];
  load(a, b, g, t, fa, fb);
  multiply(sum, fa, fb);
  for (int i = 0; i < 4; ++i) d[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = sum[i];
}
__global__ void tf32_tile(const float* a, const float* b, float* d) {
  tile_product<8>(
      a, b, d,
      [](const float* x, const float* y, int g, int t, uint32_t* fa, uint32_t* fb) {
        for (int i = 0; i < 4; ++i) fa[i] = to_tf32(x[(g + 8 * (i % 2)) * 8 + t + 4 * (i / 2)]);
        for (int i = 0; i < 2; ++i) fb[i] = to_tf32(y[(t + 4 * i) * 8 + g]);
      },
      [](float(&s)[4], const uint32_t(&fa)[4], const uint32_t(&fb)[2]) { mma_tf32(s, fa, fb); });
}
template <uint32_t (*pack)(float, float), class Multiply>
__device__ void half_tile(const float* a, const float* b, float* d, Multiply&& multiply) {
  tile_product<16>(
      a, b, d,
      [](const float* x, const float* y, int g, int t, uint32_t* fa, uint32_t* fb) {
        for (int i = 0; i < 4; ++i) {
          const float* p = x + (g + 8 * (i % 2)) * 16 + 2 * t + 8 * (i / 2);
          fa[i] = pack(p[0], p[1]);
        }
        for (int i = 0; i < 2; ++i) fb[i] = pack(y[(2 * t + 8 * i) * 8 + g], y[(2 * t + 8 * i + 1) * 8 + g]);
      },
      multiply);
}
__global__ void bf16_tile(const float* a, const float* b, float* d) {
  half_tile<pack_bf16>(a, b, d,
                       [](float(&s)[4], const uint32_t(&fa)[4], const uint32_t(&fb)[2]) { mma_bf16(s, fa, fb); });
}
__global__ void fp16_tile(const float* a, const float* b, float* d) {
  half_tile<pack_fp16>(a, b, d,
                       [](float(&s)[4], const uint32_t(&fa)[4], const uint32_t(&fb)[2]) { mma_fp16(s, fa, fb); });
}
void check_tile(int k_size, void (*kernel)(const float*, const float*, float*)) {
  const size_t k = static_cast<size_t>(k_size);
  std::vector<float> a(16 * k), b(k * 8), want(128);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>((i * 37 + 11) % 101) - 50;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>((i * 53 + 7) % 97) - 48;
  for (size_t r = 0; r < 16; ++r)
    for (size_t c = 0; c < 8; ++c)
      for (size_t i = 0; i < k; ++i) want[r * 8 + c] += a[r * k + i] * b[i * 8 + c];
  const Buffer<float> da(a), db(b), d(128);
  launch({1, 32}, "tile", kernel, da.data(), db.data(), d.data());
  EXPECT_EQ(d.read(), want);
}
TEST_P(Machine, TensorCoreFragments) {
  check_tile(8, tf32_tile);
  check_tile(16, bf16_tile);
  check_tile(16, fp16_tile);
}

// Four matrices of 8 × 8, a line of each lane's choice: here in reverse order, so that no lane reads its own.
__global__ void matrices(uint32_t* out) {
  TESS_SHARED(stage, uint16_t[32 * 8]);
  const int lane = lane_id();
  for (int c = 0; c < 8; ++c) stage[lane * 8 + c] = static_cast<uint16_t>(100 * lane + c);
  __syncwarp();
  uint32_t m[4];
  ldmatrix_4(m[0], m[1], m[2], m[3], stage + (31 - lane) * 8);
  for (int i = 0; i < 4; ++i) out[lane * 4 + i] = m[i];
}
TEST_P(Machine, MatricesOfSharedMemory) {
  const Buffer<uint32_t> out(128);
  launch({1, 32}, "matrices", matrices, out.data());
  const std::vector<uint32_t> got = out.read();
  for (int lane = 0; lane < 32; ++lane)
    for (int m = 0; m < 4; ++m) {
      const auto first = static_cast<uint32_t>(100 * (31 - (8 * m + lane / 4)) + 2 * (lane % 4));
      ASSERT_EQ(got[static_cast<size_t>(lane * 4 + m)], first | (first + 1) << 16) << lane << " " << m;
    }
}

// Sixteen bytes, or zeros in their place.
__global__ void some_copies(const float* x, float* y) {
  TESS_SHARED(tile, float[32][4]);
  const int t = static_cast<int>(threadIdx.x);
  cp_async_16(tile[t], x + 4 * t, t % 3 != 0);
  cp_async_commit();
  cp_async_wait<0>();
  for (int i = 0; i < 4; ++i) y[4 * t + i] = tile[t][i];
}
TEST_P(Machine, CopiesOfSome) {
  std::vector<float> want(128);
  std::iota(want.begin(), want.end(), 1.0f);
  const Buffer<float> x(want), y(128);
  launch({1, 32}, "some_copies", some_copies, static_cast<const float*>(x.data()), y.data());
  for (size_t i = 0; i < 128; ++i)
    if (i / 4 % 3 == 0) want[i] = 0;
  EXPECT_EQ(y.read(), want);
}

TEST(MachineRounding, Tf32KeepsTenBitsAndBfloatSeven) {
  EXPECT_EQ(__uint_as_float(to_tf32(1.0f + 0x1p-11f)), 1.0f + 0x1p-10f) << "ties go away from zero";
  EXPECT_EQ(__uint_as_float(to_tf32(1.0f + 0x1p-12f)), 1.0f);
  EXPECT_EQ(pack_bf16(1.0f + 0x1p-8f, 1.0f + 0x3p-8f) & 0xFFFFu, 0x3F80u) << "ties go to even";
  EXPECT_EQ(pack_bf16(1.0f + 0x1p-8f, 1.0f + 0x3p-8f) >> 16, 0x3F82u);
}

}  // namespace
}  // namespace tessera
