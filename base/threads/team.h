// A team of threads that enters one parallel region together: a run of training steps is a single region.
// No result may depend on the size of the team: work is divided by shape, and the team only assigns the pieces to
// threads.
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

#include "base/storage/memory.h"

namespace tessera {

class Team {
 public:
  // 0: every processor available to this process. `limit`: bytes the team's call may hold; none: unlimited.
  explicit Team(int threads = 0, std::shared_ptr<MemoryLimit> limit = nullptr);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }
  // Reserves a part of the limit; throws Error(memory) if it is exhausted.
  MemoryShare share(int64_t bytes, const char* what) const { return {limit_, bytes, what}; }
  // for arrays (base/storage/spill_vector.h); null: none
  const std::shared_ptr<MemoryLimit>& limit() const { return limit_; }

  // Runs body(thread) on every thread of the team, 0 … size()−1, the caller being thread 0; returns when all have
  // returned.
  // The first exception of any thread is rethrown here.
  void run(const std::function<void(int)>& body);

  // Runs body(i) for i in [0, count), assigned to threads dynamically, one by one. Exceptions as in run(); remaining i
  // are skipped.
  void for_each(int64_t count, const std::function<void(int64_t)>& body);

 private:
  // The objects threads wait on. After fork() the child has the memory but not the threads: it must neither run, nor
  // join, nor destroy them.
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
