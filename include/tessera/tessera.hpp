// Tessera for C++17 and later: owning handles, statuses as exceptions. Header-only, over tessera.h, which documents
// every function.
#pragma once
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tessera/tessera.h"

namespace tessera {
inline namespace v1 {

class Error : public std::runtime_error {
 public:
  Error(tessera_status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  tessera_status status() const noexcept { return status_; }

 private:
  tessera_status status_;
};

inline void check(tessera_status status) {
  if (status != TESSERA_OK) throw Error(status, tessera_last_error());
}

class Schema {
 public:
  explicit Schema(ArrowSchema taken) noexcept : schema_(taken) {}
  ~Schema() {
    if (schema_.release != nullptr) schema_.release(&schema_);
  }
  Schema(Schema&& other) noexcept : schema_(std::exchange(other.schema_, ArrowSchema{})) {}
  Schema& operator=(Schema&& other) noexcept {
    std::swap(schema_, other.schema_);
    return *this;
  }

  const ArrowSchema* get() const noexcept { return &schema_; }

 private:
  ArrowSchema schema_{};
};

// A batch of rows: a struct array, released at the end. `get()->children[j]` is column j.
class Batch {
 public:
  Batch() noexcept = default;
  explicit Batch(ArrowArray taken) noexcept : array_(taken) {}
  ~Batch() {
    if (array_.release != nullptr) array_.release(&array_);
  }
  Batch(Batch&& other) noexcept : array_(std::exchange(other.array_, ArrowArray{})) {}
  Batch& operator=(Batch&& other) noexcept {
    std::swap(array_, other.array_);
    return *this;
  }

  explicit operator bool() const noexcept { return array_.release != nullptr; }
  int64_t rows() const noexcept { return array_.length; }
  const ArrowArray* get() const noexcept { return &array_; }
  // Releases ownership: the caller releases the array.
  ArrowArray release() noexcept { return std::exchange(array_, ArrowArray{}); }

 private:
  ArrowArray array_{};
};

// A stream of rows. Move it into a function that consumes it: `fit(context, std::move(rows))`.
class Rows {
 public:
  Rows() noexcept = default;
  explicit Rows(ArrowArrayStream taken) noexcept : stream_(taken) {}
  ~Rows() { reset(); }
  Rows(Rows&& other) noexcept : stream_(std::exchange(other.stream_, ArrowArrayStream{})) {}
  Rows& operator=(Rows&& other) noexcept {
    if (this != &other) {
      reset();
      stream_ = std::exchange(other.stream_, ArrowArrayStream{});
    }
    return *this;
  }

  ArrowArrayStream* get() noexcept { return &stream_; }
  Schema schema() {
    ArrowSchema out{};
    if (const int error = stream_.get_schema(&stream_, &out)) throw Error(status_of(error), message());
    return Schema(out);
  }
  // The next batch; false at the end.
  Batch next() {
    ArrowArray out{};
    if (const int error = stream_.get_next(&stream_, &out)) throw Error(status_of(error), message());
    return Batch(out);
  }

  // for (const tessera::Batch& batch : rows): each batch once, released before the next is requested.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = Batch*;
    using reference = Batch&;
    Iterator() noexcept = default;
    explicit Iterator(Rows& rows) : rows_(&rows) { ++*this; }
    Batch& operator*() noexcept { return *batch_; }
    Batch* operator->() noexcept { return batch_.get(); }
    Iterator& operator++() {
      batch_.reset();
      batch_ = std::make_shared<Batch>(rows_->next());
      if (!*batch_) batch_.reset();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(const Iterator& other) const noexcept { return batch_ == other.batch_; }
    bool operator!=(const Iterator& other) const noexcept { return batch_ != other.batch_; }

   private:
    Rows* rows_ = nullptr;
    std::shared_ptr<Batch> batch_;
  };
  Iterator begin() { return Iterator(*this); }
  Iterator end() { return {}; }

  void reset() noexcept {
    if (stream_.release != nullptr) stream_.release(&stream_);
    stream_ = {};
  }

 private:
  std::string message() {
    const char* text = stream_.get_last_error == nullptr ? nullptr : stream_.get_last_error(&stream_);
    return text == nullptr ? "The stream failed." : text;
  }
  // The error of a stream of this library; errors of other streams have the kind DATA.
  static tessera_status status_of(int error) noexcept {
    switch (error) {
      case EINVAL: return TESSERA_E_USAGE;
      case EIO: return TESSERA_E_IO;
      case ENOMEM: return TESSERA_E_MEMORY;
      case ERANGE: return TESSERA_E_NUMERIC;
      case EDOM: return TESSERA_E_CONDITION;
      case EBADMSG: return TESSERA_E_FORMAT;
      case ENOTSUP: return TESSERA_E_UNSUPPORTED;
      case ECANCELED: return TESSERA_E_CANCELLED;
      case EFAULT: return TESSERA_E_INTERNAL;
      default: return TESSERA_E_DATA;
    }
  }

  ArrowArrayStream stream_{};
};

class Context {
 public:
  explicit Context(tessera_context_options options = {}) {
    options.struct_size = sizeof options;
    check(tessera_context_new(&options, &handle_));
  }
  ~Context() { tessera_context_free(handle_); }
  Context(Context&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Context& operator=(Context&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  void cancel() noexcept { tessera_context_cancel(handle_); }
  void reset() noexcept { tessera_context_reset(handle_); }
  tessera_context* get() const noexcept { return handle_; }

 private:
  tessera_context* handle_ = nullptr;
};

namespace detail {

// Calls a function that returns a text, and takes ownership.
template <class Function>
std::string text(Function&& call) {
  char* raw = nullptr;
  check(call(&raw));
  struct Guard {
    char* text;
    ~Guard() { tessera_string_free(text); }
  } guard{raw};
  return raw;
}

// By reference: for a struct passed by value, g++ 12 at -O1 ignores that the library writes through the pointers in it.
template <class Options>
Options sized(const Options& options) {
  Options out = options;
  out.struct_size = sizeof out;
  return out;
}

}  // namespace detail

class Model;

// A fit in the background. The destructor cancels it and waits.
class Job {
 public:
  Job(const Context& context, Rows rows, const tessera_fit_options& options = {}) {
    const auto o = detail::sized(options);
    check(tessera_fit_start(context.get(), &o, rows.get(), &handle_));
  }
  ~Job() { tessera_job_free(handle_); }
  Job(Job&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Job& operator=(Job&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  tessera_job_state poll() const {
    tessera_job_state state{};
    state.struct_size = sizeof state;
    check(tessera_job_poll(handle_, &state));
    return state;
  }
  void wait() const { check(tessera_job_wait(handle_, -1, nullptr)); }
  // False: still running.
  bool wait_for(std::chrono::duration<double> time) const {
    int finished = 0;
    check(tessera_job_wait(handle_, time.count() < 0 ? 0 : time.count(), &finished));
    return finished != 0;
  }
  void cancel() const { check(tessera_job_cancel(handle_)); }
  inline Model model();  // waits for it; throws the fit's error
  tessera_job* get() const noexcept { return handle_; }

 private:
  tessera_job* handle_ = nullptr;
};

class Model {
 public:
  static Model load_memory(const void* data, size_t size) {
    Model m;
    check(tessera_model_load_memory(data, size, &m.handle_));
    return m;
  }
  static Model load(const std::string& path) {
    Model m;
    check(tessera_model_load(path.c_str(), &m.handle_));
    return m;
  }
  static Model fit(const Context& context, Rows rows, const tessera_fit_options& options = {}) {
    const auto o = detail::sized(options);
    Model m;
    check(tessera_fit(context.get(), &o, rows.get(), &m.handle_));
    return m;
  }
  // As fit(), continuing from options.checkpoint; `finished` (may be null) tells whether the model at `saved` was
  // already finished.
  static Model resume(const Context& context, Rows rows, const tessera_fit_options& options, const std::string& saved,
                      bool overwrite = false, bool* finished = nullptr) {
    const auto o = detail::sized(options);
    Model m;
    int was_there = 0;
    check(tessera_resume(context.get(), &o, rows.get(), saved.c_str(), overwrite, &was_there, &m.handle_));
    if (finished != nullptr) *finished = was_there != 0;
    return m;
  }
  // false: moved from, or fitted by a launched process that is not rank 0
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  ~Model() { tessera_model_free(handle_); }
  Model(Model&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Model& operator=(Model&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  void save(const std::string& path, bool overwrite = false) const {
    check(tessera_model_save(handle_, path.c_str(), overwrite));
  }
  // The bytes of the file that save() writes.
  std::vector<std::byte> bytes() const {
    void* data = nullptr;
    size_t size = 0;
    check(tessera_model_save_memory(handle_, &data, &size));
    const std::unique_ptr<void, decltype(&tessera_memory_free)> guard(data, tessera_memory_free);
    const auto* first = static_cast<const std::byte*>(data);
    return {first, first + size};
  }
  std::string describe() const {
    return detail::text([&](char** out) { return tessera_model_describe(handle_, out); });
  }
  Schema schema() const {
    ArrowSchema out{};
    check(tessera_model_schema(handle_, &out));
    return Schema(out);
  }
  Rows sample(const Context& context, int64_t offset, int64_t count, const tessera_sample_options& options = {}) const {
    const auto o = detail::sized(options);
    Rows rows;
    check(tessera_sample(context.get(), handle_, offset, count, &o, rows.get()));
    return rows;
  }
  // Rows with given cells (tessera_given.h): a file of them, equal shares of a column's values, or a file of
  // counts; and the rows that have them.
  Rows open_given(const Context& context, const std::string& path, const tessera_csv_options& options = {}) const {
    const auto o = detail::sized(options);
    Rows given;
    check(tessera_given_open(context.get(), handle_, path.c_str(), &o, given.get()));
    return given;
  }
  Rows balanced(const Context& context, const std::string& column, int64_t count) const {
    Rows given;
    check(tessera_given_balanced(context.get(), handle_, column.c_str(), count, given.get()));
    return given;
  }
  Rows counts(const Context& context, const std::string& path, const tessera_csv_options& options = {}) const {
    const auto o = detail::sized(options);
    Rows given;
    check(tessera_given_counts(context.get(), handle_, path.c_str(), &o, given.get()));
    return given;
  }
  Rows sample_given(const Context& context, Rows given, const tessera_given_options& options = {}) const {
    const auto o = detail::sized(options);
    Rows rows;
    check(tessera_sample_given(context.get(), handle_, given.get(), &o, rows.get()));
    return rows;
  }
  void impute(const Context& context, const std::string& path, const std::string& output,
              const tessera_csv_options& csv = {}, bool overwrite = false,
              const tessera_given_options& options = {}) const {
    const auto c = detail::sized(csv);
    const auto o = detail::sized(options);
    check(tessera_impute(context.get(), handle_, path.c_str(), output.c_str(), &c, overwrite, &o));
  }
  tessera_model* get() const noexcept { return handle_; }

 private:
  friend class Job;
  Model() = default;
  tessera_model* handle_ = nullptr;
};

inline Model Job::model() {
  wait();
  Model m;
  check(tessera_job_take_model(handle_, &m.handle_));
  return m;
}

// Rows into the caller's arrays; returns the rows read. Each buffer's struct_size is set here.
inline int64_t read(const Context& context, Rows rows, int64_t capacity, std::vector<tessera_column_buffer> columns) {
  for (auto& c : columns) c.struct_size = sizeof c;
  int64_t done = 0;
  check(tessera_rows_read(context.get(), rows.get(), capacity, columns.data(), columns.size(), &done));
  return done;
}

// CSV, Parquet or Arrow, one file or several as one table.
inline Rows read_table(const Context& context, const std::vector<std::string>& paths,
                       const tessera_csv_options& options = {}) {
  const auto o = detail::sized(options);
  std::vector<const char*> names;
  for (const std::string& path : paths) names.push_back(path.c_str());
  Rows rows;
  check(tessera_table_open(context.get(), names.data(), names.size(), &o, rows.get()));
  return rows;
}

inline Rows read_csv(const Context& context, const std::string& path, const tessera_csv_options& options = {}) {
  return read_table(context, {path}, options);
}

// In the format of the file extension. Returns the rows written.
inline int64_t write_table(const Context& context, Rows rows, const std::string& path,
                           const tessera_csv_write_options& options = {}) {
  auto o = detail::sized(options);
  int64_t written = 0;
  o.written = &written;
  check(tessera_table_write(context.get(), rows.get(), path.c_str(), &o));
  return written;
}

inline int64_t write_csv(const Context& context, Rows rows, const std::string& path,
                         const tessera_csv_write_options& options = {}) {
  return write_table(context, std::move(rows), path, options);
}

inline Rows example(const Context& context, const std::string& name, int64_t rows, uint64_t seed) {
  Rows out;
  check(tessera_example(context.get(), name.c_str(), rows, seed, out.get()));
  return out;
}

// Writes random tables into a folder, or with an empty one only draws them. Returns the JSON of tessera_prior_write().
inline std::string write_prior(const Context& context, const tessera_prior_options& options, int64_t tables,
                               const std::string& folder, const std::string& format = "pt", int32_t part = 0,
                               int32_t parts = 1) {
  const auto o = detail::sized(options);
  return detail::text([&](char** out) {
    return folder.empty()
               ? tessera_prior_inspect(context.get(), &o, tables, out)
               : tessera_prior_write(context.get(), &o, tables, folder.c_str(), format.c_str(), part, parts, out);
  });
}

inline void remove_checkpoint(const std::string& path) { check(tessera_checkpoint_remove(path.c_str())); }

// The reports are JSON texts.
inline std::string inspect(const Context& context, Rows rows) {
  return detail::text([&](char** out) { return tessera_inspect(context.get(), rows.get(), out); });
}
// Writes a schema file from inspect()'s JSON; tessera_schema_write().
inline void write_schema(const std::string& json, const std::string& path, bool overwrite) {
  check(tessera_schema_write(json.c_str(), path.c_str(), overwrite));
}
inline std::string find_rules(const Context& context, Rows rows, const tessera_fit_options& options = {}) {
  const auto o = detail::sized(options);
  return detail::text([&](char** out) { return tessera_find_rules(context.get(), &o, rows.get(), out); });
}
inline std::string plan(const Context& context, Rows rows, const tessera_fit_options& options = {}) {
  const auto o = detail::sized(options);
  return detail::text([&](char** out) { return tessera_plan(context.get(), &o, rows.get(), out); });
}
inline std::string estimate(const Context& context, Rows rows, const tessera_fit_options& options = {}) {
  const auto o = detail::sized(options);
  return detail::text([&](char** out) { return tessera_estimate(context.get(), &o, rows.get(), out); });
}
inline std::string estimate_columns(const Context& context, const std::string& columns, int64_t rows,
                                    const tessera_fit_options& options = {}) {
  const auto o = detail::sized(options);
  return detail::text(
      [&](char** out) { return tessera_estimate_columns(context.get(), &o, columns.c_str(), rows, out); });
}
// Bytes of this process: tessera_process_memory().
struct ProcessMemory {
  int64_t resident = 0, peak = 0, available = 0;
};
inline ProcessMemory process_memory() {
  ProcessMemory m;
  check(tessera_process_memory(&m.resident, &m.peak, &m.available));
  return m;
}
// `holdout` may be empty.
inline std::string evaluate(const Context& context, Rows real, Rows synthetic, Rows holdout = {},
                            const tessera_evaluate_options& options = {}) {
  const auto o = detail::sized(options);
  ArrowArrayStream* unseen = holdout.get()->release == nullptr ? nullptr : holdout.get();
  return detail::text(
      [&](char** out) { return tessera_evaluate(context.get(), &o, real.get(), synthetic.get(), unseen, out); });
}
// Several synthetic tables by their names; tessera_evaluate_tables().
inline std::string evaluate_tables(const Context& context, Rows real, std::vector<Rows> synthetic,
                                   const std::vector<std::string>& names, Rows holdout = {},
                                   const tessera_evaluate_options& options = {}) {
  const auto o = detail::sized(options);
  ArrowArrayStream* unseen = holdout.get()->release == nullptr ? nullptr : holdout.get();
  std::vector<ArrowArrayStream*> streams;
  std::vector<const char*> texts;
  for (Rows& rows : synthetic) streams.push_back(rows.get());
  for (const std::string& name : names) texts.push_back(name.c_str());
  return detail::text([&](char** out) {
    return tessera_evaluate_tables(context.get(), &o, real.get(), streams.data(), texts.data(),
                                   std::min(streams.size(), texts.size()), unseen, out);
  });
}
// Copies among rows, or of rows of `against`; tessera_dedup(). `kept` and `copies` may be null.
inline std::string dedup(const Context& context, Rows rows, Rows against = {},
                         const tessera_dedup_options& options = {}, Rows* kept = nullptr, Rows* copies = nullptr) {
  const auto o = detail::sized(options);
  ArrowArrayStream* other = against.get()->release == nullptr ? nullptr : against.get();
  return detail::text([&](char** out) {
    return tessera_dedup(context.get(), &o, rows.get(), other, kept == nullptr ? nullptr : kept->get(),
                         copies == nullptr ? nullptr : copies->get(), out);
  });
}
// What attacks find out about the training rows; tessera_audit(). `model` may be null, `synthetic` and `holdout` empty.
inline std::string audit(const Context& context, const Model* model, Rows training, Rows synthetic = {},
                         Rows holdout = {}, const tessera_audit_options& options = {}) {
  const auto o = detail::sized(options);
  const auto given = [](Rows& rows) { return rows.get()->release == nullptr ? nullptr : rows.get(); };
  return detail::text([&](char** out) {
    return tessera_audit(context.get(), &o, model == nullptr ? nullptr : model->get(), training.get(), given(synthetic),
                         given(holdout), out);
  });
}
// How likely a model takes rows to be; tessera_score(). `scores` may be null.
inline std::string score(const Context& context, const Model& model, Rows rows, bool cells = false,
                         Rows* scores = nullptr) {
  return detail::text([&](char** out) {
    return tessera_score(context.get(), model.get(), rows.get(), cells, scores == nullptr ? nullptr : scores->get(),
                         out);
  });
}
// The probabilities of a column's values; tessera_predict().
inline Rows predict(const Context& context, const Model& model, Rows rows, const std::string& column) {
  Rows out;
  check(tessera_predict(context.get(), model.get(), rows.get(), column.c_str(), out.get()));
  return out;
}
// The page for the JSON of evaluate() or evaluate_tables(); tessera_report_html().
inline std::string report_html(const std::string& json) {
  return detail::text([&](char** out) { return tessera_report_html(json.c_str(), out); });
}
inline void write_report(const std::string& json, const std::string& path, bool overwrite) {
  check(tessera_report_write(json.c_str(), path.c_str(), overwrite));
}
// The options of every method, as JSON; tessera_method_options().
inline std::string method_options() {
  return detail::text([](char** out) { return tessera_method_options(out); });
}
inline std::string info() {
  return detail::text([](char** out) { return tessera_info(out); });
}

// Reports usage errors before the data are read.
inline void check_fit_options(const tessera_fit_options& options) {
  const auto o = detail::sized(options);
  check(tessera_check_fit_options(&o));
}
inline void check_evaluate_options(const tessera_evaluate_options& options) {
  const auto o = detail::sized(options);
  check(tessera_check_evaluate_options(&o));
}
inline void check_files(const std::vector<tessera_file>& files) {
  std::vector<tessera_file> sized;
  for (const tessera_file& file : files) sized.push_back(detail::sized(file));
  check(tessera_check_files(sized.data(), sized.size()));
}

}  // namespace v1
}  // namespace tessera
