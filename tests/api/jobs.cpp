// Fitting in the background; fork(); memory limits; models in memory; rows into the caller's arrays.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "handmade.h"
#include "tessera/tessera.hpp"

namespace {

constexpr const char* kEndless = "epochs=1000000;batch-size=50";

tessera_fit_options quick(const char* settings = "epochs=2;batch-size=50") {
  tessera_fit_options o{};
  o.method = "tvae";  // its training does not end by itself
  o.settings = settings;
  o.calibrate = "off";
  return o;
}

tessera::Context context_of(int threads) {
  tessera_context_options o{};
  o.threads = threads;
  return tessera::Context(o);
}

std::string csv_free_text(const tessera::Context& context, const tessera::Model& model) {
  const tessera_sample_options none{};
  std::string all;
  std::vector<char> cells(300 * 200);
  tessera_column_buffer b{};
  b.name = "city", b.type = TESSERA_TEXT, b.values = cells.data(), b.width = 200;
  const int64_t rows = tessera::read(context, model.sample(context, 0, 300, none), 300, {b});
  for (int64_t i = 0; i < rows; ++i) all += cells.data() + 200 * i, all += '\n';
  return all;
}

TEST(Jobs, GiveTheModelOfFit) {
  const tessera::Context context = context_of(2);
  tessera::Job job(context, tessera::example(context, "people", 300, 1), quick());
  const tessera::Model model = job.model();
  EXPECT_EQ(job.poll().finished, 1);
  EXPECT_EQ(model.bytes(), tessera::Model::fit(context, tessera::example(context, "people", 300, 1), quick()).bytes());
  EXPECT_EQ(tessera_job_take_model(job.get(), nullptr), TESSERA_E_USAGE);
  tessera_model* second = nullptr;
  EXPECT_EQ(tessera_job_take_model(job.get(), &second), TESSERA_E_USAGE) << "it was taken";
  EXPECT_EQ(second, nullptr);
}

TEST(Jobs, OutliveOptionsAndContext) {
  auto context = std::make_unique<tessera::Context>(context_of(1));
  auto settings = std::make_unique<std::string>("epochs=2;batch-size=50;generator-dim=32,32");
  auto source = std::make_unique<std::string>("somewhere");
  tessera_fit_options o = quick();
  o.method = "ctgan", o.settings = settings->c_str(), o.source = source->c_str();
  tessera::Job job(*context, tessera::example(*context, "people", 200, 1), o);
  settings.reset(), source.reset(), context.reset();
  EXPECT_NE(job.model().describe().find("somewhere"), std::string::npos);
}

TEST(Jobs, ReportUsageAtOnceAndErrorsWithTheModel) {
  const tessera::Context context = context_of(1);
  SmallStream source(100);
  source.error_at_end = EIO;
  ArrowArrayStream rows;
  source.open(&rows);
  tessera_job* job = nullptr;
  ASSERT_EQ(tessera_fit_start(context.get(), nullptr, &rows, &job), TESSERA_OK);
  EXPECT_EQ(rows.release, nullptr) << "it is the job's";
  EXPECT_EQ(tessera_job_wait(job, -1, nullptr), TESSERA_OK);
  tessera_model* model = nullptr;
  for (int twice = 0; twice < 2; ++twice) {
    EXPECT_EQ(tessera_job_take_model(job, &model), TESSERA_E_IO);
    EXPECT_STREQ(tessera_last_error(), "the source went away");
  }
  tessera_job_free(job);
  EXPECT_EQ(source.released, 1);

  tessera_fit_options bad = quick();
  bad.struct_size = sizeof bad, bad.method = "magic";
  SmallStream unused(10);
  unused.open(&rows);
  EXPECT_EQ(tessera_fit_start(context.get(), &bad, &rows, &job), TESSERA_E_USAGE);
  EXPECT_EQ(unused.released, 1) << "consumed all the same";
}

TEST(Jobs, CancelSoonAndAlone) {
  const tessera::Context context = context_of(1);
  tessera::Job endless(context, tessera::example(context, "people", 300, 1), quick(kEndless));
  while (std::string(endless.poll().phase) != "train") std::this_thread::yield();
  EXPECT_FALSE(endless.wait_for(std::chrono::milliseconds(0)));
  tessera_model* model = nullptr;
  EXPECT_EQ(tessera_job_take_model(endless.get(), &model), TESSERA_E_USAGE) << "it has not finished";
  endless.cancel();
  endless.wait();
  EXPECT_EQ(tessera_job_take_model(endless.get(), &model), TESSERA_E_CANCELLED);
  EXPECT_NO_THROW(tessera::example(context, "people", 10, 1)) << "the context goes on";

  tessera::Job other(context, tessera::example(context, "people", 300, 1), quick(kEndless));
  while (other.poll().done == 0) std::this_thread::yield();
  const_cast<tessera::Context&>(context).cancel();
  other.wait();
  EXPECT_EQ(tessera_job_take_model(other.get(), &model), TESSERA_E_CANCELLED) << "the context stops all that is its";
}

TEST(Jobs, StopWhenFreed) {
  const tessera::Context context = context_of(1);
  for (int i = 0; i < 3; ++i) tessera::Job job(context, tessera::example(context, "people", 300, 1), quick(kEndless));
}

TEST(Jobs, AnswerManyThreads) {
  const tessera::Context context = context_of(2);
  tessera::Job job(context, tessera::example(context, "people", 300, 1), quick("epochs=4;batch-size=50"));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&job] {
      while (job.poll().finished == 0) (void)job.wait_for(std::chrono::milliseconds(1));
      job.wait();
    });
  for (auto& t : threads) t.join();
  EXPECT_GT(job.model().bytes().size(), 0u);
}

