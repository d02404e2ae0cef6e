// Work after training that is divided among ranks: independent pieces, each computed by one rank, whose results every
// rank receives in the order of the pieces. So the outcome does not depend on the number of ranks. A single rank
// computes all pieces.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/comm/long_wait.h"

namespace tessera {

class SharedWork {
 public:
  SharedWork() = default;
  explicit SharedWork(Communicator& ranks) : ranks_(&ranks) {}

  // Rank 0's value, on every rank.
  template <class T>
  T agreed(T value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (ranks_ != nullptr) ranks_->broadcast(&value, sizeof value);
    return value;
  }
  // The same for vectors; the other ranks may wait long.
  template <class T>
  std::vector<T> given(std::vector<T> values) const {
    if (ranks_ == nullptr) return values;
    const LongWait wait(*ranks_);
    values.resize(agreed(values.size()));
    ranks_->broadcast(values.data(), static_cast<int64_t>(values.size() * sizeof(T)));
    return values;
  }

  // Results of `size` numbers of each of `pieces` pieces. A rank computes its pieces by make(first, count, results), at
  // most `max_pieces` at once (rank 0's value counts); then take(result) is called with the result of every piece.
  template <class T, class Make, class Take>
  void in_order(int64_t pieces, int64_t max_pieces, int64_t size, Make&& make, Take&& take) const {
    const int64_t ranks = ranks_ != nullptr ? ranks_->size() : 1, rank = ranks_ != nullptr ? ranks_->rank() : 0;
    max_pieces = agreed(max_pieces);
    std::vector<T> own, all;
    for (int64_t begin = 0; begin < pieces; begin += max_pieces * ranks) {
      const int64_t count = std::min(max_pieces * ranks, pieces - begin), each = (count + ranks - 1) / ranks;
      const int64_t first = std::min(rank * each, count), end = std::min(first + each, count);
      own.resize(static_cast<size_t>(each * size));
      make(begin + first, end - first, own.data());
      const T* results = own.data();
      if (ranks_ != nullptr) {
        all.resize(static_cast<size_t>(each * size * ranks));
        ranks_->all_gather(own.data(), all.data(), each * size * static_cast<int64_t>(sizeof(T)));
        results = all.data();
      }
      for (int64_t i = 0; i < count; ++i) take(results + i * size);
    }
  }

 private:
  Communicator* ranks_ = nullptr;  // null: a single rank
};

}  // namespace tessera
