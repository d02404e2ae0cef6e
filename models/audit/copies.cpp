// Rows that come back.
#include "models/audit/attacks.h"
#include "models/dedup/dedup.h"

namespace tessera::audit {
namespace {

// A search; `threshold`: min similarity of near copies; 0: dedup chooses it, and it is returned.
std::vector<RowCopy> search(const Subject& s, Table& rows, Table& of, const char* mode, double& threshold) {
  DedupOptions o;
  o.threshold = threshold;
  o.mode = mode, o.columns = s.columns();
  nlohmann::json report;
  std::vector<RowCopy> found = find_copies(rows, &of, o, s.workers.team, s.workers.monitor.silent(), report);
  threshold = report.value("threshold", threshold);
  return found;
}

// Of each row whether a synthetic one equals it, or comes near to it.
struct Copied {
  std::vector<double> exact, near;
};

Copied copied(const Subject& s, const Table& rows, double& threshold) {
  Table own = rows;
  const auto count = static_cast<size_t>(rows.rows);
  Copied out{std::vector<double>(count), std::vector<double>(count)};
  for (const RowCopy& c : search(s, own, s.synthetic, "nearest", threshold)) {
    const auto row = static_cast<size_t>(c.row);
    out.near[row] = 1, out.exact[row] = c.exact ? 1 : 0;
  }
  return out;
}

// The share of rows that equal a training row.
double share_of_copies(const Subject& s, Table& rows) {
  double none = 0;
  const size_t found = search(s, rows, s.training, "exact", none).size();
  return static_cast<double>(found) / static_cast<double>(rows.rows);
}

}  // namespace

std::vector<Attack> copies(const Subject& s) {
  double threshold = 0;
  Copied members = copied(s, s.members, threshold), held_out = copied(s, s.held_out, threshold);
  std::vector<Attack> out;
  out.push_back({"copies",
                 "copies",
                 "Does a synthetic row equal a person's row in every column?",
                 Attack::Measure::guesses,
                 {std::move(members.exact), std::move(held_out.exact)}});
  Table unseen = s.held_out;
  out.back().details = {{"synthetic", share_of_copies(s, s.synthetic)}, {"holdout", share_of_copies(s, unseen)}};
  out.push_back({"near copies",
                 "copies",
                 "Is a synthetic row nearly equal to a person's row?",
                 Attack::Measure::guesses,
                 {std::move(members.near), std::move(held_out.near)}});
  out.back().details["threshold"] = threshold;
  return out;
}

}  // namespace tessera::audit
