// What is true of the matmul kernels alone: products of rounded factors and of factors in parts, and that cutting a
// product changes no bit.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "gpu/watched.h"
#include "kernels/gpu/dialect/table.h"
#include "ops/op_check.h"
#include "support/rounded_cases.h"

namespace tessera::oracle {
namespace {

Ran run_gpu(const Case& c, const Grids& in, Layout layout = {}) {
  return run_kernel(kernels_cuda(), c, in, layout,
                    [](const Kernel& kernel, const Call& call, int64_t tile, void* scratch) {
                      const Watched watched(kernel, call, scratch);
                      GpuContext context{nullptr, scratch};
                      kernel.run(call, tile, &context);
                    });
}

// While it lives, fp32 is multiplied by tensor cores.
struct Parts {
  Parts() { setenv("TESSERA_CUDA_FP32", "tf32x3", 1); }
  ~Parts() { unsetenv("TESSERA_CUDA_FP32"); }
};

constexpr Precision kFactors[] = {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16};

Case random_product(bool ta, bool tb, int64_t m, int64_t n, std::vector<int64_t> depths, int64_t addend_rows = 0,
                    Precision factors = Precision::fp32) {
  Case c = {};
  const Matmul op{ta, tb, static_cast<int>(depths.size()), addend_rows > 0, 0, factors};
  c.op = op;
  for (const int64_t k : depths) {
    c.in.push_back(ta ? real(k, m) : real(m, k));
    c.in.push_back(tb ? real(n, k) : real(k, n));
  }
  if (op.addend) c.in.push_back(real(addend_rows, n));
  c.by_rows = !ta;
  return c;
}

// The op says to what its factors are rounded; the reference multiplies what is left of them.
class GpuProducts : public OfPrecision {};
TESSERA_OF_EACH_PRECISION(GpuProducts);

TEST_P(GpuProducts, AreThoseOfRoundedFactors) {
  each_rounded_case(GetParam(), [](const Case& c, const Grids& in, const Grids& want) {
    if (!has_kernel(kernels_cuda(), c.op)) return;
    for (const Layout& l : {Layout{}, Layout{3, 1}, Layout{5, 4, 0, 4}})
      compare(want, run_gpu(c, in, l), FLT_EPSILON, 2 * FLT_MIN, 8);
    emulation::set_schedule({emulation::Schedule::random, 5});
    const Ran again = run_gpu(c, in);
    emulation::set_schedule({});
    same_bits(run_gpu(c, in), again, "random schedule");
  });
}

// k is split by K only and slices are added in order, whether they have separate blocks (few tiles) or not (many).
TEST(GpuMatmul, ABlockOfItsOwnForEachSliceChangesNoBit) {
  const Case c = random_product(false, false, 127 * 64 + 5, 3, {385, 0, 520}, 1);
  const Grids in = draw_inputs(c, true);
  std::vector<int64_t> some(70);
  std::iota(some.begin(), some.end(), 100);
  const Batch few = picked(c, in, some);
  const Ran whole = run_gpu(c, in), part = run_gpu(few.c, few.in);
  Ran same = part;
  same.out[0].assign(whole.out[0].begin() + 100 * 3, whole.out[0].begin() + 170 * 3);
  same_bits(same, part, "rows 100 to 170");
}

// More pairs than one launch takes: the later launches add to what the earlier ones left.
TEST(GpuMatmul, AnyNumberOfPairs) {
  for (const bool addend : {false, true}) {
    const Case many =
        random_product(true, false, 9, 70, {3, 1, 40, 2, 5, 8, 33, 0, 6, 7, 4, 300, 2, 9}, addend ? 9 : 0);
    const Grids in = draw_inputs(many, true);
    Grid want(9, 70);
    for (int64_t i = 0; i < 9; ++i)
      for (int64_t j = 0; j < 70; ++j) {
        if (addend) want(i, j) = in.back()(i, j);
        for (size_t p = 0; p + 1 < in.size(); p += 2)
          for (int64_t k = 0; k < in[p].rows; ++k) want(i, j) += in[p](k, i) * in[p + 1](k, j);
      }
    compare({want}, run_gpu(many, in, {3, 1}), FLT_EPSILON, 2 * FLT_MIN);
  }
}

// fp32 by tensor cores: the error of an element beside Σ|a·b|, for signs that cancel and signs that do not.
TEST(GpuMatmul, Fp32InPartsOfTf32IsAsExactAsFp32) {
  double worst = 0;
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const auto& [m, n, k] : {std::tuple{70, 40, 31}, {33, 65, 256}, {5, 34, 700}, {64, 32, 64}})
        for (const bool positive : {false, true}) {
          const Case c = random_product(ta, tb, m, n, {k});
          Grids in = draw_inputs(c, true);
          for (size_t i = 0; i < 2; ++i)
            for (Number& x : in[i].cells) x = static_cast<float>(positive ? std::fabs(x.v) : x.v);
          const Parts parts;
          const Ran got = run_gpu(c, in, {3, 1});
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
              double want = 0, size = 0;
              for (int64_t q = 0; q < k; ++q) {
                const double x = (ta ? in[0](q, i) : in[0](i, q)).v * (tb ? in[1](j, q) : in[1](q, j)).v;
                want += x, size += std::fabs(x);
              }
              worst = std::max(worst, std::fabs(got.out[0][static_cast<size_t>(i * n + j)] - want) / size);
            }
        }
  RecordProperty("error", std::to_string(worst));
  EXPECT_LE(worst, 1e-6);
  EXPECT_GT(worst, 0) << "nothing was multiplied";
}

