// Products of rounded factors on every instruction set, and the pass that decides which products round.
#include <cfloat>
#include <cmath>
#include <limits>

#include "ops/op_check.h"
#include "support/rounded_cases.h"
#include "support/sandbox.h"

namespace tessera::oracle {
namespace {

using sandbox::Sandbox;

// AMX sums products of bf16 in its own order (amx.cpp). Activations of cells, and sums over the lanes of a vector,
// differ
// in the last digits between instruction sets.
bool sums_in_one_chain(const KernelTable* table, const Case& c) {
  if (std::holds_alternative<Recurrent>(c.op) || std::holds_alternative<RecurrentGrad>(c.op) ||
      std::holds_alternative<RecurrentWgrad>(c.op))
    return false;
  return table != cpu_kernels("amx_bf16") || std::visit(
                                                 [](const auto& op) {
                                                   if constexpr (requires { op.factors; })
                                                     return op.factors != Precision::bf16;
                                                   else return true;
                                                 },
                                                 c.op);
}

class RoundedProducts : public OfPrecision {};
TESSERA_OF_EACH_PRECISION(RoundedProducts);

TEST_P(RoundedProducts, MatchRoundedFactorsOnEveryInstructionSet) {
  each_rounded_case(GetParam(), [](const Case& c, const Grids& in, const Grids& want) {
    for (const Layout& l : {Layout{}, Layout{3, 1, 1}, Layout{7, 5, 2}}) {
      const Ran first = run_kernel(*cpu_kernels("plain"), c, in, l);
      for (const KernelTable* table : float_tables()) {
        const Ran ran = run_kernel(*table, c, in, l);
        compare(want, ran, FLT_EPSILON, 2 * FLT_MIN);
        if (sums_in_one_chain(table, c)) same_bits(first, ran, table->name);
        if (table == cpu_kernels("avx512_bf16")) same_bits(run_kernel(*cpu_kernels("avx512"), c, in, l), ran, "avx512");
      }
      compare(want, run_kernel(*cpu_kernels("double"), c, in, l), DBL_EPSILON, 2 * DBL_MIN);
    }
  });
}

TEST_P(RoundedProducts, KeepRowBitsInAnyBatch) {
  each_rounded_case(GetParam(), [](const Case& c, const Grids& in, const Grids&) {
    if (!c.by_rows || batch_rows(c) < 2) return;
    for (const KernelTable* table : float_tables())
      rows_have_their_bits_anywhere(
          c, in, {1, 2, 13, 15, 29},
          [&](const Case& part, const Grids& rows, const Layout& l) { return run_kernel(*table, part, rows, l); },
          table->name);
  });
}

// Each op that reads 16-bit inputs reads them exactly, at every input position.
TEST(NarrowValues, AreReadExactly) {
  int count = 0;
  for (Case c : all_cases()) {
    const OperandSet can = traits(c.op, c.in.size()).narrow;
    for (const DType type : {DType::bf16, DType::fp16}) {
      size_t factors = 0;
      with_factors(c, stored_as(type), factors);
      Grids in = draw_inputs(c, true);
      for (size_t which = 0; which < 3; ++which) {  // all; every other one
        Case narrow = c;
        bool any = false;
        for (size_t i = 0; i < in.size(); ++i) {
          if (!can.has(i) || c.in[i].absent || (which > 0 && i % 2 == which - 1)) continue;
          any = true;
          narrow.in[i].dtype = type;
          for (Number& x : in[i].cells) x = narrow_value(narrow_bits(x.v, type), type);
        }
        if (!any) continue;
        ++count;
        SCOPED_TRACE(c.note + ", " + op_name(c.op));
        std::vector<const KernelTable*> tables = float_tables();
        tables.push_back(cpu_kernels("double"));
        for (const KernelTable* table : tables)
          for (const Layout& l : {Layout{}, Layout{3, 1, 1}, Layout{7, 5, 2}}) {
            const Ran wide = run_kernel(*table, c, in, l), ran = run_kernel(*table, narrow, in, l);
            EXPECT_EQ(ran.damage, "") << table->name;
            same_bits(wide, ran, table->name);
          }
      }
    }
  }
  EXPECT_GT(count, 400);
}

// 16-bit outputs are the fp32 ones, rounded once; the others do not change.
TEST(NarrowValues, AreRoundedToNearest) {
  int count = 0;
  for (Case c : all_cases()) {
    const OperandSet can = traits(c.op, c.in.size()).narrow_out;
    if (!can.any()) continue;
    const Grids in = draw_inputs(c, true);
    SCOPED_TRACE(c.note + ", " + op_name(c.op));
    std::vector<const KernelTable*> tables = float_tables();
    tables.push_back(cpu_kernels("double"));
    for (const DType type : {DType::bf16, DType::fp16})
      for (const KernelTable* table : tables)
        for (const Layout& l : {Layout{}, Layout{3, 1, 1}, Layout{7, 5, 2}}) {
          c.narrow_out = DType::real;
          Ran want = run_kernel(*table, c, in, l);
          for (size_t k = 0; k < want.out.size(); ++k)
            for (double& x : want.out[k])
              if (can.has(k)) x = narrow_value(narrow_bits(x, type), type);
          c.narrow_out = type;
          const Ran ran = run_kernel(*table, c, in, l);
          EXPECT_EQ(ran.damage, "") << table->name;
          same_bits(want, ran, table->name);
          ++count;
        }
  }
  EXPECT_GT(count, 100);
}

// A factor and its rounded value.
using Roundings = std::vector<std::pair<double, double>>;

// Products of each factor with 1, on every instruction set.
void are_read_as(Precision precision, const Roundings& pairs) {
  Case c;
  c.op = Matmul{false, false, 1, false, 0, precision};
  c.in = {real(static_cast<int64_t>(pairs.size()) + 1, 1), real(1, 1)};
  Grids in = draw_inputs(c, true);
  in[1](0, 0) = 1;
  for (size_t i = 0; i < pairs.size(); ++i) in[0](static_cast<int64_t>(i), 0) = pairs[i].first;
  in[0](static_cast<int64_t>(pairs.size()), 0) = std::nan("");
  std::vector<const KernelTable*> tables = float_tables();
  tables.push_back(cpu_kernels("double"));
  for (const KernelTable* table : tables) {
    const Ran ran = run_kernel(*table, c, in, {});
    for (size_t i = 0; i < pairs.size(); ++i)
      EXPECT_EQ(ran.out[0][i], pairs[i].second) << pairs[i].first << ", " << table->name << ", " << name_of(precision);
    EXPECT_TRUE(std::isnan(ran.out[0].back())) << table->name;
  }
  if (precision == Precision::tf32) return;
  c.op = Narrow{precision};
  c.in.pop_back(), in.pop_back();
  for (const KernelTable* table : tables) {
    const Ran ran = run_kernel(*table, c, in, {});
    for (size_t i = 0; i < pairs.size(); ++i)
      EXPECT_EQ(ran.out[0][i], pairs[i].second) << pairs[i].first << ", narrow, " << table->name;
    EXPECT_TRUE(std::isnan(ran.out[0].back())) << table->name;
  }
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(RoundedProducts, RoundBf16ToNearestEven) {
  const double unit = std::ldexp(1, -7);
  are_read_as(Precision::bf16, {{1, 1},
                                {1 + unit / 2, 1},               // half way: down to even
                                {1 + unit * 1.5, 1 + 2 * unit},  // half way: up to even
                                {-1 - unit * 1.5, -1 - 2 * unit},
                                {1 + unit * 0.501, 1 + unit},
                                {2 - unit / 2, 2},  // carries into the exponent
                                {FLT_MAX, kInfinity},
                                {-kInfinity, -kInfinity},
                                {FLT_MIN, FLT_MIN},
                                {FLT_MIN / 2, 0},  // subnormal
                                {0, 0}});
}

TEST(RoundedProducts, RoundTf32ToNearestAwayFromZero) {
  const double unit = std::ldexp(1, -10);
  are_read_as(Precision::tf32, {{1, 1},
                                {1 + unit / 2, 1 + unit},
                                {-1 - unit / 2, -1 - unit},
                                {1 + unit * 1.5, 1 + 2 * unit},
                                {1 + unit * 0.499, 1},
                                {2 - unit / 2, 2},  // carries into the exponent
                                {FLT_MAX, kInfinity},
                                {-kInfinity, -kInfinity},
                                {FLT_MIN * (1 + unit), FLT_MIN * (1 + unit)},
                                {FLT_MIN * unit * 7.25, FLT_MIN * unit * 7},  // subnormal: as many bits as are left
                                {0, 0}});
}

TEST(RoundedProducts, RoundFp16ToNearestWithinRange) {
  const double unit = std::ldexp(1, -10), least = std::ldexp(1, -14);
  are_read_as(Precision::fp16, {{1, 1},
                                {1 + unit / 2, 1},
                                {1 + unit * 1.5, 1 + 2 * unit},
                                {-1 - unit * 1.5, -1 - 2 * unit},
                                {2 - unit / 2, 2},
                                {65504, 65504},
                                {65519, 65504},
                                {65520, kInfinity},
                                {-1e30, -kInfinity},
                                {kInfinity, kInfinity},
                                {least, least},
                                {least * (1 - unit / 2), least},  // a tie among subnormals: to even
                                {-least * unit * 2.5, -least * unit * 2},
                                {least * unit * 3.5, least * unit * 4},
                                {least * unit / 2, 0},
                                {least * unit * 0.501, least * unit},
                                {FLT_MIN / 2, 0},
                                {0, 0}});
}

int products(const Plan& plan, Precision factors) {
  int count = 0;
  for (const Node& x : plan.nodes)
    if (const auto* m = std::get_if<Matmul>(&x.op)) count += m->factors == factors;
  return count;
}

Plan made(const Sandbox& s, Precision precision, const std::set<std::string>& off = {}) {
  Plan plan = s.plan;
  plan.precision = precision;
  optimize(plan, off);
  return plan;
}

TEST(PrecisionPass, RoundsProductsOnRequestOnly) {
  Sandbox s;
  const Var x = s.real("x", {8, 5});
  s.see(matmul(tanh(matmul(x, s.real("w", {5, 6}))), s.real("v", {6, 3})), "y");
  EXPECT_EQ(products(made(s, Precision::fp32), Precision::fp32), 2);
  EXPECT_EQ(products(made(s, Precision::bf16), Precision::bf16), 2);
  EXPECT_EQ(products(made(s, Precision::bf16, {"precision"}), Precision::fp32), 2);
  const Plan plan = made(s, Precision::bf16);
  for (const Node& n : plan.nodes) {
    const FactorType type = factor_type(plan, n);
    EXPECT_EQ(type.precision == Precision::bf16, std::holds_alternative<Matmul>(n.op)) << type.why;
    EXPECT_STRNE(type.why, "");
  }
}

// y = relu(x·W)·v, with the norm of ∂y/∂x in the loss: products that read ∂y/∂x are exact, products that compute it or
// y are not.
TEST(PrecisionPass, KeepsSecondOrderPathOfPenaltyExact) {
  Sandbox s;
  ParameterSet set;
  set.name = "critic";
  const Weight w = set.add("w", {5, 6}), v = set.add("v", {6, 1});
  s.own(set);
  const Var x = s.real("x", {8, 5}), h = matmul(x, s.r(w)), y = matmul(relu(h), s.r(v));
  const Var slope = pullback(s.r, {y}, {fill(s.r, y.shape(), 1)}, {x})[0], norm = sqrt(row_dot(slope, slope));
  s.see(h, "hidden"), s.see(y, "y"), s.see(slope, "slope");
  s.r.minimize(mean(y) + mean(square(norm + -1.0)), set, {});
  const Plan plan = made(s, Precision::bf16);
  const auto factors = [&](const char* name) { return plan.made_by<Matmul>(plan.find(name))->factors; };
  for (const char* name : {"hidden", "y", "slope"}) EXPECT_EQ(factors(name), Precision::bf16) << name;
  int exact = 0;
  for (const Node& n : plan.nodes) {
    if (std::string(factor_type(plan, n).why).find("second-order") == std::string::npos) continue;
    EXPECT_EQ(std::get<Matmul>(n.op).factors, Precision::fp32);
    ++exact;
  }
  EXPECT_GE(exact, 2) << "the gradients of both weights hold the penalty's";
}

}  // namespace
}  // namespace tessera::oracle
