// Holders are the units that protection counts: keys of sequences, or rows of other tables. Finders must count them
// too: rules are found before values are protected, because replaced values satisfy no rule. A text in a rule therefore
// has at least least() holders, and a number is the same without any least() − 1 of them.
#pragma once
#include <cmath>
#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "tables/rules/rules.h"

namespace tessera {

// Counts rows with a property, and their holders. Rows arrive in the order of Holders::each().
struct Held {
  int64_t rows = 0, holders = 0, last = -1;
  void add(int64_t holder) {
    ++rows, holders += holder != last;
    last = holder;
  }
};

class Holders {
 public:
  Holders(const Table& table, const RuleOptions& options);

  // Holders of whatever a rule stores of these columns: the max of --rare-categories, the columns' own numbers and
  // kRareRows.
  int64_t least(const std::vector<const Column*>& columns) const;

  // Calls do_row(row, holder) for all rows, grouped by holder.
  template <class DoRow>
  void each(DoRow&& do_row) const {
    for (int64_t i = 0; i < rows_; ++i)
      if (order_.empty()) do_row(i, i);
      else do_row(static_cast<int64_t>(order_[static_cast<size_t>(i)]), of(order_[static_cast<size_t>(i)]));
  }
  int64_t of(int64_t row) const { return keys_.empty() ? row : keys_[static_cast<size_t>(row)]; }
  std::vector<int64_t> together(std::vector<int64_t> rows) const;  // by holder

  // Of each value of a column of texts. No value has a holder if there are fewer keys than a category needs: then texts
  // are in no rule.
  const std::vector<Held>& of_values(const Column& column) const;
  bool hide_texts() const { return hide_texts_; }

 private:
  int64_t rows_, least_;
  std::vector<int32_t> keys_, order_;  // of each row; rows by key. Empty: rows count
  bool hide_texts_ = false;
  mutable std::unordered_map<std::string, std::vector<Held>> values_;  // rules change no text of a column
};

// The outermost numbers of `least` holders: the smallest for sign 1, the largest for −1.
class Outermost {
 public:
  Outermost(double sign, int64_t least) : sign_(sign), least_(static_cast<size_t>(std::max<int64_t>(least, 1))) {}
  void add(double x, int64_t holder) {  // in the order of Holders::each(); infinite numbers are ignored
    if (holder != holder_) next(holder);
    if (std::isfinite(x)) own_ = std::min(own_, sign_ * x);
  }
  // That of the first holder and of the last of `least`; NaN if there are fewer.
  double first() { return full() ? sign_ * outer_ : kMissing; }
  double last() { return full() ? sign_ * inner_.top() : kMissing; }
  bool full() {
    next(-1);
    return inner_.size() == least_;
  }

 private:
  void next(int64_t holder);
  double sign_, own_ = INFINITY, outer_ = INFINITY;
  int64_t holder_ = -1;
  size_t least_;
  std::priority_queue<double> inner_;
};

// The number simplest(low, high) that all rows allow, if it is the same without any `least` − 1 holders. `below` holds
// the largest lower ends of the intervals that rows allow, `above` the smallest upper ends. simplest() must return the
// first number of an interval in a fixed order of all numbers: a number that is first in two intervals is then first in
// every interval between them.
template <class Simplest>
std::optional<double> stable_between(Outermost& below, Outermost& above, Simplest&& simplest) {
  if (!below.full() || !above.full()) return {};
  const double here = simplest(below.first(), above.first());
  if (!(here == simplest(below.last(), above.last()))) return {};
  return here;
}

}  // namespace tessera
