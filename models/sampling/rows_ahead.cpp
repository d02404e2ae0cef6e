#include "models/sampling/rows_ahead.h"

#include <unistd.h>

#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace tessera {
namespace {

constexpr int64_t kMaxAhead = 4096;  // rows of a batch, beside the one being generated

}  // namespace

RowsAhead::RowsAhead(const Open& open, Team& team, const Monitor& monitor)
    : team_(team),
      monitor_(monitor),
      process_(::getpid()),
      shared_(std::make_unique<Shared>()),
      maker_monitor_(monitor.silent()) {
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

// Only the last progress report of a search is kept.
void RowsAhead::keep(Shared& shared, const Progress& progress) {
  {
    std::lock_guard lock(shared.mutex);
    if (shared.stop) throw Error(ErrorCode::cancelled, "The reader stopped.");
    const bool again = !shared.reports.empty() && std::strcmp(shared.reports.back().phase, progress.phase) == 0 &&
                       std::strcmp(progress.phase, "notice") != 0;
    if (again) shared.reports.back() = progress;
    else shared.reports.push_back(progress);
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

// Callbacks may be slow or throw, so the lock is not held during them.
void RowsAhead::pass_on(std::unique_lock<std::mutex>& lock) {
  const std::vector<Progress> reports = std::exchange(shared_->reports, {});
  lock.unlock();
  for (const Progress& p : reports) monitor_.report(p);
  lock.lock();
}

std::thread RowsAhead::started(Shared& shared) {
  try {
    return std::thread([&shared] { make(shared); });
  } catch (const std::system_error& e) {
    throw Error(ErrorCode::memory, std::string("The thread that generates rows cannot be started (") +
                                       e.code().message() + ").\n  `threads=1` needs none.");
  }
}

// The caller reset the cancellation before it was delivered.
bool RowsAhead::is_late_cancellation(const Made& made) const {
  if (made.error == nullptr || monitor_.cancelled()) return false;
  try {
    std::rethrow_exception(made.error);
  } catch (const Error& e) { return e.code() == ErrorCode::cancelled; } catch (...) {
    return false;
  }
}

bool RowsAhead::next(Table& batch) {
  if (process_ != ::getpid())
    team_.run([](int) {});  // reports an error if the team's threads stayed in the parent process
  Shared& s = *shared_;
  std::unique_lock lock(s.mutex);
  for (;;) {
    if (s.ready.empty() && !s.maker.joinable()) s.maker = started(s);
    s.changed.wait(lock, [&] { return !s.ready.empty() || !s.reports.empty(); });
    pass_on(lock);
    if (s.ready.empty()) continue;
    // Checked before rows are taken out: after a reset of the cancellation they are delivered.
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
