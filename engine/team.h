// A team of threads that enters one parallel region together: a run of training steps is a single region.
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
  // An exception of any thread is rethrown here (the first one).
  void run(const std::function<void(int)>& body);

  // Runs body(i) for i in [0, count), handed out one by one; which thread runs which i is not fixed. Exceptions as in run(), the rest is skipped.
  void for_each(int64_t count, const std::function<void(int64_t)>& body);

 private:
  void work(int thread);
  void stop();

  int size_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int)>* body_ = nullptr;
  uint64_t job_ = 0;
  int running_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
};

}  // namespace tessera
