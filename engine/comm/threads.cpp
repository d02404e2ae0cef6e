#include "engine/comm/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace tessera {

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<ThreadWorld> world, int rank)
      : Communicator(rank, world->size()), world_(std::move(world)) {}
  const char* transport() const override { return "threads"; }

  void abort(const Error& why) noexcept override {
    const std::lock_guard lock(world_->mutex_);
    if (!world_->aborted_) world_->aborted_ = std::make_unique<Error>(why);
    world_->changed_.notify_all();
  }
  std::optional<Error> ended() const override {
    const std::lock_guard lock(world_->mutex_);
    return world_->aborted_ ? std::optional(*world_->aborted_) : std::nullopt;
  }

 private:
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    std::unique_lock lock(world_->mutex_);
    try {
      exchange(lock, out, in);
    } catch (...) {
      withdraw(lock, out);
      throw;
    }
  }

  void exchange(std::unique_lock<std::mutex>& lock, std::span<const Outgoing> out, std::span<const Incoming> in) {
    for (const Outgoing& o : out) {
      wait(lock, o.to, [&] { return !world_->message(rank(), o.to).there; });
      world_->message(rank(), o.to) = {o.data, o.bytes, true, false};
    }
    world_->changed_.notify_all();
    for (const Incoming& i : in) {
      ThreadWorld::Message& m = world_->message(i.from, rank());
      wait(lock, i.from, [&] { return m.there; });
      if (m.bytes != i.bytes)
        throw Error(ErrorCode::internal, fmt::format("{} sent {} bytes where {} were expected",
                                                     name_of_rank(i.from, size()), m.bytes, i.bytes));
      // The sender keeps its memory until the message is taken, so it is copied without the lock.
      m.copied = true;
      lock.unlock();
      if (i.bytes > 0) std::memcpy(i.data, m.data, static_cast<size_t>(i.bytes));
      lock.lock();
      m.there = m.copied = false;
      world_->changed_.notify_all();
    }
    for (const Outgoing& o : out) wait(lock, o.to, [&] { return !world_->message(rank(), o.to).there; });
  }

  // The memory of messages that were not received belongs to the caller again.
  void withdraw(std::unique_lock<std::mutex>& lock, std::span<const Outgoing> out) {
    for (const Outgoing& o : out) {
      ThreadWorld::Message& m = world_->message(rank(), o.to);
      world_->changed_.wait(lock, [&] { return !m.copied; });
      m.there = false;
    }
  }

  template <class Done>
  void wait(std::unique_lock<std::mutex>& lock, int other, Done&& done) {
    const auto ready = [&] { return done() || world_->aborted_; };
    // the clock cannot represent an infinite time: wait a day at a time
    const auto most = std::chrono::duration<double>(std::min(patience, 86400.0));
    while (!world_->changed_.wait_for(lock, most, ready))
      if (patience < kForever) throw no_answer(other);
    if (world_->aborted_) throw Error(*world_->aborted_);
  }

  // Memory of this process.
  std::unique_ptr<SharedWindow> open_window(int64_t capacity) override {
    struct Memory {
      explicit Memory(int64_t bytes) : line(static_cast<size_t>(bytes / SharedWindow::kLine)) {}
      struct alignas(SharedWindow::kLine) Line {
        char bytes[SharedWindow::kLine] = {};
      };
      std::vector<Line> line;
    };
    // each rank keeps its own memory until the others have released it
    std::vector<std::shared_ptr<void>*> shared(static_cast<size_t>(size()));
    std::shared_ptr<void> own = std::make_shared<Memory>(SharedWindow::bytes(capacity));
    std::shared_ptr<void>* const at = &own;
    all_gather(&at, shared.data(), sizeof(void*));
    auto all = std::make_shared<std::vector<std::shared_ptr<void>>>();
    std::vector<char*> memory;
    for (const std::shared_ptr<void>* of : shared) {
      all->push_back(*of);
      memory.push_back(static_cast<Memory*>(of->get())->line.data()->bytes);
    }
    barrier();
    return std::make_unique<SharedWindow>(rank(), std::move(memory), capacity, std::move(all));
  }
  void look_around() override {
    const std::lock_guard lock(world_->mutex_);
    if (world_->aborted_) throw Error(*world_->aborted_);
  }

  std::shared_ptr<ThreadWorld> world_;
};

std::unique_ptr<Communicator> ThreadWorld::communicator(int rank) {
  return std::make_unique<ThreadCommunicator>(shared_from_this(), rank);
}

}  // namespace tessera
