// Which cases there are, and what is checked of a run of one: shared by the tests of every backend.
#pragma once
#include <gtest/gtest.h>

#include "op_run.h"

namespace tessera::oracle {

// One test per op of TESSERA_OPS and property; an op without a case fails.
class OpTest : public testing::TestWithParam<std::string> {
 protected:
  template <class F>
  void each_case(F&& body) const {
    int count = 0;
    for (const Case& c : all_cases()) {
      if (op_name(c.op) != GetParam()) continue;
      ++count;
      std::string shapes;
      for (const Input& i : c.in)
        shapes += i.absent ? " –" : " " + std::to_string(i.shape.rows) + "×" + std::to_string(i.shape.cols);
      SCOPED_TRACE(c.note + ", inputs" + shapes);
      body(c);
    }
    EXPECT_GT(count, 0) << "no case describes " << GetParam();
  }
};

// The tables in float that this processor and build have, the fastest last.
std::vector<const KernelTable*> float_tables();

// |error| ≤ units·eps·e for every element (number.h), finite where the reference is, nothing written beside.
void compare(const Grids& want, const Ran& got, double eps, double tiny, double units = 4);
// The same bits, or NaN in both.
void same_bits(const Ran& a, const Ran& b, const std::string& what);

// A batch of rows of a case: row i is row picks[i] of the case.
struct Batch {
  Case c;
  Grids in;
};
Batch picked(const Case& c, const Grids& in, const std::vector<int64_t>& picks);
int64_t batch_rows(const Case& c);

// A row by itself, then in batches of the given sizes beside other rows, in memory of every alignment: each time with
// the same bits.
using RunBatch = std::function<Ran(const Case&, const Grids&, const Layout&)>;
void rows_have_their_bits_anywhere(const Case& c, const Grids& in, const std::vector<int64_t>& sizes,
                                   const RunBatch& run, const std::string& what);

}  // namespace tessera::oracle
