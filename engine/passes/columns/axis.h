// How the columns of a table are divided among ranks, and an axis of a value that follows them.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/passes/batch/shard.h"
#include "engine/plan/plan.h"

namespace tessera::column_parts {

// The rows or columns of a value in stretches, each belonging to a shard; none: the axis is whole on every rank.
struct Stretch {
  int shard;
  int64_t size;
  bool operator==(const Stretch&) const = default;
};
using Axis = std::vector<Stretch>;

inline int64_t size_of(const Axis& axis) {
  int64_t size = 0;
  for (const Stretch& s : axis) size += s.size;
  return size;
}
inline Axis repeated(const Axis& axis, int64_t times) {
  Axis out;
  for (int64_t k = 0; k < times; ++k) out.insert(out.end(), axis.begin(), axis.end());
  return out;
}

// The spans of a table by shard, at least one whole span each, and the part of a rank.
class SpanShares {
 public:
  // Throws Error(usage) if there are fewer spans than shards.
  SpanShares(const SpanTable& spans, const RankCut& cut);

  const Axis& data() const { return data_; }              // columns of a row
  const Axis& conditions() const { return conditions_; }  // of the condition vector; none if it has no columns
  const Axis& spans() const { return spans_; }
  const Axis& numbers() const { return numbers_; }  // tanh spans; none if there are none

  bool own(int shard) const { return shard >= first_shard_ && shard < first_shard_ + own_shards_; }
  int first_shard() const { return first_shard_; }
  int own_shards() const { return own_shards_; }
  int64_t own_size(const Axis& axis) const {
    int64_t size = 0;
    for (const Stretch& s : axis) size += own(s.shard) ? s.size : 0;
    return size;
  }
  // Where the rank's part begins, on an axis with one stretch per shard.
  int64_t own_start(const Axis& axis) const {
    int64_t start = 0;
    for (const Stretch& s : axis) start += s.shard < first_shard_ ? s.size : 0;
    return start;
  }
  const std::shared_ptr<const Spans>& own_spans() const { return own_spans_; }

 private:
  int first_shard_, own_shards_;
  Axis data_, conditions_, spans_, numbers_;
  std::shared_ptr<const Spans> own_spans_;
};

}  // namespace tessera::column_parts
