// The C interface as a program sees it: statuses and messages, ownership, options that grow, misuse.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "support/folder.h"
#include "tessera/tessera.hpp"

extern "C" uint32_t header_abi_version(void);

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Interface : public tessera::test::InFolder {
 protected:
  tessera::Rows people(int64_t rows = 200) { return tessera::example(context_, "people", rows, 1); }
  tessera::Model quick() {
    tessera_fit_options options{};
    options.settings = "epochs=1;batch-size=50";
    return tessera::Model::fit(context_, people(), options);
  }

  tessera::Context context_;
};

// The number of rows and columns of a stream, read to its end.
std::pair<int64_t, int64_t> drain(tessera::Rows rows) {
  const tessera::Schema schema = rows.schema();
  int64_t count = 0;
  for (;;) {
    ArrowArray batch{};
    if (rows.get()->get_next(rows.get(), &batch) != 0)
      throw tessera::Error(TESSERA_E_DATA, rows.get()->get_last_error(rows.get()));
    if (batch.release == nullptr) return {count, schema.get()->n_children};
    count += batch.length;
    batch.release(&batch);
  }
}

tessera_status status_of(const std::function<void()>& call) {
  try {
    call();
    return TESSERA_OK;
  } catch (const tessera::Error& e) {
    EXPECT_STRNE(e.what(), "");
    return e.status();
  }
}

TEST_F(Interface, VersionsAgree) {
  EXPECT_EQ(tessera_abi_version(), header_abi_version());
  EXPECT_EQ(json::parse(tessera::info())["version"], tessera_version());
}

TEST_F(Interface, FitsSavesLoadsAndSamples) {
  const tessera::Model model = quick();
  EXPECT_TRUE(json::parse(model.describe()).is_object());
  const auto real = drain(people());
  EXPECT_EQ(real.first, 200);
  EXPECT_EQ(drain(model.sample(context_, 0, 75)), std::make_pair(int64_t{75}, real.second));
  EXPECT_EQ(drain(model.sample(context_, 0, 0)).first, 0);

  model.save(at("m"));
  EXPECT_EQ(status_of([&] { model.save(at("m")); }), TESSERA_E_IO) << "it exists";
  model.save(at("m"), true);
  const tessera::Model same = tessera::Model::load(at("m"));
  tessera::write_csv(context_, model.sample(context_, 0, 50), at("a.csv"));
  tessera::write_csv(context_, same.sample(context_, 0, 50), at("b.csv"));
  EXPECT_EQ(fs::file_size(at("a.csv")), fs::file_size(at("b.csv")));

  const json report = json::parse(tessera::evaluate(context_, people(), model.sample(context_, 0, 100), people(80)));
  EXPECT_EQ(report["rows"]["holdout"], 80);
  EXPECT_TRUE(report["c2st"]["trees"]["auc"].is_number());
  tessera_evaluate_options options{};
  options.target = "age";
  options.without_c2st = options.without_distances = 1;
  const json aimed =
      json::parse(tessera::evaluate(context_, people(), model.sample(context_, 0, 100), people(80), options));
  EXPECT_EQ(aimed["utility"]["target"], "age");
  EXPECT_FALSE(aimed.contains("c2st"));
  options.target = "nobody";
  EXPECT_EQ(status_of([&] { tessera::evaluate(context_, people(), people(), people(), options); }), TESSERA_E_DATA);
}

TEST_F(Interface, KeepsStreamsBeyondModelAndContext) {
  tessera::Rows rows;
  {
    tessera::Context context;
    const tessera::Model model = quick();
    rows = model.sample(context, 5, 40);
  }
  EXPECT_EQ(drain(std::move(rows)).first, 40);
}

TEST_F(Interface, UpdatesTheReportWithTheStream) {
  const tessera::Model model = quick();
  tessera_sample_report report{};
  tessera_sample_options options{};
  options.report = &report;
  EXPECT_EQ(drain(model.sample(context_, 0, 64, options)).first, 64);
  EXPECT_EQ(report.rows, 64);
  EXPECT_GE(report.candidates, 64);
}

