#include "op_check.h"

namespace tessera::oracle {

const Cases& all_cases() {
  static const Cases cases = [] {
    Cases c;
    for (const auto add : {linear_cases, sparse_cases, elementwise_cases, reduce_cases, view_cases, span_cases, batch_norm_cases, recurrent_cases, source_cases, profile_cases, ending_cases}) add(c);
    return c;
  }();
  return cases;
}

std::vector<std::string> op_names() {
#define TESSERA_FIELD_NAME(type, field) #field,
  return {TESSERA_OPS(TESSERA_FIELD_NAME)};
#undef TESSERA_FIELD_NAME
}

void compare(const Grids& want, const Ran& got, double eps, double tiny, double units) {
  EXPECT_EQ(got.damage, "") << "wrote where it must not";
  ASSERT_EQ(got.out.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    ASSERT_EQ(got.out[k].size(), want[k].cells.size()) << "output " << k;
    for (size_t i = 0; i < want[k].cells.size(); ++i) {
      const Number w = want[k].cells[i];
      const double g = got.out[k][i], limit = units * eps * w.e + tiny;
      ASSERT_EQ(std::isfinite(g), std::isfinite(w.v)) << "output " << k << " element " << i << ": " << g << " for " << w.v;
      if (!std::isfinite(w.v)) continue;
      const size_t width = static_cast<size_t>(want[k].cols);
      ASSERT_LE(std::fabs(g - w.v), limit) << "output " << k << " row " << i / width << " column " << i % width << ": " << g << " for " << w.v;
    }
  }
}

void same_bits(const Ran& a, const Ran& b, const std::string& what) {
  for (size_t k = 0; k < a.out.size(); ++k) {
    ASSERT_EQ(a.out[k].size(), b.out[k].size()) << what;
    for (size_t i = 0; i < a.out[k].size(); ++i)
      ASSERT_TRUE(a.out[k][i] == b.out[k][i] || (std::isnan(a.out[k][i]) && std::isnan(b.out[k][i]))) << what << ": output " << k << " element " << i << ": " << a.out[k][i] << " and " << b.out[k][i];
  }
}

}  // namespace tessera::oracle
