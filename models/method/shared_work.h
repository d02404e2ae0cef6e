// Work after training that ranks share: independent pieces, each made by one rank, whose results every rank takes in
// the order of the pieces. So nothing that is made of them depends on the number of ranks. A rank alone makes all
// pieces and waits for nobody.
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

  // What rank 0 has, on every rank.
  template <class T>
  T agreed(T value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (ranks_ != nullptr) ranks_->broadcast(&value, sizeof value);
    return value;
  }
  // The others may wait long for it.
  template <class T>
  std::vector<T> given(std::vector<T> values) const {
    if (ranks_ == nullptr) return values;
    const LongWait wait(*ranks_);
    values.resize(agreed(values.size()));
    ranks_->broadcast(values.data(), static_cast<int64_t>(values.size() * sizeof(T)));
    return values;
  }

  // Results of `size` numbers of each of `pieces` pieces. A rank makes its pieces by make(first, count, results), at
  // most `most` at once (rank 0's counts); then take(result) sees the result of every piece.
  template <class T, class Make, class Take>
  void in_order(int64_t pieces, int64_t most, int64_t size, Make&& make, Take&& take) const {
    const int64_t ranks = ranks_ != nullptr ? ranks_->size() : 1, rank = ranks_ != nullptr ? ranks_->rank() : 0;
    most = agreed(most);
    std::vector<T> own, all;
    for (int64_t begin = 0; begin < pieces; begin += most * ranks) {
      const int64_t count = std::min(most * ranks, pieces - begin), each = (count + ranks - 1) / ranks;
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
  Communicator* ranks_ = nullptr;  // null: this rank is alone
};

}  // namespace tessera
