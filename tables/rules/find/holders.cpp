#include "tables/rules/find/holders.h"

#include <algorithm>
#include <numeric>

#include "tables/sequence/sequences.h"

namespace tessera {

Holders::Holders(const Table& table, const RuleOptions& options)
    : rows_(table.rows), least_(std::max(options.least_rows, kRareRows)) {
  if (options.key.empty()) return;
  int32_t keys = 0;
  keys_ = previous_rows(table, options.key, "");
  for (int32_t& row : keys_) row = row < 0 ? keys++ : keys_[static_cast<size_t>(row)];
  if (keys < least_) {
    keys_.clear();  // as for numbers of sequences: of fewer keys, rows count
    hide_texts_ = true;
    return;
  }
  order_.resize(keys_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](int32_t a, int32_t b) { return keys_[static_cast<size_t>(a)] < keys_[static_cast<size_t>(b)]; });
}

int64_t Holders::least(const std::vector<const Column*>& columns) const {
  int64_t out = 0;
  for (const Column* c : columns) out = std::max(out, c->least_rows != 0 ? c->least_rows : least_);
  return std::max(out, kRareRows);
}

std::vector<int64_t> Holders::together(std::vector<int64_t> rows) const {
  if (!keys_.empty()) std::stable_sort(rows.begin(), rows.end(), [&](int64_t a, int64_t b) { return of(a) < of(b); });
  return rows;
}

const std::vector<Held>& Holders::of_values(const Column& column) const {
  const auto [entry, fresh] = values_.try_emplace(column.name);
  std::vector<Held>& out = entry->second;
  if (!fresh) return out;
  out.resize(column.values.size());
  if (!hide_texts_)
    each([&](int64_t row, int64_t holder) {
      if (const int32_t code = column.codes[static_cast<size_t>(row)]; code >= 0)
        out[static_cast<size_t>(code)].add(holder);
    });
  return out;
}

void Outermost::next(int64_t holder) {
  holder_ = holder;
  if (own_ == INFINITY) return;
  outer_ = std::min(outer_, own_);
  inner_.push(own_);
  if (inner_.size() > least_) inner_.pop();
  own_ = INFINITY;
}

}  // namespace tessera