TEST(Jobs, RejectWaitingInOwnCallback) {
  struct Told {
    std::atomic<tessera_job*> job{nullptr};
    tessera_status wait = TESSERA_OK;
    std::string freed;
  } told;
  const tessera::Context context = context_of(1);
  tessera_fit_options o = quick("epochs=1;batch-size=50");
  o.losses_user = &told;
  o.losses = [](const tessera_losses*, void* user) {
    auto& t = *static_cast<Told*>(user);
    while (t.job.load() == nullptr) std::this_thread::yield();
    t.wait = tessera_job_wait(t.job, -1, nullptr);
    tessera_job_free(t.job);
    t.freed = tessera_last_error();
  };
  tessera::Job job(context, tessera::example(context, "people", 200, 1), o);
  told.job = job.get();
  job.wait();
  EXPECT_EQ(told.wait, TESSERA_E_USAGE);
  EXPECT_NE(told.freed.find("callback"), std::string::npos);
}

// Cancelled at the first event of each phase, as a user's Ctrl-C may come at any time.
TEST(Jobs, CancelInEveryPhase) {
  struct Stop {
    tessera_context* context;
    std::string at;
    std::vector<std::string>* seen;
  };
  const auto run = [](const std::string& at, std::vector<std::string>* seen) {
    Stop stop{nullptr, at, seen};
    tessera_context_options o{};
    o.struct_size = sizeof o, o.user = &stop, o.threads = 2;
    o.progress = [](const tessera_progress* p, void* user) {
      auto& s = *static_cast<Stop*>(user);
      if (s.seen != nullptr && (s.seen->empty() || s.seen->back() != p->phase)) s.seen->push_back(p->phase);
      if (s.at == p->phase) tessera_context_cancel(s.context);
    };
    EXPECT_EQ(tessera_context_new(&o, &stop.context), TESSERA_OK);
    ArrowArrayStream rows;
    EXPECT_EQ(tessera_example(stop.context, nullptr, 400, 1, &rows), TESSERA_OK);
    tessera_fit_options fit = quick();
    fit.struct_size = sizeof fit, fit.calibrate = "full";
    tessera_model* model = nullptr;
    const tessera_status status = tessera_fit(stop.context, &fit, &rows, &model);
    EXPECT_EQ(rows.release, nullptr);
    EXPECT_EQ(model != nullptr, status == TESSERA_OK);
    tessera_model_free(model);
    tessera_context_free(stop.context);
    return status;
  };
  std::vector<std::string> phases;
  ASSERT_EQ(run("", &phases), TESSERA_OK);
  ASSERT_GE(phases.size(), 3u);
  phases.pop_back();  // after the last phase there is nothing left to cancel
  for (const std::string& phase : phases) EXPECT_EQ(run(phase, nullptr), TESSERA_E_CANCELLED) << phase;
}

