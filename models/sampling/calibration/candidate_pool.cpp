#include "models/sampling/calibration/candidate_pool.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tables/kinds/cells.h"
#include "tables/table/picked_rows.h"

namespace tessera {
namespace {

constexpr int64_t kSlice = 1024;  // rows per work item

}  // namespace

int64_t bytes_of_row(const Table& table) {
  int64_t bytes = 0;
  for (const Column& c : table.columns)
    bytes += static_cast<int64_t>(has_numbers(c) ? sizeof(double) : sizeof(int32_t));
  return bytes;
}

Table rows_of(const Table& t, int64_t begin, int64_t rows) {
  std::vector<int64_t> of(static_cast<size_t>(rows));
  std::iota(of.begin(), of.end(), begin);
  return pick_rows(t, of);
}

CandidatePool CandidatePool::draw(const Calibration::RowSource& model, int64_t first, int64_t rows, int64_t all,
                                  Deadline& until, Team& team, const Monitor& monitor) {
  CandidatePool p;
  p.first_ = first;
  p.rows_ = rows;
  for (int64_t at = 0; at < rows; at += kAtOnce) {
    const int64_t n = std::min(kAtOnce, rows - at);
    if (!until.next(2 * std::ceil(static_cast<double>(all - first - at) / kAtOnce))) return {};
    const Table raw = model(first + at, n);
    const size_t begin = p.slices_.size();
    p.slices_.resize(begin + static_cast<size_t>((n + kSlice - 1) / kSlice));
    team.for_each(static_cast<int64_t>(p.slices_.size() - begin), [&](int64_t s) {
      p.slices_[begin + static_cast<size_t>(s)] = rows_of(raw, s * kSlice, std::min(kSlice, n - s * kSlice));
    });
    const int64_t done = first + at + n;
    monitor.report({"candidates", static_cast<double>(done), static_cast<double>(all), "rows", "", done == all});
  }
  return p;
}

void CandidatePool::map(const Calibration& c, uint64_t seed, Team& team) {
  team.for_each(static_cast<int64_t>(slices_.size()), [&](int64_t s) {
    Table& t = slices_[static_cast<size_t>(s)];
    std::vector<int64_t> ids(static_cast<size_t>(t.rows));
    std::iota(ids.begin(), ids.end(), first_ + s * kSlice);
    c.map(t, ids.data(), nullptr, seed);
  });
}

RatioRows CandidatePool::encode(const Profile& profile, Team& team) const {
  RatioRows out = RatioRows::sized(rows_, profile.codes(), profile.inputs());
  team.for_each(static_cast<int64_t>(slices_.size()), [&](int64_t s) {
    profile.encode(slices_[static_cast<size_t>(s)], out.cells.data() + s * kSlice * profile.codes(),
                   out.inputs.data() + s * kSlice * profile.inputs());
  });
  return out;
}

Table CandidatePool::select(int64_t most, const std::function<bool(int64_t)>& keep) const {
  Table out = rows_of(slices_.front(), 0, 0);
  for (size_t s = 0; s < slices_.size() && out.rows < most; ++s)
    for (int64_t i = 0; i < slices_[s].rows && out.rows < most; ++i) {
      if (!keep(static_cast<int64_t>(s) * kSlice + i)) continue;
      for (size_t j = 0; j < out.columns.size(); ++j)
        out.columns[j].push_from(slices_[s].columns[j], static_cast<size_t>(i));
      ++out.rows;
    }
  return out;
}

void CandidatePool::each_number(size_t j, const std::function<void(double)>& visit) const {
  for (const Table& t : slices_)
    for (const double x : t.columns[j].numbers) visit(x);
}

}  // namespace tessera
