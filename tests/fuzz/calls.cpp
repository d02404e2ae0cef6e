// Sequences of calls of the C interface, in any order, with any handle there is or NULL, and with arguments in and out
// of range: each gives a status that fits its outputs, a failure leaves a message, and at the end everything can be
// freed.
//   input: a byte a call, then its arguments
#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "fuzz/input.h"
#include "tessera/tessera.h"

namespace {

using tessera::fuzz::Bytes;

class Caller {
 public:
  explicit Caller(Bytes& in) : in_(in) {}
  ~Caller() {
    for (ArrowArrayStream& s : streams_)
      if (s.release != nullptr) s.release(&s);
    for (tessera_model* m : models_) tessera_model_free(m);
    for (tessera_context* c : contexts_) tessera_context_free(c);
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  void call() {
    switch (in_.below(20)) {
      case 0: return open_context();
      case 1: return cancel();
      case 2:
      case 3: return example();
      case 4:
      case 5: return fit();
      case 6:
      case 7: return sample();
      case 8: return pull();
      case 9: return save_and_load();
      case 10: return describe();
      case 11: return schema();
      case 12: return report();
      case 13: return evaluate();
      case 14: return plan();
      case 15: return csv();
      case 16: return drop();
      case 17: return output();
      case 18: return misuse();
      default: return info();
    }
  }

 private:
  // Outputs are set when, and only when, the call succeeded; else there is a message.
  // By reference: an argument may be looked at before the call beside it is made.
  template <class T>
  static bool judge(tessera_status status, const T& output) {
    bool given = false;
    if constexpr (requires { output.release; }) given = output.release != nullptr;
    else if constexpr (std::is_same_v<T, tessera_status>) given = output == TESSERA_OK;
    else given = output != nullptr;
    if (status == TESSERA_E_INTERNAL || (status == TESSERA_OK) != given) __builtin_trap();
    if (status != TESSERA_OK && *tessera_last_error() == 0) __builtin_trap();
    return status == TESSERA_OK;
  }
  void judge_text(tessera_status status, char* const& text) {
    judge(status, text);
    tessera_string_free(text);
  }

  tessera_context* context() {
    return contexts_.empty() || in_.byte() == 255 ? nullptr : contexts_[in_.below(contexts_.size())];
  }
  tessera_model* model() { return models_.empty() || in_.byte() == 255 ? nullptr : models_[in_.below(models_.size())]; }
  // A stream that is there, was consumed before, or is none.
  ArrowArrayStream* stream() {
    return streams_.empty() || in_.byte() == 255 ? nullptr : &streams_[in_.below(streams_.size())];
  }
  void keep(tessera_status status, const ArrowArrayStream& s) {
    if (judge(status, s)) streams_.push_back(s);
  }
  template <class Options>
  const Options* pass(Options& options) {
    options.struct_size = sizeof options;
    switch (in_.byte()) {
      case 255: return nullptr;
      case 254: options.struct_size = 0; break;
      case 253: options.struct_size = sizeof options.struct_size; break;
      case 252: options.struct_size = 1 << 20; break;
      default: break;
    }
    return &options;
  }
  const char* word() {
    static constexpr const char* kWords[] = {nullptr,  "",          "ctgan", "tvae",         "best", "paper",
                                             "off",    "marginals", "full",  "cpu",          "auto", "cuda:9",
                                             "people", "age",       "city",  "stack,gather", "\xFF", "no such thing"};
    return in_.one_of(kWords);
  }
  int32_t number() {
    static constexpr int32_t kNumbers[] = {0, 1, 2, 3, 8, 10, -1, -2, INT32_MIN, INT32_MAX, 4097, 20};
    return in_.one_of(kNumbers);
  }
  int32_t small() { return static_cast<int32_t>(in_.below(24)); }
  // a fit reads its stream to the end: none of 2^31 rows
  int32_t rows() { return in_.byte() == 255 ? std::min(number(), 4097) : small(); }

  void open_context() {
    tessera_context_options o{};
    o.threads = in_.byte() == 255 ? number() : 1;
    o.device = in_.byte() % 8 == 0 ? word() : nullptr;
    if (in_.byte() % 2 == 0)
      o.progress = [](const tessera_progress* p, void*) {
        if (p->phase == nullptr || p->unit == nullptr || p->note == nullptr) __builtin_trap();
      };
    if (in_.byte() % 2 == 0)
      o.log = [](const char* line, void*) {
        if (*line == 0) __builtin_trap();
      };
    tessera_context* made = nullptr;
    if (judge(tessera_context_new(pass(o), &made), made)) contexts_.push_back(made);
  }
  void cancel() {
    tessera_context* c = context();
    if (in_.byte() % 2 == 0) tessera_context_cancel(c);
    if (in_.byte() % 4 != 0) tessera_context_reset(c);
  }
  void example() {
    ArrowArrayStream s{};
    keep(tessera_example(context(), in_.byte() % 8 == 0 ? word() : nullptr, rows(), in_.byte(), &s), s);
  }
  tessera_fit_options fit_options() {
    tessera_fit_options o{};
    o.method = in_.byte() % 2 == 0 ? "tvae" : "ctgan";
    o.preset = in_.byte() % 4 == 0 ? "paper" : nullptr;
    settings_ = in_.byte() % 4 == 0 ? "epochs=1" : "epochs=0";
    settings_ += o.method[0] == 'c' ? ";embedding-dim=2;generator-dim=3;discriminator-dim=3"
                                    : ";embedding-dim=2;encoder-dim=3,2;decoder-dim=3,2";
    std::string batch = "10";
    o.calibrate = in_.byte() % 4 == 0 ? word() : "off";
    switch (in_.byte()) {  // mostly what works
      case 255: o.method = word(); break;
      case 254: o.preset = word(); break;
      case 253: batch = std::to_string(std::min(number(), 100)); break;
      case 252: settings_ += ";pac=" + std::to_string(number()); break;
      case 251: settings_ += ";learning-rate=" + std::to_string(number()); break;
      case 250: o.passes_off = word(); break;
      case 249: o.source = word(); break;
      case 248: settings_ += ";loss-factor=0.5"; break;
      case 247: settings_ += ";discriminator-steps=" + std::to_string(number() % 3); break;
      // the last value of an option counts; a zero would end the text, and nothing would bound the training
      case 246: settings_ = in_.text(40).c_str() + (";" + settings_); break;
      default: break;
    }
    settings_ += ";batch-size=" + batch;
    o.settings = settings_.c_str();
    return o;
  }
  void fit() {
    ArrowArrayStream* rows = stream();
    tessera_fit_options o = fit_options();
    tessera_check_fit_options(&o);
    tessera_model* made = nullptr;
    tessera_context* c = context();
    const tessera_fit_options* passed = pass(o);
    // all defaults: hundreds of epochs of wide layers, so they are cancelled at once
    if (passed == nullptr || passed->struct_size == sizeof passed->struct_size) {
      if (c == nullptr) passed = &o, o.struct_size = sizeof o;
      tessera_context_cancel(c);
    }
    const bool good = judge(tessera_fit(c, passed, rows, &made), made);
    if (rows != nullptr && rows->release != nullptr) __builtin_trap();  // consumed, whatever came of it
    if (good) models_.push_back(made);
  }
  void sample() {
    tessera_sample_options o{};
    o.seed = in_.byte();
    o.calibrate = in_.byte() % 4 == 0 ? word() : nullptr;
    o.batch_size = in_.byte() == 255 ? number() : 4;
    if (o.batch_size > 64) o.batch_size = 64;
    o.max_tries = in_.byte() == 255 ? number() % 10 : 3;
    o.min_yield = in_.byte() == 255 ? number() : 0;
    const std::string where = in_.byte() % 4 == 0 ? in_.text(40) : "";
    o.where = where.c_str();
    ArrowArrayStream s{};
    keep(tessera_sample(context(), model(), in_.byte() == 255 ? number() : small(), rows(), pass(o), &s), s);
  }
  void pull() {
    ArrowArrayStream* s = stream();
    if (s == nullptr || s->release == nullptr) return;
    ArrowSchema schema{};
    if (s->get_schema(s, &schema) == 0) schema.release(&schema);
    ArrowArray batch{};
    if (s->get_next(s, &batch) != 0) {
      if (s->get_last_error(s) == nullptr) __builtin_trap();
    } else if (batch.release != nullptr) {
      batch.release(&batch);
    }
  }
  void save_and_load() {
    const std::string& path = tessera::fuzz::scratch_path();
    tessera_model* m = model();
    const tessera_status saved = tessera_model_save(m, path.c_str(), in_.byte() % 8 != 0);
    judge(saved, saved);
    tessera_model* loaded = nullptr;
    if (judge(tessera_model_load(in_.byte() == 255 ? word() : path.c_str(), &loaded), loaded))
      models_.push_back(loaded);
  }
  void describe() {
    char* text = nullptr;
    judge_text(tessera_model_describe(model(), &text), text);
  }
  void schema() {
    ArrowSchema out{};
    const tessera_status status = tessera_model_schema(model(), &out);
    if (judge(status, out)) out.release(&out);
  }
  void report() {
    char* text = nullptr;
    judge_text(tessera_inspect(context(), stream(), &text), text);
  }
  void evaluate() {
    tessera_evaluate_options o{};
    o.without_distances = in_.byte() % 2;
    o.without_c2st = in_.byte() % 4 != 0;
    o.without_utility = in_.byte() % 4 != 0;
    o.target = in_.byte() % 4 == 0 ? word() : nullptr;
    o.drawings = 1;
    char* text = nullptr;
    ArrowArrayStream *real = stream(), *synthetic = stream(), *holdout = in_.byte() % 2 == 0 ? stream() : nullptr;
    judge_text(tessera_evaluate(context(), pass(o), real, synthetic, holdout, &text), text);
  }
  void plan() {
    tessera_fit_options o = fit_options();
    char* text = nullptr;
    judge_text(tessera_plan(context(), pass(o), stream(), &text), text);
  }
  void csv() {
    const std::string& path = tessera::fuzz::scratch_path();
    tessera_csv_write_options w{};
    w.overwrite = in_.byte() % 8 != 0;
    w.delimiter = static_cast<char>(in_.byte() == 255 ? in_.byte() : 0);
    const tessera_status written = tessera_table_write(context(), stream(), path.c_str(), pass(w));
    judge(written, written);
    tessera_csv_options o{};
    ArrowSchema like{};
    if (in_.byte() % 2 == 0 && !models_.empty() && tessera_model_schema(models_[0], &like) == TESSERA_OK)
      o.like = &like;
    ArrowArrayStream s{};
    const char* const one = path.c_str();
    keep(tessera_table_open(context(), &one, 1, pass(o), &s), s);
    if (like.release != nullptr) like.release(&like);
  }
  void drop() {
    switch (in_.below(3)) {
      case 0:
        // streams made with it live on
        if (contexts_.size() > 1) tessera_context_free(contexts_.back()), contexts_.pop_back();
        break;
      case 1:
        if (!models_.empty()) tessera_model_free(models_.back()), models_.pop_back();
        break;
      default:
        if (!streams_.empty()) {
          if (streams_.back().release != nullptr) streams_.back().release(&streams_.back());
          streams_.pop_back();
        }
    }
  }
  void output() {
    tessera_file file{0, "a file", word(), TESSERA_FILE_TEXT, in_.byte() % 2};
    const tessera_status status = tessera_check_files(pass(file), 1);
    judge(status, status);
  }
  void misuse() {
    const auto refused = [](tessera_status status) {
      if (status != TESSERA_E_USAGE || *tessera_last_error() == 0) __builtin_trap();
    };
    refused(tessera_context_new(nullptr, nullptr));
    refused(tessera_model_load(nullptr, nullptr));
    refused(tessera_model_describe(nullptr, nullptr));
    refused(tessera_model_schema(nullptr, nullptr));
    refused(tessera_fit(nullptr, nullptr, nullptr, nullptr));
    refused(tessera_sample(nullptr, nullptr, 0, 0, nullptr, nullptr));
    refused(tessera_table_open(nullptr, nullptr, 1, nullptr, nullptr));
    refused(tessera_info(nullptr));
    refused(tessera_method_options(nullptr));
    tessera_string_free(nullptr);
    tessera_model_free(nullptr);
    tessera_context_free(nullptr);
  }
  void info() {
    char* text = nullptr;
    judge_text(tessera_info(&text), text);
  }

  Bytes& in_;
  std::string settings_;  // of the last fit_options()
  std::vector<tessera_context*> contexts_;
  std::vector<tessera_model*> models_;
  std::vector<ArrowArrayStream> streams_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes in(data, size);
  Caller caller(in);
  for (int calls = 0; !in.done() && calls < 24; ++calls) caller.call();
  return 0;
}
