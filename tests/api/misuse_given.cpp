// Misuse of the functions of tessera_given.h; misuse.cpp has the others.
#include <gtest/gtest.h>

#include "handmade.h"
#include "tessera/tessera.hpp"

namespace {

class MisuseGiven : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(tessera_context_new(nullptr, &context_), TESSERA_OK);
    tessera_fit_options o{};
    o.struct_size = sizeof o, o.settings = "epochs=0";
    ASSERT_EQ(tessera_fit(context_, &o, rows(), &model_), TESSERA_OK) << tessera_last_error();
  }
  void TearDown() override {
    tessera_model_free(model_);
    tessera_context_free(context_);
    if (stream_.release != nullptr) stream_.release(&stream_);
  }

  // A fresh stream to be consumed.
  ArrowArrayStream* rows() {
    if (stream_.release != nullptr) stream_.release(&stream_);
    source_ = std::make_unique<SmallStream>(40);
    source_->open(&stream_);
    return &stream_;
  }

  void usage(const char* function, const char* what, tessera_status status) {
    EXPECT_EQ(status, TESSERA_E_USAGE) << function << " with " << what << ": " << tessera_last_error();
    EXPECT_STRNE(tessera_last_error(), "") << function;
  }

  // Every function, of these handles.
  void all_refuse(const char* what, const tessera_context* c, const tessera_model* m) {
    ArrowArrayStream out{};
    usage("tessera_given_open", what, tessera_given_open(c, m, "/dev/null", nullptr, &out));
    usage("tessera_given_balanced", what, tessera_given_balanced(c, m, "x", 3, &out));
    usage("tessera_given_counts", what, tessera_given_counts(c, m, "/dev/null", nullptr, &out));
    usage("tessera_sample_given", what, tessera_sample_given(c, m, rows(), nullptr, &out));
    usage("tessera_impute", what, tessera_impute(c, m, "/dev/null", "/nowhere/x.csv", nullptr, 0, nullptr));
    EXPECT_EQ(out.release, nullptr) << what;
  }

  tessera_context* context_ = nullptr;
  tessera_model* model_ = nullptr;
  ArrowArrayStream stream_{};
  std::unique_ptr<SmallStream> source_;
};

TEST_F(MisuseGiven, RejectsBadHandles) {
  const auto* model = reinterpret_cast<const tessera_model*>(context_);
  const auto* context = reinterpret_cast<const tessera_context*>(model_);
  all_refuse("no context", nullptr, model_);
  all_refuse("no model", context_, nullptr);
  all_refuse("a context for a model", context_, model);
  all_refuse("a model for a context", context, model_);
}

TEST_F(MisuseGiven, RejectsInvalidArguments) {
  ArrowArrayStream out{};
  usage("tessera_given_open", "no path", tessera_given_open(context_, model_, nullptr, nullptr, &out));
  usage("tessera_given_open", "no output", tessera_given_open(context_, model_, "x.csv", nullptr, nullptr));
  usage("tessera_given_balanced", "no column", tessera_given_balanced(context_, model_, nullptr, 3, &out));
  usage("tessera_given_balanced", "less than no rows", tessera_given_balanced(context_, model_, "x", -1, &out));
  usage("tessera_given_counts", "no path", tessera_given_counts(context_, model_, nullptr, nullptr, &out));
  usage("tessera_sample_given", "no rows", tessera_sample_given(context_, model_, nullptr, nullptr, &out));
  usage("tessera_sample_given", "no output", tessera_sample_given(context_, model_, rows(), nullptr, nullptr));
  usage("tessera_impute", "no path", tessera_impute(context_, model_, nullptr, "/nowhere/x", nullptr, 0, nullptr));
  usage("tessera_impute", "no output", tessera_impute(context_, model_, "x.csv", nullptr, nullptr, 0, nullptr));
  tessera_given_options o{};
  o.struct_size = 3;
  usage("tessera_sample_given", "a struct of 3 bytes", tessera_sample_given(context_, model_, rows(), &o, &out));
  o.struct_size = sizeof o, o.batch_size = -1;
  usage("tessera_sample_given", "a batch below 0", tessera_sample_given(context_, model_, rows(), &o, &out));
  o.batch_size = 0, o.max_candidates = -1;
  usage("tessera_sample_given", "candidates below 0", tessera_sample_given(context_, model_, rows(), &o, &out));
  o.max_candidates = 0, o.texts = "large";
  usage("tessera_sample_given", "unknown texts", tessera_sample_given(context_, model_, rows(), &o, &out));
}

}  // namespace
