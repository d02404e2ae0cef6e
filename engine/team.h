// A team of threads that enters one parallel region together: the training loop runs inside a single region, with spin barriers between ops.
// Nothing computed may depend on the size of the team: work is cut by shape, and the team only decides who does which piece.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tessera {

class Team {
 public:
  explicit Team(int threads = 0);  // 0: every processor this process may run on
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }

  // Runs body(thread) on every thread of the team, 0 … size()−1, the caller being thread 0; returns when all have returned.
  // An exception of any thread is rethrown here (the first one); a body that uses barrier() must not throw.
  void run(const std::function<void(int)>& body);

  // Runs body(i) for i in [0, count), handed out one by one; which thread runs which i is not fixed. Exceptions as in run(), the rest is skipped.
  void for_each(int64_t count, const std::function<void(int64_t)>& body);

  // Inside run(): waits until every thread of the team has arrived. `last` is run by the last one to arrive, before any is released.
  template <class Last>
  void barrier(Last&& last) {
    const uint32_t phase = phase_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
      last();
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      if (sleepers_.load(std::memory_order_seq_cst) != 0) phase_.notify_all();
      return;
    }
    wait_for_phase(phase);
  }
  void barrier() {
    barrier([] {});
  }

 private:
  void work(int thread);
  void wait_for_phase(uint32_t phase);

  int size_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int)>* body_ = nullptr;
  uint64_t job_ = 0;
  int running_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> phase_{0};
  alignas(64) std::atomic<int> sleepers_{0};
};

}  // namespace tessera
