// Real and synthetic sequences as steps of numbers on one scale: the input of sequence metrics and judges.
#pragma once
#include <string>
#include <vector>

#include "models/quality/sequences/sequence_metrics.h"
#include "tables/sequence/sequences.h"

namespace tessera::quality {

// A feature of a step. Numbers and times are (x − min)/(max − min) by the real table's range, not clipped; a missing
// one takes the real mean, and a separate feature marks it if either table has missing values. Categories are a 0/1
// feature for each of the 100 most common levels of the real table. Statics are features of every step. Keys,
// identifiers and columns that are constant in both tables are excluded.
struct StepFeature {
  std::string name;  // "Close", "drug = aspirin", "weight missing"
  bool number = false;
  double range = 1;    // number: of the real table, in the column's units; dates: days, times: seconds
  double low = 0;      // number: the minimum of the real table
  bool fixed = false;  // static: the same at every step
  bool time = false;   // number: a date or a time
};

struct StepSet {
  std::vector<float> values;
  std::vector<int32_t> first, length;
  int64_t features = 0;
  int32_t longest = 0;
  StepRows rows() const { return {values, first, length, features}; }
  int64_t size() const { return static_cast<int64_t>(first.size()); }
};

struct StepFeatures {
  std::vector<StepFeature> features;  // statics, then the columns in the order of the real table
  std::vector<std::string> excluded;  // identifiers
  StepSet real, synthetic;
};

// Error(data) if the columns differ, naming them, or if nothing varies.
StepFeatures step_features(const Sequences& real, const Sequences& synthetic);

}  // namespace tessera::quality
