// Running a program: steps on the CPU by the team, or replayed by the device.
#include <utility>

#include "base/error.h"
#include "engine/run/device_run.h"
#include "engine/run/dispatcher.h"
#include "engine/run/program.h"

namespace tessera {

int64_t Program::run(int64_t n) {
  prepare();
  if (n <= 0 || step_->bad >= 0 || phases_.empty()) return 0;
  const int64_t first = step_->step;
  fetched_.clear();
  if (device_) device_->run(*step_, n);
  else run_here(n);
  return step_->step - first;
}

void Program::watch(const std::vector<Id>& values) { watched_ = values; }

std::vector<View> Program::watched_views() const {
  std::vector<View> views;
  for (const Id v : watched_) {
    views.push_back(view(v));
    if (views.back().rows > 1 && views.back().ld != views.back().cols)
      throw Error(ErrorCode::internal, "a watched value is not contiguous");
  }
  return views;
}

namespace {

// A copy of the state takes milliseconds, a start some tens of them. The search for a NaN repeats these starts.
constexpr int kStartsAKept = 8;

}  // namespace

void Program::start(int64_t n, bool keep) {
  prepare();
  fetched_.clear();
  if (device_) {
    device_->start(*step_, n, watched_views(), keep);
    kept_ = kept_ || keep;
    return;
  }
  if (keep && starts_since_kept_++ % kStartsAKept == 0) snapshot();
  started_ = run(n);
}

int64_t Program::finish() {
  if (!device_) return std::exchange(started_, 0);
  const int64_t first = step_->step;
  if (step_->bad < 0) snapshot_step_ = *step_;  // steps after a failing one are no-ops and keep no snapshot
  device_->finish(*step_);
  return step_->step - first;
}

void Program::compile_launches(const Compilation& how) {
  compilation_ = std::make_unique<Compilation>(how);
  ready_ = false;
}

LaunchReport Program::launches() const {
  return device_ && device_->compiled() != nullptr ? device_->compiled()->report() : LaunchReport{};
}

void Program::run_unrecorded(int64_t n) {
  prepare();
  if (device_) device_->run_unrecorded(n);
  else run(n);
}

const void* Program::watched_data(size_t i, size_t item) const {
  if (item != static_cast<size_t>(item_bytes(plan_[watched_[i]])))
    throw Error(ErrorCode::internal, "a value is read with another scalar type");
  return device_ ? device_->watched(i) : view(watched_[i]).data;
}

void Program::run_here(int64_t n) {
  const int64_t first = step_->step;
  const uint64_t count = phases_.size();
  Dispatcher dispatcher(0, team_.size());
  if (clock_) clock_->begin();
  auto shares = [&](uint64_t epoch) -> const auto& { return phases_[epoch % count].shares; };
  auto work = [&](int thread) {
    char* scratch = scratch_[static_cast<size_t>(thread)]->data();
    Dispatcher::Taken t;
    while (dispatcher.take(thread, shares, t)) {
      const Phase& phase = phases_[t.epoch % count];
      size_t c = 0;
      while (t.tile >= phase.calls[c].tiles) t.tile -= phase.calls[c++].tiles;
      const Ready& r = phase.calls[c];
      if (r.chain >= 0 && row_chains_[static_cast<size_t>(r.chain)].tiles)
        run_tile(row_chains_[static_cast<size_t>(r.chain)], t.tile, scratch);
      else if (r.chain >= 0) run_block(row_chains_[static_cast<size_t>(r.chain)], t.tile, scratch);
      else if (t.tile < r.live_tiles) r.kernel.run(r.call, t.tile, scratch);
      if (!dispatcher.finish(phase.tiles)) continue;
      if (clock_) clock_->end(t.epoch % count);
      if (live_ && t.epoch % count == live_from_) end_batch();
      if ((t.epoch + 1) % count == 0) {
        ++step_->step;
        if (step_->bad >= 0 || step_->step - first >= n) {
          dispatcher.stop();
          return;
        }
      }
      dispatcher.open(t.epoch + 1);
    }
  };
  team_.run(work);
}

std::vector<TimedPhase> Program::time_phases(int64_t n) {
  prepare();
  if (device_) throw Error(ErrorCode::internal, "phases are timed on the processor only");
  clock_ = std::make_unique<PhaseClock>(phases_.size(), team_.size());
  run(n);
  const std::unique_ptr<PhaseClock> clock = std::move(clock_);
  std::vector<TimedPhase> timed;
  for (const Phase& phase : phases_) {
    timed.push_back({{}, clock->shortest(timed.size())});
    for (const Ready& r : phase.calls) {
      TimedPhase::Call call{{r.node}, r.tiles};
      if (r.chain >= 0) {
        const Chain& chain = row_chains_[static_cast<size_t>(r.chain)];
        call.nodes.clear();
        for (const Ready& link : chain.links) call.nodes.push_back(link.node);
        call.block_rows = chain.block;
      }
      timed.back().calls.push_back(std::move(call));
    }
  }
  return timed;
}

// A single phase; the step does not advance.
void Program::run_phase(const Phase& phase) {
  if (!device_) {
    for (const Ready& r : phase.calls)
      for (int64_t t = 0; t < r.tiles; ++t) r.kernel.run(r.call, t, scratch_[0]->data());
    return;
  }
  std::vector<DeviceCall> calls;
  for (const Ready& r : phase.calls) calls.push_back({r.kernel, r.call, ""});
  device_->run_calls(calls.data(), static_cast<int64_t>(calls.size()));
}

}  // namespace tessera