// In a child process; its exit code is the number of the law that was broken.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Fork, KeepsContextsAndModelsAndRejectsStreamsAndJobs) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not follow threads into a child";
#endif
  const tessera::Context context = context_of(2);
  const tessera::Model model = tessera::Model::fit(context, tessera::example(context, "people", 300, 1), quick());
  const std::string expected = csv_free_text(context, model);
  tessera::Rows open = model.sample(context, 0, 100000);
  tessera::Job job(context, tessera::example(context, "people", 300, 1), quick(kEndless));
  EXPECT_EQ(in_child([&] {
              if (csv_free_text(context, model) != expected) return 1;
              ArrowArray batch{};
              if (open.get()->get_next(open.get(), &batch) == 0) return 2;
              if (std::string(open.get()->get_last_error(open.get())).find("fork()") == std::string::npos) return 3;
              open.reset();  // neither waits nor crashes
              tessera_job_state state{};
              state.struct_size = sizeof state;
              if (tessera_job_poll(job.get(), &state) != TESSERA_E_UNSUPPORTED) return 4;
              if (tessera_job_wait(job.get(), -1, nullptr) != TESSERA_E_UNSUPPORTED) return 5;
              tessera_job_free(job.get());
              const tessera::Model again =
                  tessera::Model::fit(context, tessera::example(context, "people", 300, 1), quick());
              return again.bytes() == model.bytes() ? 0 : 6;
            }),
            0);
  EXPECT_EQ(open.next().rows() > 0, true) << "the parent's stream goes on";
}

TEST(Memory, SavesAndLoadsModelsInMemory) {
  const tessera::Context context = context_of(1);
  const tessera::Model model = tessera::Model::fit(context, tessera::example(context, "people", 200, 1), quick());
  const std::vector<std::byte> bytes = model.bytes();
  EXPECT_EQ(tessera::Model::load_memory(bytes.data(), bytes.size()).bytes(), bytes);
  // A truncated model is rejected.
  tessera_model* none = nullptr;
  for (size_t cut = 0; cut < bytes.size(); cut += bytes.size() / 50 + 1) {
    EXPECT_EQ(tessera_model_load_memory(bytes.data(), cut, &none), TESSERA_E_FORMAT) << cut;
    EXPECT_NE(std::string(tessera_last_error()).find("(memory)"), std::string::npos);
  }
  EXPECT_EQ(none, nullptr);
}

TEST(Memory, ThrowsAtLimitAndReleasesEverything) {
  tessera_context_options o{};
  o.threads = 1;
  o.memory_limit = 3 << 20;
  const tessera::Context small(o);
  for (int again = 0; again < 3; ++again) {
    EXPECT_NO_THROW(tessera::inspect(small, tessera::example(small, "people", 2000, 1)))
        << "what a call took is given back";
    try {
      tessera::inspect(small, tessera::example(small, "people", 100000, 1));
      FAIL() << "a table of 14 columns and 100,000 rows is larger";
    } catch (const tessera::Error& e) {
      EXPECT_EQ(e.status(), TESSERA_E_MEMORY);
      EXPECT_NE(std::string(e.what()).find("memory_limit"), std::string::npos);
    }
  }
  o.memory_limit = 1 << 20;
  const tessera::Context smaller(o);
  try {
    tessera::Model::fit(smaller, tessera::example(smaller, "people", 2000, 1), quick());
    FAIL() << "weights and activations are larger";
  } catch (const tessera::Error& e) { EXPECT_EQ(e.status(), TESSERA_E_MEMORY) << e.what(); }
  o.memory_limit = int64_t{1} << 30;
  const tessera::Context roomy(o);
  EXPECT_NO_THROW(tessera::Model::fit(roomy, tessera::example(roomy, "people", 2000, 1), quick()));
  o.memory_limit = -1;
  EXPECT_THROW(tessera::Context{o}, tessera::Error);
  // Bytes held by the caller are not available to the calls.
  o.memory_limit = 3 << 20, o.memory_held = -1;
  EXPECT_THROW(tessera::Context{o}, tessera::Error);
  o.memory_held = o.memory_limit + 1;
  EXPECT_THROW(tessera::Context{o}, tessera::Error);
  o.memory_held = o.memory_limit;
  const tessera::Context full(o);
  EXPECT_THROW(tessera::inspect(full, tessera::example(full, "people", 2000, 1)), tessera::Error);
  o.memory_held = 0;
  // With a folder for scratch files the arrays of a table go there, its texts do not; a missing folder is
  // an error at once.
  o.memory_limit = 12 << 20;
  const std::string folder = std::filesystem::temp_directory_path().string();
  o.scratch = folder.c_str();
  const tessera::Context scratch(o);
  EXPECT_NO_THROW(tessera::inspect(scratch, tessera::example(scratch, "people", 100000, 1)));
  o.scratch = "/nowhere/at all";
  try {
    const tessera::Context none(o);
    FAIL();
  } catch (const tessera::Error& e) {
    EXPECT_EQ(e.status(), TESSERA_E_IO);
    EXPECT_NE(std::string(e.what()).find("/nowhere/at all"), std::string::npos);
  }
}

