// Rows that come back.
#include "models/audit/attacks.h"
#include "models/dedup/dedup.h"

namespace tessera::audit {
namespace {

constexpr double kNearCopy = 0.9;  // similarity

std::vector<RowCopy> search(const Subject& s, Table& rows, Table& of, const char* mode) {
  DedupOptions o;
  o.threshold = kNearCopy;
  o.mode = mode, o.columns = s.columns();
  nlohmann::json report;
  return find_copies(rows, &of, o, s.workers.team, s.workers.monitor.silent(), report);
}

// Of each row whether a synthetic one equals it, or comes near to it.
struct Copied {
  std::vector<double> exact, near;
};

Copied copied(const Subject& s, const Table& rows) {
  Table own = rows;
  const auto count = static_cast<size_t>(rows.rows);
  Copied out{std::vector<double>(count), std::vector<double>(count)};
  for (const RowCopy& c : search(s, own, s.synthetic, "nearest")) {
    const auto row = static_cast<size_t>(c.row);
    out.near[row] = 1, out.exact[row] = c.exact ? 1 : 0;
  }
  return out;
}

// The share of rows that equal a training row.
double share_of_copies(const Subject& s, Table& rows) {
  const size_t found = search(s, rows, s.training, "exact").size();
  return static_cast<double>(found) / static_cast<double>(rows.rows);
}

}  // namespace

std::vector<Attack> copies(const Subject& s) {
  Copied members = copied(s, s.members), held_out = copied(s, s.held_out);
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
  out.back().details["threshold"] = kNearCopy;
  return out;
}

}  // namespace tessera::audit
