#include "models/sampling/rows_ahead.h"

#include <unistd.h>

#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace tessera {
namespace {

constexpr int64_t kMaxAhead = 4096;  // rows that wait: a batch, beside the one that is being made

}  // namespace

RowsAhead::RowsAhead(const Open& open, Team& team, const Monitor& monitor)
    : team_(team), monitor_(monitor), process_(::getpid()), shared_(std::make_unique<Shared>()) {
  maker_monitor_.cancel = monitor.cancel;
  maker_monitor_.cancel_job = monitor.cancel_job;
  maker_monitor_.on_progress = [shared = shared_.get()](const Progress& p) { keep(*shared, p); };
  shared_->stream = open(maker_monitor_);
  std::unique_lock lock(shared_->mutex);
  pass_on(lock);
}

RowsAhead::~RowsAhead() {
  if (process_ != ::getpid()) {
    (void)shared_.release();
    return;
  }
  {
    std::lock_guard lock(shared_->mutex);
    shared_->stop = true;
  }
  shared_->changed.notify_all();
  end_maker();
}

void RowsAhead::end_maker() {
  if (shared_->maker.joinable()) shared_->maker.join();
}

// A search tells how far it is many times; only the last time counts.
void RowsAhead::keep(Shared& shared, const Progress& progress) {
  {
    std::lock_guard lock(shared.mutex);
    if (shared.stop) throw Error(ErrorCode::cancelled, "The reader stopped.");
    const bool again = !shared.told.empty() && std::strcmp(shared.told.back().phase, progress.phase) == 0 &&
                       std::strcmp(progress.phase, "notice") != 0;
    if (again) shared.told.back() = progress;
    else shared.told.push_back(progress);
  }
  shared.changed.notify_all();
}

void RowsAhead::make(Shared& shared) {
  const auto hand_over = [&shared](Made made) {
    std::unique_lock lock(shared.mutex);
    shared.rows_ready += made.rows.rows;
    shared.ready.push_back(std::move(made));
    shared.changed.notify_all();
    shared.changed.wait(lock, [&] { return shared.stop || shared.rows_ready < kMaxAhead; });
    return !shared.stop;
  };
  try {
    for (bool more = true, wanted = true; more && wanted;) {
      Made made;
      more = made.more = shared.stream->next(made.rows);
      made.report = shared.stream->report();
      wanted = hand_over(std::move(made));
    }
  } catch (...) {
    Made failed;
    failed.error = std::current_exception();
    (void)hand_over(std::move(failed));
  }
}

// Callbacks may take their time, or throw: the lock is not held meanwhile.
void RowsAhead::pass_on(std::unique_lock<std::mutex>& lock) {
  const std::vector<Progress> told = std::exchange(shared_->told, {});
  lock.unlock();
  for (const Progress& p : told) monitor_.report(p);
  lock.lock();
}

std::thread RowsAhead::started(Shared& shared) {
  try {
    return std::thread([&shared] { make(shared); });
  } catch (const std::system_error& e) {
    throw Error(ErrorCode::memory, std::string("The thread that makes rows cannot be started (") + e.code().message() +
                                       ").\n  `threads=1` needs none.");
  }
}

// A cancellation that the caller has taken back before it was told.
bool RowsAhead::is_late_cancellation(const Made& made) const {
  if (made.error == nullptr || monitor_.cancelled()) return false;
  try {
    std::rethrow_exception(made.error);
  } catch (const Error& e) { return e.code() == ErrorCode::cancelled; } catch (...) {
    return false;
  }
}

bool RowsAhead::next(Table& batch) {
  if (process_ != ::getpid()) team_.run([](int) {});  // a team that stayed in the parent says so
  Shared& s = *shared_;
  std::unique_lock lock(s.mutex);
  for (;;) {
    if (s.ready.empty() && !s.maker.joinable()) s.maker = started(s);
    s.changed.wait(lock, [&] { return !s.ready.empty() || !s.told.empty(); });
    pass_on(lock);
    if (s.ready.empty()) continue;
    // Before they are taken out: who takes the cancellation back gets them.
    if (s.ready.front().error == nullptr && s.ready.front().more) monitor_.check_cancelled("sample");
    Made made = std::move(s.ready.front());
    s.ready.pop_front();
    s.rows_ready -= made.rows.rows;
    s.changed.notify_all();
    const bool ended = made.error != nullptr || !made.more;
    if (ended) {
      lock.unlock();
      end_maker();
      lock.lock();
    }
    if (is_late_cancellation(made)) continue;
    if (made.error != nullptr) std::rethrow_exception(made.error);
    report_ = made.report;
    batch = std::move(made.rows);
    return made.more;
  }
}

}  // namespace tessera
