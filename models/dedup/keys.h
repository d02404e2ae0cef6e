// Rows sorted by a key, so that equal keys are adjacent. Lists are arrays of a call (base/storage/spill_vector.h): in
// scratch files beyond the memory limit.
#pragma once
#include <cstdint>

#include "base/storage/spill_vector.h"

namespace tessera::dedup {

using RowList = Bulk<int32_t>;

struct RowKey {
  uint64_t key;
  int32_t row;
};
using RowKeys = Bulk<RowKey>;

// Sorts by key, then by row. `scratch` is reused from call to call.
void sort_keys(RowKeys& keys, RowKeys& scratch);

// Calls body(first, last) for every run of two or more equal keys in a sorted list.
template <class Body>
void each_run(RowKey* first, RowKey* last, Body&& body) {
  for (RowKey* end; first != last; first = end) {
    for (end = first + 1; end != last && end->key == first->key;) ++end;
    if (end - first > 1) body(first, end);
  }
}

// A Bloom filter of keys: rows of another table need to be sorted only if they may have the key of an own row.
class KeyFilter {
 public:
  // Of about this many keys: 16 bits and three places each, so that one foreign key in 200 passes.
  KeyFilter(int64_t keys, const std::shared_ptr<MemoryLimit>& limit);
  void add(uint64_t key) {
    for (int i = 0; i < 3; ++i) word(key, i) |= bit(key, i);
  }
  bool may_have(uint64_t key) const {
    for (int i = 0; i < 3; ++i)
      if ((words_[place(key, i) / 64] & bit(key, i)) == 0) return false;
    return true;
  }

 private:
  uint64_t place(uint64_t key, int i) const;
  uint64_t bit(uint64_t key, int i) const { return uint64_t{1} << place(key, i) % 64; }
  uint64_t& word(uint64_t key, int i) { return words_[place(key, i) / 64]; }

  Bulk<uint64_t> words_;  // a power of two of them
};

}  // namespace tessera::dedup
