// Fitting in the background: a job is a fit on its own thread, with its progress, cancellation and result.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "models/api/fit.h"
#include "models/api/model.h"
#include "models/api/support/handles.h"

using namespace tessera;
using namespace tessera::api;

struct tessera_job {
  explicit tessera_job(ArrowArrayStream* rows) : incoming(rows, "rows") {}

  // On its thread.
  void run() {
    const tessera_status ended = guarded([&] {
      JobHooks hooks{&cancel, [this](const Progress& p) { note(p); }};
      api::Call call(std::move(context), std::move(hooks));
      fit.device = call.device(fit.precision);
      Table table = import_table(incoming, types, fit, call);
      model = std::make_unique<tessera_model>(
          tessera_model{Model::fit(std::move(table), fit, call.team(), call.monitor())});
    });
    fit = FitOptions{};
    const std::lock_guard lock(mutex);
    status = ended;
    if (ended != TESSERA_OK) message = tessera_last_error();
    state.finished = 1;
    done.notify_all();
  }

  void note(const Progress& p) {
    if (std::strcmp(p.phase, "notice") == 0) return;  // a notice, not a phase
    const std::lock_guard lock(mutex);
    state.phase = p.phase;
    state.done = p.done;
    state.total = p.total;
    state.unit = p.unit;
    std::snprintf(note_text, sizeof note_text, "%s", p.note.c_str());
  }

  // Throws unless called in the process that started the job.
  void check_process() const {
    if (process != ::getpid())
      throw Error(ErrorCode::unsupported,
                  "The job was started before fork(), and its thread stayed with the parent.\n  Use it there.");
  }

  IncomingRows incoming;
  FitOptions fit;
  GivenTypes types;
  std::shared_ptr<ContextState> context;
  std::atomic<bool> cancel{false};
  const int process = ::getpid();
  std::thread thread;

  std::mutex mutex;
  std::condition_variable done;
  tessera_job_state state{};
  char note_text[sizeof tessera_job_state::note] = "";
  tessera_status status = TESSERA_OK;
  std::string message;
  std::unique_ptr<tessera_model> model;
  bool taken = false;
};

tessera_status tessera_fit_start(const tessera_context* context, const tessera_fit_options* options,
                                 ArrowArrayStream* rows, tessera_job** job) {
  return guarded([&] {
    auto made = std::make_unique<tessera_job>(rows);
    auto& out = required(job, "job");
    (void)made->incoming.get();
    made->fit = fit_options(options);
    made->types = given_types(options);
    made->context = state_of(context);
    made->state.phase = made->state.unit = "";
    tessera_job* started = give_handle(made.release());
    try {
      started->thread = std::thread([started] { started->run(); });
    } catch (const std::system_error& e) {
      forget_handle(started, HandleKind::job);
      delete started;
      throw Error(ErrorCode::memory, std::string("The job's thread cannot be started (") + e.code().message() +
                                         ").\n  Start fewer jobs at a time.");
    }
    out = started;
  });
}

tessera_status tessera_job_poll(tessera_job* job, tessera_job_state* state) {
  return guarded([&] {
    auto& j = live(job, "job");
    auto& out = required(state, "state");
    const size_t size = out.struct_size;
    if (size < sizeof size || size > (size_t{1} << 16))
      throw Error(ErrorCode::usage, "The state has an invalid struct_size; set it to the sizeof of the struct.");
    j.check_process();
    const std::lock_guard lock(j.mutex);
    tessera_job_state now = j.state;
    now.struct_size = size;
    std::memcpy(now.note, j.note_text, sizeof now.note);
    std::memcpy(&out, &now, std::min(size, sizeof now));
  });
}

tessera_status tessera_job_wait(tessera_job* job, double seconds, int* finished) {
  return guarded([&] {
    auto& j = live(job, "job");
    if (seconds != seconds)
      throw Error(ErrorCode::usage, "seconds is not a number; a negative number waits without a limit.");
    j.check_process();
    if (std::this_thread::get_id() == j.thread.get_id())
      throw Error(ErrorCode::usage, "A callback of the job cannot wait for it: the job waits for the callback.");
    std::unique_lock lock(j.mutex);
    const auto over = [&] { return j.state.finished != 0; };
    constexpr double kLongest = 1e8;  // three years
    if (seconds < 0 || seconds > kLongest) j.done.wait(lock, over);
    else j.done.wait_for(lock, std::chrono::duration<double>(seconds), over);
    if (finished != nullptr) *finished = j.state.finished;
  });
}

tessera_status tessera_job_cancel(tessera_job* job) {
  return guarded([&] { live(job, "job").cancel.store(true, std::memory_order_relaxed); });
}

tessera_status tessera_job_take_model(tessera_job* job, tessera_model** model) {
  return guarded([&] {
    auto& j = live(job, "job");
    auto& out = required(model, "model");
    j.check_process();
    const std::lock_guard lock(j.mutex);
    if (j.state.finished == 0)
      throw Error(ErrorCode::usage, "The job has not finished.\n  Wait for it with tessera_job_wait().");
    if (j.status != TESSERA_OK) throw Error(code_of_status(j.status), j.message);
    if (j.taken)
      throw Error(ErrorCode::usage, "The job's model was already taken: it belongs to the caller that took it.");
    out = give_handle(j.model.release());
    j.taken = true;
  });
}

void tessera_job_free(tessera_job* job) {
  if (job == nullptr) return;
  (void)guarded([&] {
    auto& j = live(job, "job");
    if (j.process == ::getpid()) {
      if (std::this_thread::get_id() == j.thread.get_id())
        throw Error(ErrorCode::usage, "A callback of the job cannot free it: the job waits for the callback.");
      if (!forget_handle(job, HandleKind::job)) fail_handle("job", HandleKind::job, HandleKind::none);
      j.cancel.store(true, std::memory_order_relaxed);
      j.thread.join();
      delete job;
      return;
    }
    forget_handle(job, HandleKind::job);  // the memory leaks: the lost thread may have been using any of it
  });
}
