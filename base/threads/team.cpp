#include "base/threads/team.h"

#include <sched.h>
#include <unistd.h>

#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace tessera {
namespace {

int processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  const unsigned n = std::thread::hardware_concurrency();
  return n == 0 ? 1 : static_cast<int>(n);
}

}  // namespace

Team::Team(int threads, std::shared_ptr<MemoryLimit> limit)
    : size_(threads > 0 ? threads : processors()),
      process_(::getpid()),
      limit_(std::move(limit)),
      crew_(std::make_unique<Crew>()) {
  crew_->threads.reserve(static_cast<size_t>(size_ - 1));
  try {
    for (int t = 1; t < size_; ++t) crew_->threads.emplace_back([this, t] { work(*crew_, t); });
  } catch (const std::system_error& e) {
    const size_t started = crew_->threads.size() + 1;
    stop();  // destroying an unjoined thread would end the process
    throw Error(ErrorCode::memory, "Thread " + std::to_string(started + 1) + " of " + std::to_string(size_) +
                                       " cannot be started (" + e.code().message() +
                                       ").\n  `threads=" + std::to_string(started) + "` needs no additional thread.");
  }
}

Team::~Team() {
  if (process_ == ::getpid()) stop();
  else (void)crew_.release();
}

void Team::stop() {
  {
    std::lock_guard lock(crew_->mutex);
    crew_->stop = true;
  }
  crew_->wake.notify_all();
  for (auto& t : crew_->threads) t.join();
}

void Team::run(const std::function<void(int)>& body) {
  if (size_ == 1) return body(0);
  if (process_ != ::getpid())
    throw Error(ErrorCode::unsupported,
                "This stream was opened before fork(), and its threads stayed in the parent.\n  Open it in the process "
                "that reads it; contexts and models may be used after fork().");
  Crew& crew = *crew_;
  {
    std::lock_guard lock(crew.mutex);
    crew.body = &body;
    crew.error = nullptr;
    crew.running = size_ - 1;
    ++crew.job;
  }
  crew.wake.notify_all();
  std::exception_ptr mine;
  try {
    body(0);
  } catch (...) { mine = std::current_exception(); }
  std::unique_lock lock(crew.mutex);
  crew.done.wait(lock, [&] { return crew.running == 0; });
  crew.body = nullptr;
  if (mine == nullptr) mine = crew.error;
  lock.unlock();
  if (mine != nullptr) std::rethrow_exception(mine);
}

void Team::work(Crew& crew, int thread) {
  uint64_t seen = 0;
  for (;;) {
    const std::function<void(int)>* body;
    {
      std::unique_lock lock(crew.mutex);
      crew.wake.wait(lock, [&] { return crew.stop || crew.job != seen; });
      if (crew.stop) return;
      seen = crew.job;
      body = crew.body;
    }
    std::exception_ptr error;
    try {
      (*body)(thread);
    } catch (...) { error = std::current_exception(); }
    {
      std::lock_guard lock(crew.mutex);
      if (error != nullptr && crew.error == nullptr) crew.error = error;
      if (--crew.running == 0) crew.done.notify_one();
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