// A = identity and B = identity with distinct small integers on the other side: any swapped index of a fragment shows.
TEST(GpuMatmul, IdentityGivesTheOtherFactorBackInEveryPrecision) {
  for (const Precision factors : kFactors)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const bool left : {false, true}) {
          const Case c = random_product(ta, tb, 64, 64, {64}, 0, factors);
          Grids in = draw_inputs(c, true);
          for (int64_t i = 0; i < 64; ++i)
            for (int64_t j = 0; j < 64; ++j) {
              in[left ? 0 : 1](i, j) = i == j;
              in[left ? 1 : 0](i, j) = static_cast<double>((i * 64 + j) % 251) - 125;  // 8 bits hold them
            }
          const Ran got = run_gpu(c, in);
          const bool trans = left ? tb : ta;
          for (int64_t i = 0; i < 64; ++i)
            for (int64_t j = 0; j < 64; ++j)
              ASSERT_EQ(got.out[0][static_cast<size_t>(i * 64 + j)], in[left ? 1 : 0](trans ? j : i, trans ? i : j).v);
        }
}

// Small integers, which every precision multiplies exactly, in products that are made by tiles of 32 and of 64 rows.
TEST(GpuMatmul, TilesOfEverySizeAreExact) {
  constexpr int64_t kDepth = 37;
  for (const Precision factors : kFactors)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{40, 36}, {420, 380}}) {
          const Case c = random_product(ta, tb, rows, cols, {kDepth}, 0, factors);
          Grids in = draw_inputs(c, true);
          for (size_t k = 0; k < 2; ++k)
            for (size_t i = 0; i < in[k].cells.size(); ++i)
              in[k].cells[i] = static_cast<double>((i * (k == 0 ? 37 : 53)) % 15) - 7;
          const Ran got = run_gpu(c, in);
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < cols; ++j) {
              double want = 0;
              for (int64_t k = 0; k < kDepth; ++k)
                want += (ta ? in[0](k, i) : in[0](i, k)).v * (tb ? in[1](j, k) : in[1](k, j)).v;
              ASSERT_EQ(got.out[0][static_cast<size_t>(i * cols + j)], want) << rows << " rows, " << i << ", " << j;
            }
        }
}

}  // namespace
}  // namespace tessera::oracle
