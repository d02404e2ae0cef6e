#include "engine/passes/columns/axis.h"

#include <string>

#include "base/error.h"

namespace tessera::column_parts {
namespace {

// Columns of a span in the weights: in the row, and in the condition vector.
int64_t weight_of(const SpanTable::Item& s) { return s.cond_start < 0 ? s.width : 2 * static_cast<int64_t>(s.width); }

// The shard of each span, in order: each shard takes spans up to its share of the remaining columns, and leaves at
// least one span for each later shard.
std::vector<int> shards_of(const SpanTable& spans, int shards) {
  int64_t left = 0;
  for (int k = 0; k < spans.count; ++k) left += weight_of(spans.items[k]);
  std::vector<int> out;
  int shard = 0;
  int64_t taken = 0;
  for (int k = 0; k < spans.count; ++k) {
    const int64_t w = weight_of(spans.items[k]);
    const int behind = shards - 1 - shard;
    const bool full = (2 * taken + w) * (behind + 1) > 2 * left;
    if (taken > 0 && behind > 0 && (full || spans.count - k <= behind)) {
      left -= taken;
      taken = 0, ++shard;
    }
    out.push_back(shard);
    taken += w;
  }
  return out;
}

}  // namespace

SpanShares::SpanShares(const SpanTable& spans, const RankCut& cut)
    : first_shard_(cut.rank * (cut.shards / cut.ranks)), own_shards_(cut.shards / cut.ranks) {
  if (spans.count < cut.shards)
    throw Error(ErrorCode::usage, "The table's columns are " + std::to_string(spans.count) +
                                      " parts that ranks can share (categories of a column, or a number), and "
                                      "`parallel=model` asks for " +
                                      std::to_string(cut.shards) +
                                      ".\n  Ask for fewer `virtual_shards`, or for `parallel=data`.");
  const std::vector<int> shards = shards_of(spans, cut.shards);
  const auto add = [](Axis& axis, int shard, int64_t size) {
    if (axis.empty() || axis.back().shard != shard) axis.push_back({shard, 0});
    axis.back().size += size;
  };
  std::vector<Spans::Item> own_items;
  int start = 0, cond_start = 0;
  for (int k = 0; k < spans.count; ++k) {
    const SpanTable::Item& s = spans.items[k];
    const int shard = shards[static_cast<size_t>(k)];
    add(data_, shard, s.width);
    add(spans_, shard, 1);
    if (s.cond_start >= 0) add(conditions_, shard, s.width);
    if (s.softmax == 0) add(numbers_, shard, 1);
    if (!own(shard)) continue;
    own_items.push_back({start, s.width, s.softmax != 0, s.cond_start < 0 ? -1 : cond_start});
    start += s.width;
    cond_start += s.cond_start < 0 ? 0 : s.width;
  }
  own_spans_ = std::make_shared<const Spans>(own_items);
}

}  // namespace tessera::column_parts
