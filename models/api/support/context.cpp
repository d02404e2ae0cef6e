#include "models/api/support/context.h"

#include <fmt/format.h>

#include <cstring>

#include "base/storage/files.h"
#include "base/text/option_text.h"
#include "base/text/printable.h"
#include "engine/comm/launched.h"
#include "engine/device/device.h"
#include "engine/run/precision.h"
#include "models/api/support/handles.h"
#include "models/training/checkpoint.h"
#include "tables/types/types.h"

namespace tessera::api {
namespace {

constexpr int kMaxThreads = 4096;

}  // namespace

const std::shared_ptr<ContextState>& state_of(const tessera_context* context) {
  const auto& state = live(context, "context").state;
  if (state->cancel.load(std::memory_order_relaxed))
    throw Error(ErrorCode::cancelled, "The context was cancelled. tessera_context_reset() makes it usable again.");
  return state;
}

Call::Call(const tessera_context* context) : Call(state_of(context)) {}

Call::Call(std::shared_ptr<ContextState> context, JobHooks hooks)
    : context_(std::move(context)), hooks_(std::move(hooks)), team_(context_->options.threads, context_->memory) {
  monitor_.cancel = &context_->cancel;
  monitor_.cancel_job = hooks_.cancel;
  if (context_->options.progress != nullptr || context_->options.log != nullptr || hooks_.on_progress)
    monitor_.on_progress = [this](const Progress& p) { report(p); };
}

namespace {

// If no GPU is named by number, the processes of a launcher divide the GPUs of their machine.
std::string device_of_process(const std::string& name) {
  if (name != "cuda" && name != "auto") return name;
  const Launched here = launched();
  const int gpus = here.any() ? device_library().devices : 0;
  return gpus == 0 ? name : fmt::format("cuda:{}", here.local % gpus);
}

}  // namespace

std::shared_ptr<Device> Call::device(const std::string& precision) {
  auto device = std::make_shared<Device>(device_of_process(context_->device));
  const ChosenPrecision chosen = choose_precision(precision, *device);
  if (!chosen.why.empty())
    notice(monitor_, fmt::format("{}: {}, because {}.", option_text("precision", precision), name_of(chosen.precision),
                                 chosen.why));
  return device;
}

Device* Call::gpu() {
  gpu_ = std::make_shared<Device>(device_of_process(context_->device));
  return gpu_->is_processor() ? nullptr : gpu_.get();
}

void Call::report(const Progress& given) {
  Progress p = given;
  p.note = printable_message(p.note);
  const tessera_context_options& o = context_->options;
  if (hooks_.on_progress) hooks_.on_progress(p);
  if (o.progress != nullptr) {
    const tessera_progress event{sizeof event, p.phase, p.done, p.total, p.unit, p.note.c_str(), p.finished ? 1 : 0};
    o.progress(&event, o.user);
  }
  if (o.log == nullptr) return;
  if (std::strcmp(p.phase, "notice") == 0) return o.log(("notice: " + p.note).c_str(), o.user);
  const auto now = std::chrono::steady_clock::now();
  if (!p.finished) return;
  const double seconds = std::chrono::duration<double>(now - started_).count();
  o.log(
      fmt::format("{}: {:.0f} {} in {:.2f} s{}{}", p.phase, p.done, p.unit, seconds, p.note.empty() ? "" : ", ", p.note)
          .c_str(),
      o.user);
  started_ = now;
}

}  // namespace tessera::api

using namespace tessera;
using namespace tessera::api;

tessera_status tessera_context_new(const tessera_context_options* options, tessera_context** context) {
  return guarded([&] {
    auto& out = required(context, "context");
    auto state = std::make_shared<ContextState>();
    state->options = read_options(options);
    const int threads = state->options.threads;
    if (threads < 0 || threads > kMaxThreads)
      throw Error(ErrorCode::usage,
                  fmt::format("`threads={}`: it must be 0 (every processor) to {}.", threads, kMaxThreads));
    if (state->options.device != nullptr) state->device = state->options.device;
    state->options.device = nullptr;  // the caller's text need not live on
    Device::check_name(state->device);
    if (state->device != "auto") Device probe(state->device);  // a missing device is reported at once
    if (state->options.memory_limit < 0)
      throw Error(ErrorCode::usage, fmt::format("`memory_limit={}`: it must be 0 (none) or a number of bytes.",
                                                state->options.memory_limit));
    if (state->options.memory_held < 0)
      throw Error(ErrorCode::usage, fmt::format("memory_held is {}; it must be 0 (none) or a number of bytes.",
                                                state->options.memory_held));
    const std::string scratch = text_or(state->options.scratch, "");
    state->options.scratch = nullptr;  // the caller's text need not live on
    if (!scratch.empty()) (void)open_scratch(scratch);
    if (state->options.memory_limit > 0 || !scratch.empty() || state->options.memory_held > 0)
      state->memory = std::make_shared<MemoryLimit>(state->options.memory_limit, scratch);
    if (state->memory != nullptr)
      state->memory->count_array(state->options.memory_held / 2);  // half of the rest is for arrays
    if (const int64_t limit = state->options.memory_limit, held = state->options.memory_held; limit > 0 && limit < held)
      throw Error(ErrorCode::memory,
                  fmt::format("A memory limit of {} leaves nothing: the program itself takes {:.1f} MB of it.\n  Raise "
                              "`memory_limit`; an estimate reports what a fit takes.",
                              counted(limit, "byte"), static_cast<double>(held) / 1e6));
    state->held = {state->memory, state->options.memory_held, "the process itself"};
    out = give_handle(new tessera_context(std::move(state)));
  });
}

void tessera_context_free(tessera_context* context) { free_handle(context, "context"); }

static_assert(std::atomic<bool>::is_always_lock_free,
              "tessera_context_cancel() must be callable from a signal handler");

void tessera_context_cancel(tessera_context* context) {
  if (context != nullptr && context->magic == kContextMagic)
    context->state->cancel.store(true, std::memory_order_relaxed);
}

void tessera_context_reset(tessera_context* context) {
  if (kind_of_handle(context) == HandleKind::context) context->state->cancel.store(false, std::memory_order_relaxed);
}
