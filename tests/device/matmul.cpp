// Products of small integers are exact in every arithmetic the backend has (TESSERA_CUDA_MATH): a wrong index in a
// fragment shows as a wrong integer.
#include "device.h"
#include "engine/plan/recorder.h"
#include "engine/run/program.h"

namespace tessera {
namespace {

TEST(DeviceMatmul, SmallIntegersAreExact) {
  TESSERA_NEEDS_DEVICE();
  for (const bool trans_a : {false, true})
    for (const bool trans_b : {false, true})
      for (const auto& [m, n, k] : {std::tuple{16, 8, 8}, {16, 8, 16}, {33, 65, 31}, {1, 7, 129}, {128, 64, 64}}) {
        SCOPED_TRACE(std::to_string(m) + "×" + std::to_string(n) + "×" + std::to_string(k) +
                     (trans_a ? ", a transposed" : "") + (trans_b ? ", b transposed" : ""));
        Plan plan;
        const Id a = plan.leaf(Leaf::bound, "a", trans_a ? Shape{k, m} : Shape{m, k}),
                 b = plan.leaf(Leaf::bound, "b", trans_b ? Shape{n, k} : Shape{k, n});
        const Id out = plan.emit(Matmul{trans_a, trans_b, 1, false}, {a, b})[0];
        plan.outputs = {out};
        std::vector<float> x(static_cast<size_t>(m * k)), y(static_cast<size_t>(k * n));
        for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 15) - 7;
        for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i * 53 % 13) - 6;
        Team team(1);
        Program p(std::move(plan), float_device(), team, 1);
        p.bind("a", x.data());
        p.bind("b", y.data());
        p.run(1);
        const std::vector<float> got = p.read<float>(out);
        for (int r = 0; r < m; ++r)
          for (int c = 0; c < n; ++c) {
            float want = 0;
            for (int i = 0; i < k; ++i)
              want += x[static_cast<size_t>(trans_a ? i * m + r : r * k + i)] *
                      y[static_cast<size_t>(trans_b ? c * k + i : i * n + c)];
            ASSERT_EQ(got[static_cast<size_t>(r * n + c)], want) << "row " << r << ", column " << c;
          }
      }
}

}  // namespace
}  // namespace tessera
