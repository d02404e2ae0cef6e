// Properties of every op, checked from its description (op_case.h): values in float on every instruction set and in
// double, gradients and second derivatives by central differences, fused = composed, laws, every float, bits. One test
// per op and property; an op of TESSERA_OPS without a case fails.
#include <cfloat>
#include <limits>

#include "ops/op_check.h"

namespace tessera::oracle {
namespace {

class Ops : public OpTest {};

const Layout kLayouts[] = {{0, 0, 0}, {3, 1, 1}, {7, 5, 2}};

TEST_P(Ops, ValueInFloatOnEveryInstructionSet) {
  each_case([](const Case& c) {
    const Grids in = draw_inputs(c, true), want = c.reference(in);
    for (const KernelTable* table : float_tables())
      for (const Layout& l : kLayouts) {
        SCOPED_TRACE(std::string(table->name) + ", rows " + std::to_string(l.pad) + " apart");
        compare(want, run_kernel(*table, c, in, l), FLT_EPSILON, 2 * FLT_MIN);
      }
  });
}

TEST_P(Ops, ValueInDouble) {
  each_case([](const Case& c) {
    const Grids in = draw_inputs(c, false), want = c.reference(in);
    for (const Layout& l : kLayouts)
      compare(want, run_kernel(*cpu_kernels("double"), c, in, l), DBL_EPSILON, 2 * DBL_MIN);
  });
}

// TESSERA_OPS lists the parts that kernels compute; the traits state the inputs of a part. A part without traits would
// never be used.
TEST_P(Ops, TraitsDescribeThePartsOfKernels) {
  bool rows = false, cols = false, elements = false;
  int parts = Parts::whole;
  each_case([&](const Case& c) {
    const Traits t = traits(c.op, c.in.size());
    parts = parts_of(c.op);
    rows = rows || t.rows || t.move.view();
    cols = cols || t.cols;
    elements = elements || t.elements || t.sums.has(0);  // or sums of few rows, by the thread of an element
    EXPECT_TRUE(!c.by_rows || t.rows) << "its rows are made one by one";
  });
  EXPECT_TRUE((parts & (Parts::blocks | Parts::rows)) == 0 || rows);
  EXPECT_TRUE((parts & Parts::cols) == 0 || cols);
  EXPECT_TRUE((parts & Parts::elements) == 0 || elements);
}

TEST_P(Ops, LawsHold) {
  each_case([](const Case& c) {
    for (const KernelTable* table : {float_tables().back(), cpu_kernels("double")}) {
      const Grids in = draw_inputs(c, table->scalar_bytes == 4);
      const Ran ran = run_kernel(*table, c, in, {});
      Grids out = c.reference(in);
      for (size_t k = 0; k < out.size(); ++k)
        for (size_t i = 0; i < out[k].cells.size(); ++i) out[k].cells[i] = ran.out[k][i];
      for (const Law& law : c.laws)
        EXPECT_LE(law.distance(in, out), 500 * (table->scalar_bytes == 4 ? FLT_EPSILON : DBL_EPSILON))
            << law.sentence << ", " << table->name;
    }
  });
}

TEST_P(Ops, PropagateNanAndInfinity) {
  each_case([](const Case& c) {
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
      for (size_t i = 0; i < c.in.size(); ++i) {
        if (c.in[i].absent || c.in[i].dtype == DType::index || c.in[i].shape.count() == 0) continue;
        Grids in = draw_inputs(c, true);
        in[i].cells[in[i].cells.size() / 2] = bad;
        const Grids want = c.reference(in);
        for (const KernelTable* table : float_tables()) {
          const Ran got = run_kernel(*table, c, in, kLayouts[1]);
          for (size_t k = 0; k < want.size(); ++k)
            for (size_t e = 0; e < want[k].cells.size(); ++e)
              ASSERT_EQ(std::isfinite(got.out[k][e]), std::isfinite(want[k].cells[e].v))
                  << table->name << ": input " << i << " holds " << bad << ", output " << k << " element " << e
                  << " is " << got.out[k][e];
        }
      }
  });
}

TEST_P(Ops, BitsAreIndependentOfLayout) {
  each_case([](const Case& c) {
    const Grids in = draw_inputs(c, true);
    for (const KernelTable* table : float_tables()) {
      const Ran aligned = run_kernel(*table, c, in, {});
      for (int64_t offset = 1; offset < 16; ++offset)
        same_bits(aligned, run_kernel(*table, c, in, {offset % 4, offset, static_cast<int>(offset % 3)}), table->name);
    }
  });
}

// All sizes up to two tiles of the smallest kind (a vector's lanes, the rows of a register block) and around those of
// the larger.
const std::vector<int64_t>& batch_sizes() {
  static const std::vector<int64_t> sizes = [] {
    std::vector<int64_t> s;
    for (int64_t n = 1; n <= 2 * 16 + 1; ++n) s.push_back(n);
    s.insert(s.end(), {63, 64, 65, 225, 449});
    return s;
  }();
  return sizes;
}

TEST_P(Ops, RowBitsAreBatchIndependent) {
  each_case([](const Case& c) {
    const Grids in = draw_inputs(c, true);
    for (const KernelTable* table : float_tables())
      rows_have_their_bits_anywhere(
          c, in, batch_sizes(),
          [&](const Case& batch, const Grids& values, const Layout& l) { return run_kernel(*table, batch, values, l); },
          table->name);
  });
}

// Sampled rows consist of such ops, so they are the same on processors with AVX2 and with AVX-512.
TEST_P(Ops, RowBitsAgreeInAvx2AndAvx512) {
  const KernelTable *narrow = cpu_kernels("avx2"), *wide = cpu_kernels("avx512");
  if (narrow == nullptr || wide == nullptr) GTEST_SKIP() << "this processor or build has not both";
  each_case([&](const Case& c) {
    const Grids in = draw_inputs(c, true);
    if (c.by_rows) same_bits(run_kernel(*narrow, c, in, {}), run_kernel(*wide, c, in, {}), "AVX2 and AVX-512");
  });
}

// ---- every float --------------------------------------------------------------------------------
std::vector<double> extremes() {
  std::vector<double> all;
  for (const double x :
       {0.0, 1e-40, 1.0, 88.0, 1e4, 1e30, static_cast<double>(FLT_MAX), std::numeric_limits<double>::infinity()})
    all.insert(all.end(), {x, -x});
  all.push_back(std::numeric_limits<double>::quiet_NaN());
  for (double& x : all) x = static_cast<double>(static_cast<float>(x));
  return all;
}

// Values that training never produces, but a file may hold: kernels are defined for them (under UBSan), and neighboring
// elements keep their bits.
TEST_P(Ops, AreDefinedForEveryFloat) {
  each_case([](const Case& c) {
    const std::vector<double> special = extremes();
    for (size_t round = 0; round < 3; ++round) {
      Grids in = draw_inputs(c, true);
      for (size_t i = 0; i < in.size(); ++i)
        for (size_t e = 0; e < in[i].cells.size() && c.in[i].dtype == DType::real; ++e)
          if ((e + i) % (round + 1) == 0) in[i].cells[e] = special[(e * 5 + i * 3 + round) % special.size()];
      for (const KernelTable* table : float_tables()) {
        EXPECT_EQ(run_kernel(*table, c, in, kLayouts[round]).damage, "") << table->name;
        rows_have_their_bits_anywhere(
            c, in, {5, 17, 32},
            [&](const Case& batch, const Grids& values, const Layout& l) {
              return run_kernel(*table, batch, values, l);
            },
            table->name);
      }
    }
  });
}

TEST(Functions, MatchDoubleForEveryFloat) {
  const std::vector<double> special = extremes();
  for (const Case& c : all_cases()) {
    if (!std::holds_alternative<Unary>(c.op)) continue;
    Grids in = draw_inputs(c, true);
    for (size_t e = 0; e < in[0].cells.size(); ++e) in[0].cells[e] = special[e % special.size()];
    const Grids want = c.reference(in);
    for (const KernelTable* table : float_tables()) {
      const Ran got = run_kernel(*table, c, in, {});
      for (size_t e = 0; e < in[0].cells.size(); ++e) {
        const double x = in[0].cells[e].v, w = static_cast<double>(static_cast<float>(want[0].cells[e].v)),
                     g = got.out[0][e];
        const bool same = std::isnan(w)   ? std::isnan(g)
                          : std::isinf(w) ? g == w
                                          : std::fabs(g - w) <= 8 * FLT_EPSILON * std::fabs(w) + 2 * FLT_MIN;
        ASSERT_TRUE(same) << c.note << " on " << table->name << " of " << x << " is " << g << ", not " << w;
      }
    }
  }
}

// ---- derivatives --------------------------------------------------------------------------------
constexpr double kStep = 1e-5, kTolerance = 1e-6;

// Central differences of run(name) by up to 16 elements of a tensor, against the gradient there.
template <class Element>
void differences(Study& s, const char* name, const std::vector<double>& gradient, size_t count, double scale,
                 Element&& element, const std::string& what) {
  std::mt19937_64 random(11);
  for (size_t n = 0; n < std::min<size_t>(count, 16); ++n) {
    const size_t i = count <= 16 ? n : std::uniform_int_distribution<size_t>(0, count - 1)(random);
    double& x = element(i);
    const double was = x;
    x = was + kStep;
    const double up = s.run(name)[0];
    x = was - kStep;
    const double down = s.run(name)[0];
    x = was;
    ASSERT_NEAR(gradient.empty() ? 0 : gradient[i], (up - down) / (2 * kStep), kTolerance * scale)
        << what << ", element " << i;
  }
}

double largest(const std::vector<std::vector<double>>& all) {
  double m = 1;
  for (const auto& v : all)
    for (const double x : v) m = std::max(m, std::fabs(x));
  return m;
}

// Gradients of "value" by the case's smooth inputs and by the study's other tensors.
void check_gradients(Study& s, const Case& c, const std::vector<Var>& wrt, const std::vector<Var>& grads,
                     const char* name, const char* prefix) {
  std::vector<std::vector<double>> values;
  for (size_t i = 0; i < wrt.size(); ++i)
    values.push_back(grads[i] ? s.run(prefix + std::to_string(i)) : std::vector<double>{});
  const double scale = largest(values);
  size_t k = 0;
  for (size_t i = 0; i < c.in.size(); ++i) {
    if (c.in[i].absent || !c.in[i].smooth) continue;
    differences(
        s, name, values[k], s.values[i].cells.size(), scale,
        [&](size_t e) -> double& { return s.values[i].cells[e].v; },
        std::string(name) + " by input " + std::to_string(i));
    ++k;
  }
  for (size_t t = 0; k < wrt.size(); ++k, ++t)
    differences(
        s, name, values[k], s.extra_size(t), scale, [&](size_t e) -> double& { return s.extra(t, e); },
        std::string(name) + " by the gradient given for output " + std::to_string(t));
}

std::vector<Var> smooth_inputs(const Study& s, const Case& c) {
  std::vector<Var> smooth;
  for (size_t i = 0; i < c.in.size(); ++i)
    if (!c.in[i].absent && c.in[i].smooth) smooth.push_back(s.in[i]);
  return smooth;
}

Var add_up(Recorder& r, const std::vector<Var>& terms) {
  Var total = fill(r, {1, 1}, 0);
  for (const Var t : terms) total = total + t;
  return total;
}

// First and second derivatives of one output, or of all (output −1).
void check_derivatives(const Case& c, int output) {
  Study s(c);
  const std::vector<Var> out = s.r.emit(c.op, s.in), smooth = smooth_inputs(s, c);
  std::vector<Var> terms, wrt = smooth;
  for (size_t k = 0; k < out.size(); ++k) {
    const Var o = out[k];
    if (s.plan[o.id].dtype != DType::real || o.shape().count() == 0 || (output >= 0 && output != static_cast<int>(k)))
      continue;
    const Var w = s.weights(o.shape());
    wrt.push_back(w);
    terms.push_back(sum(o * w));
  }
  if (smooth.empty() || terms.empty() || in_place(c.op) > 0) return;
  const Var value = add_up(s.r, terms);
  s.output(value, "value");
  const std::vector<Var> gradients = pullback(s.r, {value}, {fill(s.r, {1, 1}, 1)}, smooth);
  std::vector<Var> slopes;
  for (size_t i = 0; i < gradients.size(); ++i) {
    EXPECT_TRUE(c.derived || !gradients[i]) << "smooth input " << i << " was not to have a gradient";
    if (!gradients[i]) continue;  // it had better be 0: checked below
    ASSERT_EQ(gradients[i].shape(), smooth[i].shape()) << "gradient " << i;
    s.output(gradients[i], "gradient " + std::to_string(i));
    slopes.push_back(gradients[i]);
  }
  if (!c.derived) return;
  std::vector<Var> slope_terms;
  for (const Var g : slopes) slope_terms.push_back(sum(g * s.weights(g.shape())));
  const Var slope = add_up(s.r, slope_terms);
  s.output(slope, "slope");
  const std::vector<Var> curvature = pullback(s.r, {slope}, {fill(s.r, {1, 1}, 1)}, wrt);
  for (size_t i = 0; i < curvature.size(); ++i)
    if (curvature[i]) s.output(curvature[i], "curvature " + std::to_string(i));
  check_gradients(s, c, smooth, gradients, "value", "gradient ");
  check_gradients(s, c, wrt, curvature, "slope", "curvature ");
}

TEST_P(Ops, GradientsMatchCentralDifferences) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "one thread does all of it, fifty times as slowly under the thread sanitizer";
#endif
  each_case([](const Case& c) {
    check_derivatives(c, -1);
    Study s(c);
    const size_t outputs = s.r.emit(c.op, s.in).size();
    for (size_t k = 0; k < outputs && outputs > 1; ++k) {
      SCOPED_TRACE("by output " + std::to_string(k) + " alone");
      check_derivatives(c, static_cast<int>(k));
    }
  });
}

TEST_P(Ops, FusedMatchesComposition) {
  each_case([](const Case& c) {
    Study s(c);
    const std::vector<Var> parts = compose(s.r, c.op, s.in);
    if (parts.empty()) return;
    const std::vector<Var> fused = s.r.emit(c.op, s.in), smooth = smooth_inputs(s, c);
    ASSERT_EQ(parts.size(), fused.size());
    std::vector<Var> seeds;
    for (size_t k = 0; k < fused.size(); ++k) {
      s.output(fused[k], "fused " + std::to_string(k));
      s.output(parts[k], "parts " + std::to_string(k));
      seeds.push_back(s.weights(fused[k].shape()));
    }
    const auto d_fused = pullback(s.r, fused, seeds, smooth), d_parts = pullback(s.r, parts, seeds, smooth);
    for (size_t i = 0; i < smooth.size(); ++i) {
      const Var zero = fill(s.r, smooth[i].shape(), 0);  // what an absent gradient means
      s.output(d_fused[i] ? d_fused[i] : zero, "d fused " + std::to_string(i));
      s.output(d_parts[i] ? d_parts[i] : zero, "d parts " + std::to_string(i));
    }
    auto same = [&](const std::string& a, const std::string& b) {
      const auto x = s.run(a), y = s.run(b);
      const double scale = largest({x});
      for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 1e-12 * scale) << a << " element " << i;
    };
    for (size_t k = 0; k < fused.size(); ++k) same("fused " + std::to_string(k), "parts " + std::to_string(k));
    for (size_t i = 0; i < smooth.size(); ++i) same("d fused " + std::to_string(i), "d parts " + std::to_string(i));
  });
}

INSTANTIATE_TEST_SUITE_P(Each, Ops, testing::ValuesIn(op_names()), [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tessera::oracle
