// Which rows are copies of each other, found by many threads at once. The result depends on the set of linked pairs,
// not on their order.
#pragma once
#include <atomic>
#include <cstdint>

#include "models/dedup/compared_rows.h"
#include "models/dedup/keys.h"

namespace tessera::dedup {

class Groups {
 public:
  // Without another table: groups of rows by union-find, whose root is the lowest row. With another table: for each row
  // the lowest row of the other table that it is a copy of.
  Groups(const Compared& rows, const std::shared_ptr<MemoryLimit>& limit)
      : against_(rows.own() < rows.count()), parent_(limit, "groups of rows") {
    parent_.reserve(static_cast<size_t>(rows.own()));
    for (int32_t i = 0; i < rows.own(); ++i) parent_.push_back(against_ ? kNone : i);
  }

  // Whether linking a < b would change nothing.
  bool linked(int32_t a, int32_t b) { return against_ ? get(a) <= b : root(a) == root(b); }
  void link(int32_t a, int32_t b) {
    if (against_) {
      for (int32_t was = get(a); b < was && !at(a).compare_exchange_weak(was, b);) {}
      return;
    }
    for (;;) {
      a = root(a), b = root(b);
      if (a == b) return;
      if (a > b) std::swap(a, b);
      int32_t was = b;
      if (at(b).compare_exchange_strong(was, a)) return;
    }
  }
  // The row that `row` is a copy of; itself if there is none.
  int32_t original(int32_t row) {
    if (!against_) return root(row);
    return get(row) == kNone ? row : get(row);
  }

 private:
  static constexpr int32_t kNone = INT32_MAX;
  std::atomic_ref<int32_t> at(int32_t row) { return std::atomic_ref(parent_[static_cast<size_t>(row)]); }
  int32_t get(int32_t row) { return at(row).load(std::memory_order_relaxed); }
  int32_t root(int32_t row) {
    for (int32_t up = get(row); up != row; up = get(row)) {
      const int32_t above = get(up);
      if (above != up) at(row).compare_exchange_weak(up, above);  // halves the path
      row = above;
    }
    return row;
  }

  bool against_;
  RowList parent_;
};

}  // namespace tessera::dedup
