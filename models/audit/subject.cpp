#include "models/audit/subject.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "models/audit/draws.h"
#include "models/quality/aligned.h"
#include "models/quality/metrics/distances.h"
#include "tables/sequence/sequences.h"
#include "tables/types/types.h"

namespace tessera::audit {
namespace {

constexpr int64_t kMinExposed = 20;
enum : uint32_t { kOfTraining, kOfHoldout };  // draws of rows

std::vector<int64_t> part_of(const std::vector<int64_t>& order, int64_t first, int64_t end) {
  return {order.begin() + first, order.begin() + end};
}

}  // namespace

Subject::Subject(Table& training_rows, const Table& holdout, Table& synthetic_rows, const Model* of, uint64_t drawn_by,
                 const quality::Workers& run_by)
    : training(training_rows), synthetic(synthetic_rows), model(of), seed(drawn_by), workers(run_by) {
  for (const auto& [name, rows] : {std::pair{"training", training.rows}, {"holdout", holdout.rows}})
    if (rows < kMinHoldout)
      throw Error(ErrorCode::data, fmt::format("the {} table has {}, and attacks need {} or more to tell chance from "
                                               "knowledge.\n  Give more rows.",
                                               name, counted(rows, "row"), kMinHoldout));
  const std::vector<int64_t> of_training = quality::shuffled(training.rows, seed, kDrawnRows, kOfTraining),
                             unseen = quality::shuffled(holdout.rows, seed, kDrawnRows, kOfHoldout);
  const int64_t targets = std::min({training.rows, holdout.rows / 2, kMaxTargets});
  members = pick_rows(training, part_of(of_training, 0, targets));
  others = pick_rows(training, part_of(of_training, targets, training.rows));
  held_out = pick_rows(holdout, part_of(unseen, 0, targets));
  reference = pick_rows(holdout, part_of(unseen, targets, std::min(holdout.rows, targets + kMaxReference)));
  compared = quality::compare_tables(
      {{"holdout", &reference}, {"training", &members}, {"holdout", &held_out}, {"synthetic", &synthetic}});
  if (compared.facts.empty())
    throw Error(ErrorCode::data,
                "every column of the training table is an identifier: there is nothing to attack.\n  Give a table with "
                "other columns, or their types.");
  for (size_t t = 1; t < compared.tables.size(); ++t)
    for (size_t k = 0; k < compared.facts.size(); ++k)
      compared.tables[t].columns[k].low = compared.tables[kReference].columns[k].low,
      compared.tables[t].columns[k].high = compared.tables[kReference].columns[k].high;
  to_reference_ = distances(kReference);
  std::vector<double> all = to_reference_.members;
  all.insert(all.end(), to_reference_.held_out.begin(), to_reference_.held_out.end());
  const auto few = std::min(std::max<int64_t>(static_cast<int64_t>(all.size()) / 100, kMinExposed),
                            static_cast<int64_t>(all.size()));
  std::nth_element(all.begin(), all.end() - few, all.end());
  exposed_from_ = *(all.end() - few);
}

std::vector<std::string> Subject::columns() const {
  std::vector<std::string> out;
  for (const quality::ColumnFacts& f : compared.facts) out.push_back(f.name);
  return out;
}

Scores Subject::distances(size_t to) const {
  return {quality::gower_nearest(compared, kMembers, to, workers),
          quality::gower_nearest(compared, kHeldOut, to, workers)};
}

Attack Subject::ranking(const char* name, const char* question, Scores scores) const {
  Attack a{name, "membership", question, Attack::Measure::ranking, std::move(scores)};
  const auto exposed = [&](const std::vector<double>& distance) {
    std::vector<char> out;
    for (const double d : distance) out.push_back(d >= exposed_from_ && d > 0);
    return out;
  };
  a.exposed_members = exposed(to_reference_.members), a.exposed_held_out = exposed(to_reference_.held_out);
  return a;
}

}  // namespace tessera::audit
