// Shared memory through which ranks of one machine exchange the data of a step: each rank writes its own part, and the
// others read it there. Two buffers alternate. A rank that posts an exchange has read the previous one, so once all
// have posted, the buffer of the previous one is free: no rank waits for readers.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tessera {

class SharedWindow {
 public:
  static constexpr int64_t kLine = 64;
  // Size for a rank that sends up to `capacity` bytes, a multiple of kLine, at a time.
  static int64_t bytes(int64_t capacity) { return kLine + 2 * capacity; }
  static int64_t whole_lines(int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

  // memory[r]: rank r's, initially zero; this rank writes only its own. `held` owns it.
  SharedWindow(int rank, std::vector<char*> memory, int64_t capacity, std::shared_ptr<void> held)
      : rank_(static_cast<size_t>(rank)), memory_(std::move(memory)), capacity_(capacity), held_(std::move(held)) {}
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  int64_t capacity() const { return capacity_; }
  // Begins the next exchange; returns the buffer that this rank fills before post().
  char* begin() {
    ++turn_;
    return place(rank_);
  }
  void post() { count(rank_).store(turn_, std::memory_order_release); }
  // sent_by(r): the data of rank r in this exchange, once posted(r); valid until this rank's next begin().
  bool posted(int r) const { return count(static_cast<size_t>(r)).load(std::memory_order_acquire) >= turn_; }
  const char* sent_by(int r) const { return place(static_cast<size_t>(r)); }

 private:
  std::atomic<uint64_t>& count(size_t r) const { return *reinterpret_cast<std::atomic<uint64_t>*>(memory_[r]); }
  char* place(size_t r) const { return memory_[r] + kLine + static_cast<int64_t>(turn_ % 2) * capacity_; }

  const size_t rank_;
  const std::vector<char*> memory_;
  const int64_t capacity_;
  const std::shared_ptr<void> held_;
  uint64_t turn_ = 0;
};

}  // namespace tessera