// Each of these was ignored.
TEST_F(Interface, HeedsOrRefusesEveryOption) {
  const tessera::Model model = quick();
  tessera_sample_options options{};
  tessera::Rows others = model.sample(context_, 0, 20);
  options.against = others.get();
  EXPECT_EQ(drain(model.sample(context_, 0, 20, options)).first, 20) << "`distinct` is implied";
  EXPECT_EQ(others.get()->release, nullptr) << "consumed";
  options.against = nullptr;
  for (const char* blank : {"", "  "}) {
    options.where = blank;
    EXPECT_EQ(status_of([&] { drain(model.sample(context_, 0, 5, options)); }), TESSERA_E_USAGE)
        << "an empty condition";
  }
  tessera_fit_options fit{};
  fit.settings = "epochs=1;batch-size=50";
  fit.fusion = "zz";
  EXPECT_EQ(status_of([&] { tessera::Model::fit(context_, people(), fit); }), TESSERA_E_USAGE);
}

TEST_F(Interface, ReportsLossesAtLeastOncePerEpoch) {
  struct Seen {
    int count = 0;
    int64_t last = -1;
    bool rising = true;
  } seen;
  tessera_fit_options options{};
  options.settings = "epochs=4; batch-size=50";
  options.patience = TESSERA_NO_PATIENCE;
  options.losses = [](const tessera_losses* l, void* user) {
    auto& s = *static_cast<Seen*>(user);
    s.rising = s.rising && l->step > s.last;
    s.last = l->step;
    ++s.count;
  };
  options.losses_user = &seen;
  tessera::Model::fit(context_, people(), options);
  EXPECT_GE(seen.count, 4);
  EXPECT_TRUE(seen.rising);
}

TEST_F(Interface, ReportsProgressAndLog) {
  struct Heard {
    int finished = 0;
    std::vector<std::string> lines;
  } heard;
  tessera_context_options options{};
  options.user = &heard;
  options.progress = [](const tessera_progress* p, void* user) { static_cast<Heard*>(user)->finished += p->finished; };
  options.log = [](const char* line, void* user) { static_cast<Heard*>(user)->lines.emplace_back(line); };
  const tessera::Context context(options);
  tessera::write_csv(context, people(), at("a.csv"));
  tessera_fit_options fit{};
  fit.settings = "epochs=1";
  tessera::Model::fit(context, tessera::read_csv(context, at("a.csv")), fit);
  EXPECT_GE(heard.finished, 3);
  EXPECT_EQ(heard.lines.size(), static_cast<size_t>(heard.finished));
}

TEST_F(Interface, CancelsAndResets) {
  const tessera::Model model = quick();
  tessera::Rows rows = model.sample(context_, 0, 1'000'000'000'000);
  context_.cancel();
  EXPECT_EQ(status_of([&] { tessera::write_csv(context_, std::move(rows), at("o.csv")); }), TESSERA_E_CANCELLED);
  EXPECT_EQ(status_of([&] { quick(); }), TESSERA_E_CANCELLED);
  EXPECT_FALSE(fs::exists(at("o.csv")));
  context_.reset();
  EXPECT_EQ(drain(people()).first, 200);
}

TEST_F(Interface, CancelsTrainingFromAnotherThread) {
  std::atomic<bool> training{false};
  tessera_fit_options options{};
  options.settings = "epochs=1000000;batch-size=50";
  options.losses = [](const tessera_losses*, void* user) { static_cast<std::atomic<bool>*>(user)->store(true); };
  options.losses_user = &training;
  std::thread other([&] {
    while (!training.load()) std::this_thread::yield();
    context_.cancel();
  });
  EXPECT_EQ(status_of([&] { tessera::Model::fit(context_, people(), options); }), TESSERA_E_CANCELLED);
  training.store(true);
  other.join();
}

TEST_F(Interface, SamplesOneModelFromManyThreads) {
  const tessera::Model model = quick();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      tessera_sample_options options{};
      options.batch_size = 7 + t;
      tessera::write_csv(context_, model.sample(context_, 0, 100, options), at(std::to_string(t)));
    });
  for (auto& t : threads) t.join();
  for (int t = 1; t < 4; ++t) EXPECT_EQ(fs::file_size(at(std::to_string(t))), fs::file_size(at("0")));
}

TEST_F(Interface, KeepsMessagesPerThread) {
  EXPECT_EQ(status_of([&] { tessera::Model::load(at("none")); }), TESSERA_E_IO);
  const std::string mine = tessera_last_error();
  EXPECT_NE(mine.find(at("none")), std::string::npos);
  std::thread([] { EXPECT_STREQ(tessera_last_error(), ""); }).join();
  EXPECT_EQ(tessera_last_error(), mine);
}

