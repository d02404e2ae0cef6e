// A team of threads that enters one parallel region together: a run of training steps is a single region.
// Nothing computed may depend on the size of the team: work is cut by shape, and the team only decides who does which
// piece.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/storage/memory.h"

namespace tessera {

class Team {
 public:
  // 0: every processor this process may run on. `limit`: what the team's call may hold; none: as much as there is.
  explicit Team(int threads = 0, std::shared_ptr<MemoryLimit> limit = nullptr);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }
  // A part of what may be held; throws Error(memory) when there is no room for it.
  MemoryShare share(int64_t bytes, const char* what) const { return {limit_, bytes, what}; }
  // for arrays (engine/storage/spill_vector.h); null: none
  const std::shared_ptr<MemoryLimit>& limit() const { return limit_; }

  // Runs body(thread) on every thread of the team, 0 … size()−1, the caller being thread 0; returns when all have
  // returned.
  // An exception of any thread is rethrown here (the first one).
  void run(const std::function<void(int)>& body);

  // Runs body(i) for i in [0, count), handed out one by one; which thread runs which i is not fixed. Exceptions as in
  // run(), the rest is skipped.
  void for_each(int64_t count, const std::function<void(int64_t)>& body);

 private:
  // What threads wait on. After fork() the child has the memory but not the threads: it must neither run, nor join, nor
  // destroy any of this.
  struct Crew {
    std::vector<std::thread> threads;
    std::mutex mutex;
    std::condition_variable wake, done;
    const std::function<void(int)>* body = nullptr;
    uint64_t job = 0;
    int running = 0;
    bool stop = false;
    std::exception_ptr error;
  };
  void work(Crew& crew, int thread);
  void stop();

  int size_;
  int process_;
  std::shared_ptr<MemoryLimit> limit_;
  std::unique_ptr<Crew> crew_;
};

}  // namespace tessera
