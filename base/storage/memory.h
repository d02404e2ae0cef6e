// The memory limit of a call. Large blocks (a table, its encoded rows, weights, activations) are counted before they
// are allocated, so that a limit causes an error instead of swapping; small ones are not counted. With a folder for
// scratch files, the arrays of a table (base/storage/spill_vector.h) go there instead.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace tessera {

class MemoryLimit {
 public:
  // bytes: 0 for none. scratch: a folder, "" for none; then arrays hold half of the limit at most (without one
  // kArraysByDefault), so that training has the rest.
  explicit MemoryLimit(int64_t bytes = 0, std::string scratch = "")
      : limit_(bytes), arrays_limit_(bytes > 0 ? bytes / 2 : kArraysByDefault), scratch_(std::move(scratch)) {}
  static constexpr int64_t kArraysByDefault = int64_t{1} << 30;
  // Throws Error(memory) with the request, the bytes held and the limit. Thread-safe.
  void take(int64_t bytes, const char* what);
  void give_back(int64_t bytes) noexcept { held_.fetch_sub(bytes, std::memory_order_relaxed); }
  int64_t bytes() const { return limit_; }
  int64_t held() const { return held_.load(std::memory_order_relaxed); }
  int64_t left() const { return limit_ == 0 ? INT64_MAX : std::max<int64_t>(0, limit_ - held()); }  // bytes

  const std::string& scratch() const { return scratch_; }
  // Whether arrays may hold this many more bytes. True without scratch: then take() decides.
  bool fits_in_memory(int64_t bytes) const {
    return scratch_.empty() || arrays_.load(std::memory_order_relaxed) + bytes <= arrays_limit_;
  }
  // Bytes of one array in scratch that random reads may leave resident: training reads at most three arrays.
  int64_t random_bytes() const { return arrays_limit_ / 12; }
  void count_array(int64_t bytes) noexcept { arrays_.fetch_add(bytes, std::memory_order_relaxed); }

 private:
  const int64_t limit_, arrays_limit_;
  const std::string scratch_;
  std::atomic<int64_t> held_{0}, arrays_{0};  // arrays_: the part of held_ in arrays
};

// A share of the limit, released on destruction. A copy holds no share.
class MemoryShare {
 public:
  MemoryShare() = default;
  MemoryShare(std::shared_ptr<MemoryLimit> limit, int64_t bytes, const char* what, bool array = false)
      : limit_(std::move(limit)), array_(array) {
    resize(bytes, what);
  }
  ~MemoryShare() { reset(); }
  MemoryShare(const MemoryShare&) {}
  MemoryShare(MemoryShare&& other) noexcept
      : limit_(std::move(other.limit_)), bytes_(std::exchange(other.bytes_, 0)), array_(other.array_) {}
  MemoryShare& operator=(MemoryShare other) noexcept {
    std::swap(limit_, other.limit_);
    std::swap(bytes_, other.bytes_);
    std::swap(array_, other.array_);
    return *this;
  }

  void resize(int64_t bytes, const char* what) {
    if (limit_ == nullptr) return;
    if (bytes > bytes_) limit_->take(bytes - bytes_, what);
    else limit_->give_back(bytes_ - bytes);
    if (array_) limit_->count_array(bytes - bytes_);
    bytes_ = bytes;
  }
  void reset() noexcept {
    if (limit_ == nullptr) return;
    limit_->give_back(bytes_);
    if (array_) limit_->count_array(-bytes_);
    limit_.reset();
    bytes_ = 0;
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<MemoryLimit> limit_;
  int64_t bytes_ = 0;
  bool array_ = false;  // of a Bulk
};

}  // namespace tessera