TEST_F(Interface, AcceptsOptionsOfOlderAndNewerHeaders) {
  struct Newer {
    tessera_fit_options known{};
    int64_t unknown = 0;
  } newer;
  newer.known.struct_size = sizeof newer;
  newer.known.settings = "epochs=0";
  tessera_model* model = nullptr;
  tessera::Rows rows = people();
  EXPECT_EQ(tessera_fit(context_.get(), &newer.known, rows.get(), &model), TESSERA_OK) << tessera_last_error();
  tessera_model_free(model);

  newer.unknown = 1;
  rows = people();
  EXPECT_EQ(tessera_fit(context_.get(), &newer.known, rows.get(), &model), TESSERA_E_USAGE);
  EXPECT_EQ(rows.get()->release, nullptr) << "consumed all the same";

  tessera_sample_options older{};
  older.struct_size = offsetof(tessera_sample_options, where);
  older.where = "this field did not exist then";
  const tessera::Model fitted = quick();
  EXPECT_EQ(tessera_sample(context_.get(), fitted.get(), 0, 3, &older, rows.get()), TESSERA_OK) << tessera_last_error();

  tessera_evaluate_options before{};
  before.struct_size = offsetof(tessera_evaluate_options, target);
  before.target = "this one neither";
  tessera::Rows real = people(), synthetic = people(80);
  char* report = nullptr;
  EXPECT_EQ(tessera_evaluate(context_.get(), &before, real.get(), synthetic.get(), nullptr, &report), TESSERA_OK)
      << tessera_last_error();
  tessera_string_free(report);

  older.struct_size = 0;
  tessera::Rows none;
  EXPECT_EQ(tessera_sample(context_.get(), fitted.get(), 0, 3, &older, none.get()), TESSERA_E_USAGE);
}

TEST_F(Interface, RejectsNullsAndInvalidArguments) {
  tessera_model* model = nullptr;
  char* text = nullptr;
  tessera::Rows rows, empty;
  const auto usage = [](tessera_status s) { return s == TESSERA_E_USAGE && *tessera_last_error() != '\0'; };
  EXPECT_TRUE(usage(tessera_context_new(nullptr, nullptr)));
  EXPECT_TRUE(usage(tessera_fit(nullptr, nullptr, nullptr, nullptr)));
  EXPECT_TRUE(usage(tessera_fit(context_.get(), nullptr, empty.get(), &model))) << "a released stream";
  EXPECT_TRUE(usage(tessera_model_load(nullptr, &model)));
  EXPECT_TRUE(usage(tessera_model_load("x", nullptr)));
  EXPECT_TRUE(usage(tessera_model_save(nullptr, "x", 0)));
  EXPECT_TRUE(usage(tessera_model_describe(nullptr, &text)));
  EXPECT_TRUE(usage(tessera_model_schema(nullptr, nullptr)));
  EXPECT_TRUE(usage(tessera_sample(context_.get(), nullptr, 0, 1, nullptr, rows.get())));
  EXPECT_TRUE(usage(tessera_inspect(context_.get(), nullptr, &text)));
  EXPECT_TRUE(usage(tessera_plan(context_.get(), nullptr, nullptr, &text)));
  EXPECT_TRUE(usage(tessera_evaluate(context_.get(), nullptr, nullptr, nullptr, nullptr, &text)));
  EXPECT_TRUE(usage(tessera_table_open(context_.get(), nullptr, 1, nullptr, rows.get())));
  EXPECT_TRUE(usage(tessera_table_write(context_.get(), nullptr, "x", nullptr)));
  EXPECT_TRUE(usage(tessera_example(context_.get(), "animals", 5, 0, rows.get())));
  EXPECT_TRUE(usage(tessera_example(context_.get(), nullptr, -5, 0, rows.get())));
  EXPECT_TRUE(usage(tessera_info(nullptr)));
  tessera_context_free(nullptr);
  tessera_model_free(nullptr);
  tessera_string_free(nullptr);
  tessera_context_cancel(nullptr);

  const tessera::Model fitted = quick();
  EXPECT_TRUE(usage(tessera_sample(context_.get(), fitted.get(), -1, 1, nullptr, rows.get())));
  EXPECT_TRUE(usage(tessera_sample(context_.get(), fitted.get(), INT64_MAX, 1, nullptr, rows.get())));
  tessera_context_options threads{};
  threads.struct_size = sizeof threads;
  threads.threads = -3;
  tessera_context* context = nullptr;
  EXPECT_TRUE(usage(tessera_context_new(&threads, &context)));
}

