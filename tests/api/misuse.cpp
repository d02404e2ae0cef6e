// Misuse of every function of the interface: NULL, a pointer that is no handle, a handle of another kind, a freed
// handle, structs of impossible size, the wrong order. Each returns a status and a message. An exported function that
// is not called here fails the last test.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "api/misuse.h"
#include "tessera/tessera.hpp"

namespace {

using namespace tessera::test;

TEST_F(Misuse, RejectsBadHandles) {
  free_one();
  auto& g = good_;
  ArrowArrayStream out{};
  ArrowSchema schema{};
  tessera_model* model = nullptr;
  tessera_job* job = nullptr;
  void* data = nullptr;
  size_t size = 0;
  int64_t read = 0;
  int finished = 0;
  tessera_job_state state{};
  state.struct_size = sizeof state;
  const char* const null_file[] = {"/dev/null"};
  tessera_prior_table* table = nullptr;
  bad_first("tessera_fit", tessera_fit, nullptr, Fresh::rows, &model);
  bad_first("tessera_fit_start", tessera_fit_start, nullptr, Fresh::rows, &job);
  bad_first("tessera_resume", tessera_resume, nullptr, Fresh::rows, nullptr, 0, &finished, &model);
  bad_first("tessera_plan", tessera_plan, nullptr, Fresh::rows, &text_);
  bad_first("tessera_estimate", tessera_estimate, nullptr, Fresh::rows, &text_);
  bad_first("tessera_estimate_columns", tessera_estimate_columns, nullptr, "decimal", 100, &text_);
  bad_first("tessera_find_rules", tessera_find_rules, nullptr, Fresh::rows, &text_);
  bad_first("tessera_inspect", tessera_inspect, Fresh::rows, &text_);
  bad_first("tessera_evaluate", tessera_evaluate, nullptr, Fresh::rows, Fresh::others, nullptr, &text_);
  bad_handles<const tessera_context>("tessera_evaluate_tables", [&](const tessera_context* h) {
    ArrowArrayStream* const one[] = {open(other_)};
    const char* const name[] = {"a"};
    return tessera_evaluate_tables(h, nullptr, rows(), one, name, 1, nullptr, &text_);
  });
  bad_handles<const tessera_context>("tessera_audit", [&](const tessera_context* h) {
    SmallStream third(30);
    ArrowArrayStream unseen;
    third.open(&unseen);
    return tessera_audit(h, nullptr, nullptr, rows(), open(other_), &unseen, &text_);
  });
  bad_first("tessera_score", tessera_score, g.model, Fresh::rows, 0, &out, &text_);
  bad_second("tessera_score", tessera_score, Fresh::rows, 0, &out, &text_);
  bad_first("tessera_predict", tessera_predict, g.model, Fresh::rows, "x", &out);
  bad_second("tessera_predict", tessera_predict, Fresh::rows, "x", &out);
  bad_first("tessera_dedup", tessera_dedup, nullptr, Fresh::rows, nullptr, nullptr, nullptr, &text_);
  bad_first("tessera_table_open", tessera_table_open, null_file, 1, nullptr, &out);
  bad_first("tessera_table_write", tessera_table_write, Fresh::rows, "/nowhere/x.parquet", nullptr);
  bad_first("tessera_example", tessera_example, nullptr, 5, 0, &out);
  bad_first("tessera_prior_draw", tessera_prior_draw, nullptr, 0, 1, &table);
  bad_first("tessera_prior_write", tessera_prior_write, nullptr, 1, "/nowhere", nullptr, 0, 0, &text_);
  bad_first("tessera_prior_inspect", tessera_prior_inspect, nullptr, 1, &text_);
  bad_first("tessera_rows_read", tessera_rows_read, Fresh::rows, 5, nullptr, 0, &read);
  bad_first("tessera_sample", tessera_sample, g.model, 0, 1, nullptr, &out);
  bad_second("tessera_sample", tessera_sample, 0, 1, nullptr, &out);
  bad_first("tessera_model_save", tessera_model_save, "/nowhere/x", 0);
  bad_first("tessera_model_save_memory", tessera_model_save_memory, &data, &size);
  bad_first("tessera_model_schema", tessera_model_schema, &schema);
  bad_first("tessera_model_describe", tessera_model_describe, &text_);
  bad_first("tessera_job_poll", tessera_job_poll, &state);
  bad_first("tessera_job_wait", tessera_job_wait, 0, &finished);
  bad_first("tessera_job_cancel", tessera_job_cancel);
  bad_first("tessera_job_take_model", tessera_job_take_model, &model);
  EXPECT_EQ(model, nullptr);
  EXPECT_EQ(job, nullptr);
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(text_, nullptr);
  EXPECT_EQ(schema.release, nullptr);
  EXPECT_EQ(out.release, nullptr);
}

TEST_F(Misuse, ReportsFreeingDeadHandles) {
  free_one();
  static char anything[256];
  const auto all = [&](const char* function, auto free, std::initializer_list<const void*> others) {
    free(nullptr);
    std::vector<const void*> wrong(others);
    wrong.insert(wrong.end(), {freed_, anything, reinterpret_cast<const void*>(uintptr_t{0x10})});
    for (const void* w : wrong) {
      EXPECT_EQ(tessera_model_load("/nowhere", nullptr), TESSERA_E_USAGE);  // another message before
      free(w);
      EXPECT_NE(std::string(tessera_last_error()).find("is no "), std::string::npos) << function;
    }
  };
  all("tessera_context_free", [](const void* p) { tessera_context_free(as<tessera_context>(p)); },
      {good_.model, good_.job});
  all("tessera_model_free", [](const void* p) { tessera_model_free(as<tessera_model>(p)); },
      {good_.context, good_.job});
  all("tessera_job_free", [](const void* p) { tessera_job_free(as<tessera_job>(p)); }, {good_.context, good_.model});
  all("tessera_prior_table_free", [](const void* p) { tessera_prior_table_free(as<tessera_prior_table>(p)); },
      {good_.context, good_.model});
  char* json = nullptr;
  EXPECT_EQ(tessera_model_describe(good_.model, &json), TESSERA_OK) << "the right ones are still there";
  tessera_string_free(json);
  tessera_string_free(nullptr);
  tessera_memory_free(nullptr);
  tessera_prior_table_free(nullptr);
}

TEST_F(Misuse, IgnoresCancellingNonContexts) {
  tessera_context_cancel(nullptr);
  tessera_context_cancel(as<tessera_context>(good_.model));
  tessera_context_reset(nullptr);
  tessera_context_reset(as<tessera_context>(good_.model));
  EXPECT_EQ(tessera_inspect(good_.context, rows(), &text_), TESSERA_OK) << "nothing was cancelled";
  tessera_string_free(text_);
  tessera_context_cancel(good_.context);
  EXPECT_EQ(tessera_inspect(good_.context, rows(), &text_), TESSERA_E_CANCELLED);
  EXPECT_EQ(stream_.release, nullptr) << "consumed all the same";
}

TEST_F(Misuse, RejectsNulls) {
  auto& g = good_;
  tessera_model* model = nullptr;
  tessera_job* job = nullptr;
  ArrowArrayStream out{}, empty{};
  void* data = nullptr;
  size_t size = 0;
  int64_t read = 0;
  const char byte = 0;
  usage("tessera_context_new", "no place for the context", tessera_context_new(nullptr, nullptr));
  usage("tessera_fit", "no rows", tessera_fit(g.context, nullptr, nullptr, &model));
  usage("tessera_fit", "released rows", tessera_fit(g.context, nullptr, &empty, &model));
  usage("tessera_fit", "no place for the model", tessera_fit(g.context, nullptr, rows(), nullptr));
  EXPECT_EQ(stream_.release, nullptr) << "consumed all the same";
  usage("tessera_fit_start", "no rows", tessera_fit_start(g.context, nullptr, nullptr, &job));
  usage("tessera_fit_start", "no place for the job", tessera_fit_start(g.context, nullptr, rows(), nullptr));
  usage("tessera_resume", "no rows", tessera_resume(g.context, nullptr, nullptr, nullptr, 0, nullptr, &model));
  usage("tessera_resume", "no place for the model",
        tessera_resume(g.context, nullptr, rows(), nullptr, 0, nullptr, nullptr));
  usage("tessera_checkpoint_remove", "no path", tessera_checkpoint_remove(nullptr));
  usage("tessera_job_poll", "no state", tessera_job_poll(g.job, nullptr));
  usage("tessera_job_wait", "a time that is no number", tessera_job_wait(g.job, std::nan(""), nullptr));
  usage("tessera_job_take_model", "no place for the model", tessera_job_take_model(g.job, nullptr));
  usage("tessera_model_save", "no path", tessera_model_save(g.model, nullptr, 0));
  usage("tessera_model_save", "an empty path", tessera_model_save(g.model, "", 0));
  usage("tessera_model_load", "no path", tessera_model_load(nullptr, &model));
  usage("tessera_model_load", "no place for the model", tessera_model_load("x", nullptr));
  usage("tessera_model_load_memory", "no bytes", tessera_model_load_memory(nullptr, 10, &model));
  usage("tessera_model_load_memory", "no place for the model", tessera_model_load_memory(&byte, 1, nullptr));
  usage("tessera_model_save_memory", "no place for the bytes", tessera_model_save_memory(g.model, nullptr, &size));
  usage("tessera_model_save_memory", "no place for their number", tessera_model_save_memory(g.model, &data, nullptr));
  usage("tessera_model_schema", "no schema", tessera_model_schema(g.model, nullptr));
  usage("tessera_model_describe", "no place for the text", tessera_model_describe(g.model, nullptr));
  usage("tessera_sample", "no stream", tessera_sample(g.context, g.model, 0, 1, nullptr, nullptr));
  usage("tessera_sample", "negative rows", tessera_sample(g.context, g.model, 0, -1, nullptr, &out));
  usage("tessera_rows_read", "no rows", tessera_rows_read(g.context, nullptr, 1, nullptr, 0, &read));
  usage("tessera_rows_read", "no columns", tessera_rows_read(g.context, rows(), 1, nullptr, 1, &read));
  usage("tessera_rows_read", "a negative capacity", tessera_rows_read(g.context, rows(), -1, nullptr, 0, &read));
  usage("tessera_rows_read", "no place for the number", tessera_rows_read(g.context, rows(), 1, nullptr, 0, nullptr));
  usage("tessera_inspect", "no rows", tessera_inspect(g.context, nullptr, &text_));
  usage("tessera_inspect", "no place for the text", tessera_inspect(g.context, rows(), nullptr));
  usage("tessera_find_rules", "no rows", tessera_find_rules(g.context, nullptr, nullptr, &text_));
  usage("tessera_find_rules", "no place for the text", tessera_find_rules(g.context, nullptr, rows(), nullptr));
  usage("tessera_plan", "no rows", tessera_plan(g.context, nullptr, nullptr, &text_));
  usage("tessera_plan", "no place for the text", tessera_plan(g.context, nullptr, rows(), nullptr));
  usage("tessera_estimate", "no rows", tessera_estimate(g.context, nullptr, nullptr, &text_));
  usage("tessera_estimate", "no place for the text", tessera_estimate(g.context, nullptr, rows(), nullptr));
  usage("tessera_estimate_columns", "no columns", tessera_estimate_columns(g.context, nullptr, nullptr, 9, &text_));
  usage("tessera_estimate_columns", "no rows", tessera_estimate_columns(g.context, nullptr, "date", 0, &text_));
  usage("tessera_estimate_columns", "no place for the text",
        tessera_estimate_columns(g.context, nullptr, "date", 9, nullptr));
  usage("tessera_evaluate", "no rows", tessera_evaluate(g.context, nullptr, nullptr, nullptr, nullptr, &text_));
  usage("tessera_evaluate", "one table", tessera_evaluate(g.context, nullptr, rows(), nullptr, nullptr, &text_));
  usage("tessera_evaluate", "no place for the text",
        tessera_evaluate(g.context, nullptr, rows(), nullptr, nullptr, nullptr));
  const auto of_tables = [&](std::vector<ArrowArrayStream*> tables, const std::vector<const char*>& names,
                             char** text) {
    return tessera_evaluate_tables(g.context, nullptr, rows(), tables.data(), names.data(), tables.size(), nullptr,
                                   text);
  };
  const auto taken = [] { return ArrowArrayStream{}; };
  ArrowArrayStream first = taken(), second = taken();
  usage("tessera_evaluate_tables", "no table", of_tables({}, {}, &text_));
  usage("tessera_evaluate_tables", "a released table", of_tables({&first}, {"a"}, &text_));
  usage("tessera_evaluate_tables", "equal names", of_tables({&first, &second}, {"a", "a"}, &text_));
  usage("tessera_evaluate_tables", "no name", of_tables({&first}, {nullptr}, &text_));
  usage("tessera_evaluate_tables", "no place for the text", of_tables({&first}, {"a"}, nullptr));
  usage("tessera_evaluate_tables", "no tables",
        tessera_evaluate_tables(g.context, nullptr, rows(), nullptr, nullptr, 2, nullptr, &text_));
  usage("tessera_audit", "nothing to attack",
        tessera_audit(g.context, nullptr, nullptr, rows(), nullptr, nullptr, &text_));
  usage("tessera_audit", "no place for the text",
        tessera_audit(g.context, nullptr, g.model, rows(), nullptr, nullptr, nullptr));
  usage("tessera_score", "no rows", tessera_score(g.context, g.model, nullptr, 0, &out, &text_));
  usage("tessera_predict", "no rows", tessera_predict(g.context, g.model, nullptr, "x", &out));
  usage("tessera_predict", "no column", tessera_predict(g.context, g.model, rows(), nullptr, &out));
  usage("tessera_predict", "no stream", tessera_predict(g.context, g.model, rows(), "x", nullptr));
  usage("tessera_dedup", "no rows", tessera_dedup(g.context, nullptr, nullptr, nullptr, nullptr, nullptr, &text_));
  usage("tessera_dedup", "no place for the text",
        tessera_dedup(g.context, nullptr, rows(), nullptr, nullptr, nullptr, nullptr));
  usage("tessera_report_html", "no report", tessera_report_html(nullptr, &text_));
  usage("tessera_report_html", "no place for the text", tessera_report_html("{}", nullptr));
  usage("tessera_report_write", "no report", tessera_report_write(nullptr, "x", 0));
  usage("tessera_schema_write", "no description", tessera_schema_write(nullptr, "x", 0));
  usage("tessera_schema_write", "no path", tessera_schema_write("{}", nullptr, 0));
  usage("tessera_report_write", "no path", tessera_report_write("{}", nullptr, 0));
  usage("tessera_info", "no place for the text", tessera_info(nullptr));
  usage("tessera_method_options", "no place for the text", tessera_method_options(nullptr));
  const char* const null_file[] = {"/dev/null"};
  const char* const no_file[] = {nullptr};
  usage("tessera_table_open", "no paths", tessera_table_open(g.context, nullptr, 1, nullptr, &out));
  usage("tessera_table_open", "no path", tessera_table_open(g.context, no_file, 1, nullptr, &out));
  usage("tessera_table_open", "no files", tessera_table_open(g.context, null_file, 0, nullptr, &out));
  usage("tessera_table_open", "no stream", tessera_table_open(g.context, null_file, 1, nullptr, nullptr));
  usage("tessera_table_write", "no rows", tessera_table_write(g.context, nullptr, "x", nullptr));
  usage("tessera_table_write", "no path", tessera_table_write(g.context, rows(), nullptr, nullptr));
  usage("tessera_check_files", "no files", tessera_check_files(nullptr, 1));
  const tessera_file no_path{sizeof no_path, "--log", nullptr, TESSERA_FILE_WRITTEN, 0};
  tessera_file no_use{sizeof no_use, "--log", "x", TESSERA_FILE_WRITTEN, 0};
  const int beyond = TESSERA_FILE_TEXT + 1;
  std::memcpy(&no_use.use, &beyond, sizeof beyond);
  usage("tessera_check_files", "no path", tessera_check_files(&no_path, 1));
  usage("tessera_check_files", "a use that there is not", tessera_check_files(&no_use, 1));
  usage("tessera_example", "no stream", tessera_example(g.context, nullptr, 1, 0, nullptr));
  usage("tessera_prior_draw", "no tables", tessera_prior_draw(g.context, nullptr, 0, 1, nullptr));
  usage("tessera_prior_write", "no folder", tessera_prior_write(g.context, nullptr, 1, nullptr, nullptr, 0, 0, &text_));
  usage("tessera_prior_inspect", "no json", tessera_prior_inspect(g.context, nullptr, 1, nullptr));
  EXPECT_EQ(model, nullptr);
  EXPECT_EQ(job, nullptr);
}

TEST_F(Misuse, RejectsStructsOfUnknownSize) {
  auto& g = good_;
  tessera_model* model = nullptr;
  tessera_job* job = nullptr;
  tessera_context* context = nullptr;
  ArrowArrayStream out{};
  int64_t read = 0;
  const char* const null_file[] = {"/dev/null"};
  bad_sizes("tessera_context_new", tessera_context_new, tessera_context_options{}, &context);
  bad_sizes("tessera_check_fit_options", tessera_check_fit_options, tessera_fit_options{});
  bad_sizes("tessera_fit", tessera_fit, g.context, tessera_fit_options{}, Fresh::rows, &model);
  bad_sizes("tessera_fit_start", tessera_fit_start, g.context, tessera_fit_options{}, Fresh::rows, &job);
  bad_sizes("tessera_find_rules", tessera_find_rules, g.context, tessera_fit_options{}, Fresh::rows, &text_);
  bad_sizes("tessera_plan", tessera_plan, g.context, tessera_fit_options{}, Fresh::rows, &text_);
  bad_sizes("tessera_estimate", tessera_estimate, g.context, tessera_fit_options{}, Fresh::rows, &text_);
  bad_sizes("tessera_estimate_columns", tessera_estimate_columns, g.context, tessera_fit_options{}, "9 decimal", 99,
            &text_);
  bad_sizes("tessera_sample", tessera_sample, g.context, g.model, 0, 1, tessera_sample_options{}, &out);
  bad_sizes("tessera_evaluate", tessera_evaluate, g.context, tessera_evaluate_options{}, Fresh::rows, nullptr, nullptr,
            &text_);
  bad_sizes("tessera_evaluate_tables", tessera_evaluate_tables, g.context, tessera_evaluate_options{}, Fresh::rows,
            nullptr, nullptr, 1, nullptr, &text_);
  bad_sizes("tessera_audit", tessera_audit, g.context, tessera_audit_options{}, nullptr, Fresh::rows, nullptr, nullptr,
            &text_);
  bad_sizes("tessera_dedup", tessera_dedup, g.context, tessera_dedup_options{}, Fresh::rows, nullptr, nullptr, nullptr,
            &text_);
  bad_sizes("tessera_resume", tessera_resume, g.context, tessera_fit_options{}, Fresh::rows, nullptr, 0, nullptr,
            &model);
  bad_sizes("tessera_check_evaluate_options", tessera_check_evaluate_options, tessera_evaluate_options{});
  bad_sizes("tessera_table_open", tessera_table_open, g.context, null_file, 1, tessera_csv_options{}, &out);
  bad_sizes("tessera_check_files", tessera_check_files, tessera_file{}, 1);
  bad_sizes("tessera_table_write", tessera_table_write, g.context, Fresh::rows, "/nowhere/x",
            tessera_csv_write_options{});
  tessera_column_buffer buffer{};
  for (const size_t size : {size_t{0}, size_t{3}, size_t{1} << 20}) {
    buffer.struct_size = size;
    usage("tessera_rows_read", "a buffer of impossible size",
          tessera_rows_read(g.context, rows(), 1, &buffer, 1, &read));
  }
  tessera_job_state state{};
  usage("tessera_job_poll", "a state without a size", tessera_job_poll(g.job, &state));
  // A state of an older header receives only its own fields.
  struct {
    size_t size = offsetof(tessera_job_state, phase);
    int finished = -1;
    uint64_t behind = 0x5555;
  } older;
  static_assert(offsetof(decltype(older), finished) == offsetof(tessera_job_state, finished));
  EXPECT_EQ(tessera_job_poll(g.job, reinterpret_cast<tessera_job_state*>(&older)), TESSERA_OK);
  EXPECT_EQ(older.finished, 1);
  EXPECT_EQ(older.behind, 0x5555u);
}

TEST_F(Misuse, RejectsInvalidOptions) {
  auto& g = good_;
  ArrowArrayStream out{};
  tessera_sample_options s{};
  s.struct_size = sizeof s;
  s.texts = "views";
  usage("tessera_sample", "an unknown layout of texts", tessera_sample(g.context, g.model, 0, 1, &s, &out));
  tessera_fit_options f{};
  f.struct_size = sizeof f;
  for (const char* types : {"a", "number=float", "number=integer,number=category", "=integer"}) {
    f.types = types;
    usage("tessera_check_fit_options", types, tessera_check_fit_options(&f));
  }
  tessera_model* model = nullptr;
  f.types = "nothing=category";
  usage("tessera_fit", "a type for a column that is not there", tessera_fit(g.context, &f, rows(), &model));
  f.types = "number=category,colour=constant";
  EXPECT_EQ(tessera_fit(g.context, &f, rows(), &model), TESSERA_E_DATA) << "colours differ";
  f.types = "number=category";
  f.rare_categories = TESSERA_KEEP_RARE;  // else the column is regenerated, and its digits need not fit an int32
  f.settings = "epochs=0";
  ASSERT_EQ(tessera_fit(g.context, &f, rows(), &model), TESSERA_OK) << tessera_last_error();
  ArrowSchema schema{};
  ASSERT_EQ(tessera_model_schema(model, &schema), TESSERA_OK);
  EXPECT_STREQ(schema.children[0]->format, "i") << "an int32 went in, a category it is, an int32 comes out";
  EXPECT_EQ(schema.children[0]->dictionary, nullptr);
  schema.release(&schema);
  tessera_model_free(model);
}

TEST_F(Misuse, NamesStatuses) {
  EXPECT_STREQ(tessera_status_name(TESSERA_OK), "OK");
  EXPECT_STREQ(tessera_status_name(TESSERA_E_CONDITION), "CONDITION");
  EXPECT_STREQ(tessera_status_name(static_cast<tessera_status>(77)), "?");
  EXPECT_EQ(tessera_abi_version(), static_cast<uint32_t>(TESSERA_ABI_VERSION));
  EXPECT_STRNE(tessera_version(), "");
  tessera_launched(nullptr, nullptr);
  EXPECT_EQ(tessera_process_memory(nullptr, nullptr, nullptr), TESSERA_OK);
  int32_t rank = -1, ranks = -1;
  tessera_launched(&rank, &ranks);
  EXPECT_EQ(rank, 0) << "the tests are no ranks";
  EXPECT_EQ(ranks, 1);
  EXPECT_EQ(tessera_check_launched(), TESSERA_OK);
}

// Concurrent threads that create, use, misuse and free their own handles and share one model.
TEST_F(Misuse, SurvivesManyThreads) {
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(6);
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([this, t, &wrong] {
      const auto expect = [&](bool holds, const char* what) {
        if (!holds) wrong[t] += std::string(what) + ": " + tessera_last_error() + "\n";
      };
      for (int i = 0; i < 8; ++i) {
        tessera_context_options o{};
        o.struct_size = sizeof o, o.threads = 1 + i % 2;
        tessera_context* context = nullptr;
        expect(tessera_context_new(&o, &context) == TESSERA_OK, "a context");
        SmallStream source(60);
        ArrowArrayStream stream;
        source.open(&stream);
        tessera_fit_options f{};
        f.struct_size = sizeof f, f.settings = "epochs=0", f.seed = t;
        tessera_model* model = nullptr;
        tessera_job* job = nullptr;
        if (i % 2 == 0) {
          expect(tessera_fit(context, &f, &stream, &model) == TESSERA_OK, "a model");
        } else {
          expect(tessera_fit_start(context, &f, &stream, &job) == TESSERA_OK &&
                     tessera_job_wait(job, -1, nullptr) == TESSERA_OK &&
                     tessera_job_take_model(job, &model) == TESSERA_OK,
                 "a job");
          tessera_job_free(job);
        }
        for (const tessera_model* m :
             {static_cast<const tessera_model*>(model), static_cast<const tessera_model*>(good_.model)}) {
          double numbers[20];
          tessera_column_buffer b{};
          b.struct_size = sizeof b, b.type = TESSERA_FLOAT64, b.values = numbers;
          int64_t read = 0;
          expect(tessera_sample(context, m, 0, 20, nullptr, &stream) == TESSERA_OK &&
                     tessera_rows_read(context, &stream, 20, &b, 1, &read) == TESSERA_OK && read == 20,
                 "rows");
        }
        expect(tessera_model_save(model, nullptr, 0) == TESSERA_E_USAGE &&
                   std::strstr(tessera_last_error(), "path") != nullptr,
               "its own message");
        tessera_model_free(model);
        tessera_context_free(context);
      }
    });
  for (auto& t : threads) t.join();
  for (const std::string& w : wrong) EXPECT_EQ(w, "");
}

std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(MisuseOf, CoversEveryFunction) {
  const std::string tests =
      text_of(TESSERA_SOURCE_DIR "/tests/api/misuse.cpp") + text_of(TESSERA_SOURCE_DIR "/tests/api/misuse_given.cpp");
  std::string header;
  for (const auto& file : std::filesystem::directory_iterator(TESSERA_SOURCE_DIR "/include/tessera"))
    if (file.path().extension() == ".h") header += text_of(file.path().c_str());
  const std::regex declaration(R"(TESSERA_API[^(;]*?(tessera_\w+)\()");
  int functions = 0;
  for (std::sregex_iterator i(header.begin(), header.end(), declaration), end; i != end; ++i, ++functions)
    EXPECT_TRUE(std::regex_search(tests, std::regex((*i)[1].str() + "[(,)]")))
        << (*i)[1] << " is exported, and nothing here misuses it";
  EXPECT_GE(functions, 30);
}

}  // namespace
