// Checkpoints through the C interface: a cancelled fit is completed to the same file, and conflicting options are
// rejected.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "support/folder.h"
#include "tessera/tessera.hpp"

namespace {

namespace fs = std::filesystem;

class ResumeInterface : public tessera::test::InFolder {
 protected:
  tessera_fit_options options() const {
    tessera_fit_options o{};
    o.method = "tvae";
    o.settings = "epochs=8;batch-size=50";
    o.calibrate = "off";
    o.checkpoint = checkpoint_.c_str();
    o.checkpoint_every = "off";
    return o;
  }
  static tessera::Rows people(const tessera::Context& context, int64_t rows = 200) {
    return tessera::example(context, "people", rows, 1);
  }

  const std::string checkpoint_ = at("m.checkpoint"), model_ = at("m");
};

template <class F>
std::pair<tessera_status, std::string> failure(F call) {
  try {
    call();
  } catch (const tessera::Error& e) { return {e.status(), e.what()}; }
  return {TESSERA_OK, ""};
}

TEST_F(ResumeInterface, CompletesACancelledFitToTheSameFile) {
  tessera::Context plain;
  tessera_fit_options o = options();
  o.checkpoint = nullptr;
  tessera::Model::fit(plain, people(plain), o).save(at("whole"));

  o = options();
  tessera_context* cancelled = nullptr;
  tessera_context_options c{};
  c.threads = 2;
  c.user = &cancelled;
  c.progress = [](const tessera_progress* p, void* user) {
    if (std::strcmp(p->phase, "train") == 0 && p->done >= 3)
      tessera_context_cancel(*static_cast<tessera_context**>(user));
  };
  tessera::Context context(c);
  cancelled = context.get();
  const auto [status, message] = failure([&] { tessera::Model::fit(context, people(plain), o); });
  EXPECT_EQ(status, TESSERA_E_CANCELLED);
  EXPECT_NE(message.find("are saved in " + checkpoint_), std::string::npos) << message;
  ASSERT_TRUE(fs::exists(checkpoint_));

  std::vector<std::string> lines;
  tessera_context_options listening{};
  listening.user = &lines;
  listening.log = [](const char* line, void* user) { static_cast<std::vector<std::string>*>(user)->push_back(line); };
  const tessera::Context second(listening);
  bool finished = true;
  tessera::Model::resume(second, people(plain), o, model_, false, &finished).save(model_);
  EXPECT_FALSE(finished);
  EXPECT_TRUE(tessera::test::read_bytes(model_) == tessera::test::read_bytes(at("whole")));
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& l) { return l.find("notice: Continuing from") == 0; }),
            1);

  tessera::Model::resume(plain, people(plain), o, model_, false, &finished);
  EXPECT_TRUE(finished);
  tessera::remove_checkpoint(checkpoint_);
  tessera::remove_checkpoint(checkpoint_);
  EXPECT_FALSE(fs::exists(checkpoint_));
}

TEST_F(ResumeInterface, RejectsConflictingOptions) {
  tessera::Context context;
  tessera_fit_options o = options();
  tessera::Model::fit(context, people(context), o).save(model_);
  const auto refused = [&](tessera_status status, const std::string& part, const std::function<void()>& call) {
    const auto [got, message] = failure(call);
    EXPECT_EQ(got, status) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  o.seed = 4;
  refused(TESSERA_E_USAGE, "`seed` was 0, now 4", [&] { tessera::Model::resume(context, people(context), o, model_); });
  o.resume = 1;
  refused(TESSERA_E_USAGE, "`seed` was 0, now 4", [&] { tessera::Model::fit(context, people(context), o); });
  o.seed = 0;
  refused(TESSERA_E_DATA, "200 rows", [&] { tessera::Model::fit(context, people(context, 210), o); });
  std::ofstream(model_) << "not a model";
  refused(TESSERA_E_FORMAT, model_, [&] { tessera::Model::resume(context, people(context), o, model_); });
  EXPECT_EQ(failure([&] { tessera::Model::resume(context, people(context), o, model_, true); }).first, TESSERA_OK);
  for (const auto& change : std::vector<std::function<void(tessera_fit_options&)>>{
           [](auto& x) { x.checkpoint_every = "often"; }, [](auto& x) { x.max_time = "-1s"; },
           [](auto& x) { x.keep = "some"; }, [](auto& x) { x.patience = -2; }, [](auto& x) { x.checkpoint = "-"; }}) {
    tessera_fit_options wrong = options();
    change(wrong);
    EXPECT_EQ(failure([&] { tessera::check_fit_options(wrong); }).first, TESSERA_E_USAGE);
  }
  EXPECT_EQ(tessera_checkpoint_remove(nullptr), TESSERA_E_USAGE);
  EXPECT_EQ(tessera_resume(context.get(), nullptr, nullptr, nullptr, 0, nullptr, nullptr), TESSERA_E_USAGE);
}

}  // namespace
