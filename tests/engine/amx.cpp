// Products of bf16 by AMX have the bits that Intel's description of TDPBF16PS gives, computed here one number at a time
// (kernels/cpu/product_amx.h).
#include <cmath>

#include "ops/op_check.h"
#include "support/rounded_cases.h"

namespace tessera::oracle {
namespace {

float normal_or_zero(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
float add(float a, float b) { return normal_or_zero(normal_or_zero(a) + normal_or_zero(b)); }
float add_product(float a, float b, float sum) { return normal_or_zero(std::fmaf(a, b, sum)); }

constexpr int64_t kTilePairs = 16, kBlockPairs = 256;

// Factors of one element of a product, rounded.
struct Chain {
  std::vector<float> a, b;
  int64_t pairs() const { return (static_cast<int64_t>(a.size()) + 1) / 2; }
  float product(int64_t k, float sum) const {
    const size_t i = static_cast<size_t>(k);
    return i < a.size() ? add_product(a[i], b[i], sum) : add_product(0, 0, sum);
  }
  // The sum that one instruction adds to the tile, over the pairs from k on.
  float tile(int64_t k) const {
    float first = 0, second = 0;
    for (int64_t pair = k; pair < k + kTilePairs; ++pair)
      first = product(2 * pair, first), second = product(2 * pair + 1, second);
    return add(first, second);
  }
  // The pairs are cut into blocks of equal size, in whole tiles. Each block is summed from 0 and added to `sum`.
  float added_to(float sum, bool there) const {
    const int64_t blocks = std::max<int64_t>(1, (pairs() + kBlockPairs - 1) / kBlockPairs),
                  each = ((pairs() + blocks - 1) / blocks + kTilePairs - 1) / kTilePairs * kTilePairs;
    for (int64_t k0 = 0; k0 == 0 || k0 < pairs(); k0 += std::max(each, kTilePairs)) {
      float block = 0;
      for (int64_t k = k0; k < std::min(k0 + each, pairs()); k += kTilePairs) block = add(block, tile(k));
      sum = there ? block + sum : block, there = true;
    }
    return sum;
  }
};

float element(const Matmul& op, const Grids& in, int64_t i, int64_t j) {
  bool there = op.addend;
  float sum = there ? static_cast<float>(in.back().wide(i, j).v) : 0;
  for (int p = 0; p < op.pairs; ++p) {
    const Grid &a = in[static_cast<size_t>(2 * p)], &b = in[static_cast<size_t>(2 * p + 1)];
    Chain chain;
    for (int64_t k = 0; k < (op.trans_a ? a.rows : a.cols); ++k) {
      chain.a.push_back(static_cast<float>((op.trans_a ? a(k, i) : a(i, k)).v));
      chain.b.push_back(static_cast<float>((op.trans_b ? b(j, k) : b(k, j)).v));
    }
    sum = chain.added_to(sum, there), there = true;
  }
  return sum;
}

TEST(Amx, MatchesSpecificationOfTdpbf16ps) {
  const KernelTable* table = cpu_kernels("amx_bf16");
  if (table == nullptr) GTEST_SKIP() << "this processor, system or build has no AMX for bf16";
  int products = 0;
  each_rounded_case(Precision::bf16, [&](const Case& c, const Grids& in, const Grids&) {
    const auto* op = std::get_if<Matmul>(&c.op);
    if (op == nullptr) return;
    const Grids rounded = rounded_factors(in, static_cast<size_t>(2 * op->pairs), op->factors);
    const Ran ran = run_kernel(*table, c, in, {3, 1, 1});
    const int64_t cols = op->trans_b ? in[1].rows : in[1].cols;
    for (size_t e = 0; e < ran.out[0].size(); ++e) {
      const auto i = static_cast<int64_t>(e) / cols, j = static_cast<int64_t>(e) % cols;
      ASSERT_EQ(static_cast<float>(ran.out[0][e]), element(*op, rounded, i, j)) << "row " << i << " column " << j;
    }
    ++products;
  });
  EXPECT_GT(products, 40);
}

}  // namespace
}  // namespace tessera::oracle
