#include "engine/team.h"

#include <sched.h>

#include <string>
#include <system_error>

#include "engine/error.h"

namespace tessera {
namespace {

int processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  const unsigned n = std::thread::hardware_concurrency();
  return n == 0 ? 1 : static_cast<int>(n);
}

}  // namespace

Team::Team(int threads) : size_(threads > 0 ? threads : processors()) {
  threads_.reserve(static_cast<size_t>(size_ - 1));
  try {
    for (int t = 1; t < size_; ++t) threads_.emplace_back([this, t] { work(t); });
  } catch (const std::system_error& e) {
    const size_t started = threads_.size() + 1;
    stop();  // a thread that is not joined ends the process
    throw Error(ErrorCode::memory, "Thread " + std::to_string(started + 1) + " of " + std::to_string(size_) + " cannot be started (" + e.code().message() +
                                       ").\n  --threads " + std::to_string(started) + " needs no more than there are.");
  }
}

Team::~Team() { stop(); }

void Team::stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (auto& t : threads_) t.join();
}

void Team::run(const std::function<void(int)>& body) {
  if (size_ == 1) return body(0);
  {
    std::lock_guard lock(mutex_);
    body_ = &body;
    error_ = nullptr;
    running_ = size_ - 1;
    ++job_;
  }
  wake_.notify_all();
  std::exception_ptr mine;
  try {
    body(0);
  } catch (...) {
    mine = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return running_ == 0; });
  body_ = nullptr;
  if (mine == nullptr) mine = error_;
  lock.unlock();
  if (mine != nullptr) std::rethrow_exception(mine);
}

void Team::work(int thread) {
  uint64_t seen = 0;
  for (;;) {
    const std::function<void(int)>* body;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || job_ != seen; });
      if (stop_) return;
      seen = job_;
      body = body_;
    }
    std::exception_ptr error;
    try {
      (*body)(thread);
    } catch (...) {
      error = std::current_exception();
    }
    {
      std::lock_guard lock(mutex_);
      if (error != nullptr && error_ == nullptr) error_ = error;
      if (--running_ == 0) done_.notify_one();
    }
  }
}

void Team::for_each(int64_t count, const std::function<void(int64_t)>& body) {
  std::atomic<int64_t> next{0};
  run([&](int) {
    try {
      for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) body(i);
    } catch (...) {
      next.store(count, std::memory_order_relaxed);
      throw;
    }
  });
}

}  // namespace tessera
