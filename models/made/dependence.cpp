#include "models/made/dependence.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr int64_t kTestedRows = 5000;
// Groups of a number's ranks: 2 see a weak trend, 8 any form. With 8, each of few levels is a group.
constexpr int kRanks[] = {2, 8};
constexpr int kMaxGroups = 16;       // categories of the narrower column of a pair; rarer ones count together
constexpr double kSurprising = 3.1;  // of a normal variable: one pair of 1,000 that are independent

// A column's groups, row by row.
struct Grouped {
  int groups = 0;
  std::vector<int> group;
};

class Pairs {
 public:
  Pairs(const Made& m, const std::vector<double>& frequencies, const EncodedTable& table)
      : m_(m), frequencies_(frequencies), table_(table), rows_(std::min(table.rows, kTestedRows)) {}

  // The levels of column j as groups: a number's levels by rank; of a category all, or the `most` most frequent.
  Grouped grouped(size_t j, int ranks, int most) const {
    const Span& span = m_.columns[j];
    std::vector<int> group(static_cast<size_t>(span.width), 0);
    const auto share = [&](int k) { return frequencies_[static_cast<size_t>(span.start + k)]; };
    int next = 0;
    double below = 0, all = 0;
    for (int k = 0; k < span.ascending; ++k) all += share(k);
    for (int k = 0; k < span.ascending; ++k) {
      const int rank = std::min(static_cast<int>(ranks * (below + share(k) / 2) / all), ranks - 1);
      group[static_cast<size_t>(k)] = ranks > 2 && span.ascending <= kMaxGroups ? k : rank;
      next = std::max(next, group[static_cast<size_t>(k)] + 1), below += share(k);
    }
    std::vector<int> order;
    for (int k = span.ascending; k < span.width; ++k) order.push_back(k);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return share(a) > share(b); });
    for (size_t i = 0; i < order.size(); ++i)
      group[static_cast<size_t>(order[i])] = next + std::min(static_cast<int>(i), most - 1);
    Grouped out{next + std::min(static_cast<int>(order.size()), most), {}};
    for (int64_t i = 0; i < rows_; ++i)
      out.group.push_back(
          group[static_cast<size_t>(table_.codes[static_cast<size_t>((i * table_.rows / rows_) * m_.count()) + j])]);
    return out;
  }

  bool depend(const Grouped& a, const Grouped& b) const {
    std::vector<double> cells(static_cast<size_t>(a.groups) * static_cast<size_t>(b.groups), 0);
    std::vector<double> of_a(static_cast<size_t>(a.groups), 0), of_b(static_cast<size_t>(b.groups), 0);
    for (size_t i = 0; i < a.group.size(); ++i) {
      const auto x = static_cast<size_t>(a.group[i]), y = static_cast<size_t>(b.group[i]);
      ++cells[x * of_b.size() + y], ++of_a[x], ++of_b[y];
    }
    const auto n = static_cast<double>(rows_);
    const auto used = [](const std::vector<double>& of) {
      return static_cast<double>(std::count_if(of.begin(), of.end(), [](double x) { return x > 0; }));
    };
    const double freedom = (used(of_a) - 1) * (used(of_b) - 1);
    if (freedom <= 0) return false;
    double squares = 0;
    for (size_t x = 0; x < of_a.size(); ++x)
      for (size_t y = 0; y < of_b.size(); ++y)
        if (const double c = cells[x * of_b.size() + y]; c > 0) squares += c * c / (of_a[x] * of_b[y]);
    const double chi = (n - 1) * (squares - 1), width = 2 / (9 * freedom);
    return (std::cbrt(chi / freedom) - (1 - width)) / std::sqrt(width) > kSurprising;  // Wilson, Hilferty 1931
  }

 private:
  const Made& m_;
  const std::vector<double>& frequencies_;
  const EncodedTable& table_;
  const int64_t rows_;
};

}  // namespace

void leave_out_chance(Made& m, const std::vector<double>& frequencies, const EncodedTable& table, Team& team) {
  const auto columns = static_cast<size_t>(m.count());
  const Pairs pairs(m, frequencies, table);
  std::vector<char> depend(columns * columns, 0);
  for (const int ranks : kRanks) {
    std::vector<Grouped> all(columns), few(columns);
    team.for_each(m.count(), [&](int64_t j) {
      const auto at = static_cast<size_t>(j);
      all[at] = pairs.grouped(at, ranks, m.columns[at].width), few[at] = pairs.grouped(at, ranks, kMaxGroups);
    });
    team.for_each(m.count(), [&](int64_t j) {
      const auto b = static_cast<size_t>(j);
      for (size_t a = 0; a < b; ++a) {
        const bool narrower = all[a].groups < all[b].groups;
        if (depend[b * columns + a] == 0 && pairs.depend(narrower ? few[a] : all[a], narrower ? all[b] : few[b]))
          depend[b * columns + a] = 1;
      }
    });
  }
  m.seen.assign(columns, 0), m.learned.assign(columns, 0);
  for (size_t b = 0; b < columns; ++b)
    for (size_t a = 0; a < b; ++a)
      if (depend[b * columns + a] != 0) m.seen[a] = m.seen[b] = m.learned[b] = 1;
  if (std::count(m.learned.begin() + 1, m.learned.end(), 0.0f) == 0) m.seen.clear(), m.learned.clear();
}

}  // namespace tessera