TEST_F(Interface, ReportsFailingStreams) {
  ArrowArrayStream bad{};
  static int released;
  released = 0;
  bad.get_schema = [](ArrowArrayStream*, ArrowSchema*) { return 5; };
  bad.get_next = [](ArrowArrayStream*, ArrowArray*) { return 5; };
  bad.get_last_error = [](ArrowArrayStream*) { return "the cable was cut"; };
  bad.release = [](ArrowArrayStream* s) {
    ++released;
    s->release = nullptr;
  };
  char* text = nullptr;
  EXPECT_NE(tessera_inspect(context_.get(), &bad, &text), TESSERA_OK);
  EXPECT_NE(std::string(tessera_last_error()).find("the cable was cut"), std::string::npos);
  EXPECT_EQ(released, 1);
}

TEST_F(Interface, PassesTypesAndMissingWords) {
  FILE* file = std::fopen(at("t.csv").c_str(), "w");
  std::fputs("a,\"b,c\"\n1,2\n-99,4\n5,6\n", file);
  std::fclose(file);
  tessera_csv_options options{};
  options.types = " a = category , \"b,c\" = decimal ";
  options.missing = "-99";
  const json report = json::parse(tessera::inspect(context_, tessera::read_csv(context_, at("t.csv"), options)));
  EXPECT_EQ(report["columns"][0]["type"], "category");
  EXPECT_EQ(report["columns"][0]["missing"], 1);
  EXPECT_EQ(report["columns"][1]["type"], "decimal");
}

TEST_F(Interface, HidesTheNumberOfFittedRows) {
  tessera_fit_options options{};
  options.method = "made", options.settings = "epochs=1";
  const tessera::Model model = tessera::Model::fit(context_, tessera::example(context_, "people", 300, 1), options);
  const json sampled = json::parse(tessera::inspect(context_, model.sample(context_, 0, 20)));
  for (const json& c : sampled["columns"])
    EXPECT_EQ(c["reason"].get<std::string>().find("300"), std::string::npos) << c.dump();
}

TEST_F(Interface, PassesRulesOfSchemaFiles) {
  FILE* file = std::fopen(at("t.csv").c_str(), "w");
  std::fputs("low,high,kind\n", file);
  for (int i = 0; i < 120; ++i) std::fprintf(file, "%d,%d,%c\n", i % 7, i % 7 + i % 5, "abc"[i % 3]);
  std::fclose(file);
  const auto rows = [&](const char* rules) {
    file = std::fopen(at("s.json").c_str(), "w");
    std::fprintf(file, "{\"rules\": [%s]}", rules);
    std::fclose(file);
    const std::string schema = at("s.json");
    tessera_csv_options read{};
    read.schema = schema.c_str();
    return tessera::read_csv(context_, at("t.csv"), read);
  };
  constexpr const char* kRules = R"_("high >= low", "kind in ('a', 'b')")_";
  tessera_fit_options options{};
  options.method = "made", options.settings = "epochs=1", options.rules = "off", options.rule = "low <= 5";
  const tessera::Model model = tessera::Model::fit(context_, rows(kRules), options);
  EXPECT_EQ(json::parse(model.describe())["rules"].size(), 3u);
  EXPECT_EQ(json::parse(tessera::find_rules(context_, rows(kRules), options))["rules"].size(), 3u);
  tessera_evaluate_options judged{};
  judged.rules = "off", judged.without_c2st = judged.without_distances = judged.without_utility = 1;
  const json report =
      json::parse(tessera::evaluate(context_, rows(kRules), model.sample(context_, 0, 60), tessera::Rows{}, judged));
  EXPECT_EQ(report["rules"].size(), 2u);

  // Functions that only describe a fit see them too.
  EXPECT_EQ(status_of([&] { tessera::plan(context_, rows("\"nothing > 3\""), options); }), TESSERA_E_CONDITION);
  EXPECT_EQ(status_of([&] { tessera::estimate(context_, rows("\"nothing > 3\""), options); }), TESSERA_E_CONDITION);
}

}  // namespace