TEST(Read, FillsTheArraysOfTheCaller) {
  const tessera::Context context = context_of(1);
  SmallStream source(10, 3);
  const auto read = [&](std::vector<tessera_column_buffer> columns, int64_t capacity) {
    SmallStream s(10, 3);
    ArrowArrayStream rows;
    s.open(&rows);
    return tessera::read(context, tessera::Rows(rows), capacity, std::move(columns));
  };
  std::vector<double> numbers(30, -1);
  std::vector<int64_t> whole(30, -1);
  std::vector<char> words(30 * 6, 'x');
  std::vector<uint8_t> missing(30, 9);
  tessera_column_buffer a{}, b{}, c{};
  a.type = TESSERA_FLOAT64, a.values = numbers.data(), a.missing = missing.data();
  b.name = "number", b.type = TESSERA_INT64, b.values = whole.data();
  c.name = "colour", c.type = TESSERA_TEXT, c.values = words.data(), c.width = 6;
  EXPECT_EQ(read({a, b, c}, 30), 30);
  for (size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(numbers[i], static_cast<double>(i % 10 * 7 % 40));
    EXPECT_EQ(whole[i], static_cast<int64_t>(numbers[i]));
    EXPECT_EQ(missing[i], 0);
    EXPECT_STREQ(words.data() + 6 * i, i % 10 % 3 == 0 ? "red" : i % 10 % 3 == 1 ? "green" : "blue");
  }
  EXPECT_EQ(read({a}, 12), 12) << "at most the capacity";
  EXPECT_EQ(read({}, 100), 30);
  const auto fails = [&](tessera_column_buffer wrong, tessera_status status, const char* words_of_it) {
    try {
      read({wrong}, 30);
      ADD_FAILURE() << words_of_it;
    } catch (const tessera::Error& e) {
      EXPECT_EQ(e.status(), status) << e.what();
      EXPECT_NE(std::string(e.what()).find(words_of_it), std::string::npos) << e.what();
    }
  };
  c.width = 5;
  fails(c, TESSERA_E_DATA, "width of 6");
  c.type = TESSERA_INT64;
  fails(c, TESSERA_E_DATA, "not a number");
  c.name = "color";
  fails(c, TESSERA_E_USAGE, "\"color\"");
  a.values = nullptr;
  fails(a, TESSERA_E_USAGE, "values");
  a.type = static_cast<tessera_value>(0);
  fails(a, TESSERA_E_USAGE, "type is 0");
}

TEST(Read, ConvertsMissingValuesAndTimes) {
  const tessera::Context context = context_of(1);
  std::vector<double> seconds(300);
  std::vector<int64_t> micros(300);
  std::vector<char> text(300 * 64);
  std::vector<uint8_t> missing(300);
  tessera_column_buffer a{}, b{}, c{};
  a.name = "last_seen", a.type = TESSERA_FLOAT64, a.values = seconds.data(), a.missing = missing.data();
  b.name = "last_seen", b.type = TESSERA_INT64, b.values = micros.data();
  c.name = "last_seen", c.type = TESSERA_TEXT, c.values = text.data(), c.width = 64;
  ASSERT_EQ(tessera::read(context, tessera::example(context, "people", 300, 1), 300, {a, b, c}), 300);
  for (size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(missing[i] != 0, std::isnan(seconds[i]));
    EXPECT_EQ(micros[i], missing[i] != 0 ? 0 : static_cast<int64_t>(std::nearbyint(seconds[i] * 1e6)));
    EXPECT_EQ(text[64 * i] == 0, missing[i] != 0);
  }
}

TEST(Read, IteratesOverBatches) {
  const tessera::Context context = context_of(1);
  SmallStream source(10, 3);
  ArrowArrayStream raw;
  source.open(&raw);
  int64_t count = 0, rows = 0;
  {
    tessera::Rows stream(raw);
    for (const tessera::Batch& batch : stream) ++count, rows += batch.rows();
  }
  EXPECT_EQ(count, 3);
  EXPECT_EQ(rows, 30);
  EXPECT_EQ(source.released, 1);
  SmallStream failing(10);
  failing.error_at_end = EIO;
  failing.open(&raw);
  tessera::Rows stream(raw);
  EXPECT_THROW(for (const tessera::Batch& batch : stream)(void) batch, tessera::Error);
}

}  // namespace
