// The subject of an audit, as attackers see it. They know rows of the same source (the reference), and want to know
// which of other rows the model was trained on: as many members as held-out rows, so that a guess is right half of the
// time.
#pragma once
#include <string>
#include <vector>

#include "models/audit/attack.h"
#include "models/model/model.h"
#include "models/quality/common/workers.h"
#include "models/quality/metrics/comparison.h"
#include "tables/table/picked_rows.h"

namespace tessera::audit {

enum : size_t { kReference, kMembers, kHeldOut, kSynthetic };  // tables of Subject::compared

class Subject {
 public:
  // Draws members of the training table, and splits the holdout into held-out rows and the reference. The model may be
  // null. All outlive the result. Throws Error(data) for tables that differ or have too few rows.
  Subject(Table& training, const Table& holdout, Table& synthetic, const Model* model, uint64_t seed,
          const quality::Workers& workers);

  Table &training, &synthetic;
  const Model* model;
  uint64_t seed;
  const quality::Workers& workers;
  Table members, held_out, reference;
  Table others;                  // training rows that are not among the members
  quality::Comparison compared;  // every table on the scale of the reference

  std::vector<std::string> columns() const;  // that are compared
  // Distances (Gower's) to the nearest row of a table.
  Scores distances(size_t to) const;
  const Scores& to_reference() const { return to_reference_; }  // distances to the reference
  // An attack that ranks rows; the most exposed are those furthest from the reference, a hundredth of them.
  Attack ranking(const char* name, const char* question, Scores scores) const;

  static constexpr int64_t kMinHoldout = 40, kMaxTargets = 2500, kMaxReference = 20'000;

 private:
  double exposed_from_ = 0;  // distance to the reference
  Scores to_reference_;
};

}  // namespace tessera::audit
