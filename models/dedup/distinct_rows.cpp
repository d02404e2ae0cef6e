#include "models/dedup/distinct_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/mixed_bits.h"
#include "base/storage/spill_vector.h"
#include "models/quality/aligned.h"
#include "tables/identifiers/identifier.h"
#include "tables/kinds/kind.h"
#include "tables/notice.h"
#include "tables/table/picked_rows.h"
#include "tables/types/types.h"

namespace tessera {
namespace {

// Of 128 bits, so that two different rows do not share one among the rows of any sample (2⁻⁴⁰ among 2⁴⁴ pairs).
struct RowKey128 {
  uint64_t low = 0x243f6a8885a308d3, high = 0x13198a2e03707344;

  void add(uint64_t x) { low = mixed_bits(low ^ x), high = mixed_bits(high + 0x9e3779b97f4a7c15 * (x ^ low)); }
  bool operator==(const RowKey128&) const = default;
};

// Keys by open addressing. Place 0, 0 is free; no row has that key.
class KeySet {
 public:
  explicit KeySet(std::shared_ptr<MemoryLimit> limit) : keys_(std::move(limit), "keys of distinct rows") {
    keys_.resize(1 << 10, kFree);
  }
  bool insert(const RowKey128& key) {  // false: it is in the set
    if (4 * (size_ + 1) > 3 * keys_.size()) grow();
    RowKey128& place = find(key);
    if (place == key) return false;
    place = key, ++size_;
    return true;
  }

 private:
  static constexpr RowKey128 kFree{0, 0};
  RowKey128& find(const RowKey128& key) {
    size_t at = key.low & (keys_.size() - 1);
    while (!(keys_[at] == kFree || keys_[at] == key)) at = (at + 1) & (keys_.size() - 1);
    return keys_[at];
  }
  void grow() {
    Bulk<RowKey128> was = keys_.empty_like();
    was.swap(keys_);
    keys_.resize(2 * was.size(), kFree);
    for (const RowKey128& key : was)
      if (!(key == kFree)) find(key) = key;
  }

  Bulk<RowKey128> keys_;  // a power of two of them
  size_t size_ = 0;
};

std::vector<RowKey128> keys_of(const Table& rows) {
  std::vector<RowKey128> out(static_cast<size_t>(rows.rows));
  for (const Column& c : rows.columns) {
    if (kind_of(c).regenerated) continue;
    std::vector<uint64_t> of_text;
    for (const std::string& text : c.values) of_text.push_back(fingerprint_of(text));
    for (size_t i = 0; i < out.size(); ++i) {
      if (c.is_missing(static_cast<int64_t>(i))) out[i].add(0);
      else
        out[i].add(1 + (is_ordered(c) ? std::bit_cast<uint64_t>(c.numbers[i] + 0.0)
                                      : of_text[static_cast<size_t>(c.codes[i])]));
    }
  }
  return out;
}

class DistinctRows : public RowStream {
 public:
  DistinctRows(OpenRows open, const Table& schema, int64_t count, const Table* against,
               std::shared_ptr<MemoryLimit> limit, const Monitor& monitor)
      : open_(std::move(open)), count_(count), monitor_(monitor), seen_(std::move(limit)) {
    notices_ = monitor;
    notices_.on_progress = [this](const Progress& p) {
      if (std::strcmp(p.phase, "notice") == 0 && drawn_ == 0) monitor_.report(p);  // of further rows they are the same
    };
    if (against != nullptr) {
      std::vector<std::string> lacking;
      const Table rows = quality::aligned(schema, *against, lacking);
      if (!lacking.empty())
        throw Error(ErrorCode::data, fmt::format("The table that rows are compared against lacks column \"{}\", or its "
                                                 "values are of another kind.",
                                                 lacking.front()));
      for (const RowKey128& key : keys_of(rows)) seen_.insert(key);
    }
    stream_ = open_(0, count, notices_);
    ended_.tier = stream_->report().tier;
  }

  bool next(Table& batch) override {
    while (rows_ < count_) {
      Table rows;
      if (!stream_->next(rows)) {
        ended_.add(stream_->report());
        if (!draw_more()) return false;
        continue;
      }
      drawn_ += rows.rows;
      const std::vector<RowKey128> keys = keys_of(rows);
      std::vector<int64_t> kept;
      for (size_t i = 0; i < keys.size() && rows_ + static_cast<int64_t>(kept.size()) < count_; ++i)
        if (seen_.insert(keys[i])) kept.push_back(static_cast<int64_t>(i));
      barren_ = kept.empty() ? barren_ + rows.rows : rows.rows - 1 - kept.back();
      if (kept.empty()) continue;
      batch = pick_rows(rows, kept);
      rows_ += batch.rows;
      progress(false);
      return true;
    }
    return false;
  }

  SampleReport report() const override {
    SampleReport out = ended_;
    if (stream_ != nullptr) out.add(stream_->report());
    out.rows = rows_;
    return out;
  }

 private:
  static constexpr int64_t kMinDraw = 4096, kMaxBarren = 1 << 18;

  bool draw_more() {
    if (drawn_ > 0 && barren_ < kMaxBarren) {
      stream_ = open_(drawn_, std::max({kMinDraw, 2 * (count_ - rows_), barren_}), notices_);
      return true;
    }
    stream_.reset();
    notice(monitor_, fmt::format("Only {} of {} rows: {} draws after the last brought no other row that is distinct.",
                                 grouped(rows_), grouped(count_), grouped(barren_)));
    count_ = rows_;
    progress(true);
    return false;
  }
  void progress(bool finished) const {
    monitor_.report({"sample", static_cast<double>(rows_), static_cast<double>(count_), "rows",
                     fmt::format("{:.3g} % distinct", 100.0 * static_cast<double>(rows_) /
                                                          static_cast<double>(std::max<int64_t>(drawn_, 1))),
                     finished || rows_ == count_});
  }

  OpenRows open_;
  int64_t count_;
  const Monitor& monitor_;
  Monitor notices_;
  KeySet seen_;
  std::unique_ptr<RowStream> stream_;
  int64_t drawn_ = 0, barren_ = 0;  // rows drawn, and since the last distinct one
  int64_t rows_ = 0;                // given so far
  SampleReport ended_;              // of the streams before
};

}  // namespace

std::unique_ptr<RowStream> open_distinct_rows(OpenRows open, const Table& schema, int64_t count, const Table* against,
                                              std::shared_ptr<MemoryLimit> limit, const Monitor& monitor) {
  return std::make_unique<DistinctRows>(std::move(open), schema, count, against, std::move(limit), monitor);
}

}  // namespace tessera
