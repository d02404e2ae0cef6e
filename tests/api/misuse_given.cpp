// Misuse of the functions of tessera_given.h; misuse.cpp has the others.
#include <gtest/gtest.h>

#include "api/misuse.h"

namespace {

class MisuseGiven : public tessera::test::Misuse {};

TEST_F(MisuseGiven, RejectsBadHandles) {
  free_one();
  ArrowArrayStream out{};
  const tessera_model* m = good_.model;
  bad_first("tessera_given_open", tessera_given_open, m, "/dev/null", nullptr, &out);
  bad_second("tessera_given_open", tessera_given_open, "/dev/null", nullptr, &out);
  bad_first("tessera_given_balanced", tessera_given_balanced, m, "x", 3, &out);
  bad_second("tessera_given_balanced", tessera_given_balanced, "x", 3, &out);
  bad_first("tessera_given_counts", tessera_given_counts, m, "/dev/null", nullptr, &out);
  bad_second("tessera_given_counts", tessera_given_counts, "/dev/null", nullptr, &out);
  bad_first("tessera_sample_given", tessera_sample_given, m, Fresh::rows, nullptr, &out);
  bad_second("tessera_sample_given", tessera_sample_given, Fresh::rows, nullptr, &out);
  bad_first("tessera_impute", tessera_impute, m, "/dev/null", "/nowhere/x.csv", nullptr, 0, nullptr);
  bad_second("tessera_impute", tessera_impute, "/dev/null", "/nowhere/x.csv", nullptr, 0, nullptr);
  EXPECT_EQ(out.release, nullptr);
}

TEST_F(MisuseGiven, RejectsInvalidArguments) {
  ArrowArrayStream out{};
  usage("tessera_given_open", "no path", tessera_given_open(good_.context, good_.model, nullptr, nullptr, &out));
  usage("tessera_given_open", "no output", tessera_given_open(good_.context, good_.model, "x.csv", nullptr, nullptr));
  usage("tessera_given_balanced", "no column", tessera_given_balanced(good_.context, good_.model, nullptr, 3, &out));
  usage("tessera_given_balanced", "less than no rows",
        tessera_given_balanced(good_.context, good_.model, "x", -1, &out));
  usage("tessera_given_counts", "no path", tessera_given_counts(good_.context, good_.model, nullptr, nullptr, &out));
  usage("tessera_sample_given", "no rows", tessera_sample_given(good_.context, good_.model, nullptr, nullptr, &out));
  usage("tessera_sample_given", "no output",
        tessera_sample_given(good_.context, good_.model, rows(), nullptr, nullptr));
  usage("tessera_impute", "no path",
        tessera_impute(good_.context, good_.model, nullptr, "/nowhere/x", nullptr, 0, nullptr));
  usage("tessera_impute", "no output",
        tessera_impute(good_.context, good_.model, "x.csv", nullptr, nullptr, 0, nullptr));
  tessera_given_options o{};
  o.struct_size = 3;
  usage("tessera_sample_given", "a struct of 3 bytes",
        tessera_sample_given(good_.context, good_.model, rows(), &o, &out));
  o.struct_size = sizeof o, o.batch_size = -1;
  usage("tessera_sample_given", "a batch below 0", tessera_sample_given(good_.context, good_.model, rows(), &o, &out));
  o.batch_size = 0, o.max_candidates = -1;
  usage("tessera_sample_given", "candidates below 0",
        tessera_sample_given(good_.context, good_.model, rows(), &o, &out));
  o.max_candidates = 0, o.texts = "large";
  usage("tessera_sample_given", "unknown texts", tessera_sample_given(good_.context, good_.model, rows(), &o, &out));
}

}  // namespace
