// All descriptions together: for the tests of every backend and for bench/ops.cpp.
#include "op_case.h"

namespace tessera::oracle {

const Cases& all_cases() {
  static const Cases cases = [] {
    Cases c;
    for (const auto add : {linear_cases, block_matmul_cases, sparse_cases, elementwise_cases, reduce_cases, view_cases,
                           span_cases, batch_norm_cases, recurrent_cases, source_cases, profile_cases, ending_cases})
      add(c);
    return c;
  }();
  return cases;
}

std::vector<std::string> op_names() {
#define TESSERA_FIELD_NAME(type, field, parts) #field,
  return {TESSERA_OPS(TESSERA_FIELD_NAME)};
#undef TESSERA_FIELD_NAME
}

}  // namespace tessera::oracle
