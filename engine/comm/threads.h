// Ranks that are threads of one process: a message is copied once, from the sender's memory to the receiver's.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>

#include "engine/comm/communicator.h"

namespace tessera {

// The place where the ranks of one process meet.
class ThreadWorld : public std::enable_shared_from_this<ThreadWorld> {
 public:
  static std::shared_ptr<ThreadWorld> create(int size) { return std::shared_ptr<ThreadWorld>(new ThreadWorld(size)); }
  int size() const { return size_; }
  // One for each rank, used by one thread at a time.
  std::unique_ptr<Communicator> communicator(int rank);

 private:
  friend class ThreadCommunicator;
  struct Message {  // between two ranks, while the sender waits for its completion
    const void* data = nullptr;
    int64_t bytes = 0;
    bool there = false, copied = false;  // copied: the receiver is reading it
  };
  explicit ThreadWorld(int size) : size_(size), messages_(static_cast<size_t>(size) * static_cast<size_t>(size)) {}
  Message& message(int from, int to) {
    return messages_[static_cast<size_t>(from) * static_cast<size_t>(size_) + static_cast<size_t>(to)];
  }

  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Message> messages_;
  std::unique_ptr<Error> aborted_;
};

}  // namespace tessera
