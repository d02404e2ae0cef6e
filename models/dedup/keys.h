// Rows sorted by a key, so that equal keys are adjacent.
#pragma once
#include <cstdint>
#include <vector>

namespace tessera::dedup {

struct RowKey {
  uint64_t key;
  int32_t row;
};

// Sorts by key, then by row. `scratch` is reused from call to call.
void sort_keys(std::vector<RowKey>& keys, std::vector<RowKey>& scratch);

// Calls body(first, last) for every run of two or more equal keys in a sorted list.
template <class Body>
void each_run(RowKey* first, RowKey* last, Body&& body) {
  for (RowKey* end; first != last; first = end) {
    for (end = first + 1; end != last && end->key == first->key;) ++end;
    if (end - first > 1) body(first, end);
  }
}

}  // namespace tessera::dedup
