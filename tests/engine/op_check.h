// Which cases there are, and what is checked of a run of one: shared by the tests of every backend.
#pragma once
#include <gtest/gtest.h>

#include "op_run.h"

namespace tessera::oracle {

const Cases& all_cases();
std::vector<std::string> op_names();

// One test an op of TESSERA_OPS and property; an op without a case fails.
class OpTest : public testing::TestWithParam<std::string> {
 protected:
  template <class F>
  void each_case(F&& body) const {
    int count = 0;
    for (const Case& c : all_cases()) {
      if (op_name(c.op) != GetParam()) continue;
      ++count;
      std::string shapes;
      for (const Input& i : c.in) shapes += i.absent ? " –" : " " + std::to_string(i.shape.rows) + "×" + std::to_string(i.shape.cols);
      SCOPED_TRACE(c.note + ", inputs" + shapes);
      body(c);
    }
    EXPECT_GT(count, 0) << "no case describes " << GetParam();
  }
};

// |error| ≤ units·eps·e for every element (number.h), finite where the reference is, nothing written beside.
void compare(const Grids& want, const Ran& got, double eps, double tiny, double units = 4);
// The same bits, or NaN in both.
void same_bits(const Ran& a, const Ran& b, const std::string& what);

}  // namespace tessera::oracle
