// What the search for codes reads: steps with a step before, and which columns may be coded, or be bases.
#pragma once
#include <string>
#include <vector>

#include "tables/sequence/step_coding.h"

namespace tessera {

constexpr int64_t kMinPairs = 50;  // with a step before, to choose codes from

class StepSurvey {
 public:
  StepSurvey(const Table& table, const std::vector<int32_t>& key_of_row, const std::vector<std::string>& uncoded,
             const StaticsOfSteps& statics_of_steps);

  double at(size_t j, size_t row) const { return steps.columns[j].numbers[row]; }
  // The values that terms of the step before see: missing ones repeat the last of their key.
  double last(size_t j, size_t row) const { return carried_[j].empty() ? at(j, row) : carried_[j][row]; }
  bool never_above(size_t a, size_t b) const;
  // Whether a share of the differences have one value, and not those beside it on the grid: terms would smear it.
  bool has_spike(size_t j, const StepCoding::Code& difference) const;

  // Whether first steps hold a column's values as they are: its values repeat, so that terms and bases would draw ones
  // that are none of the table's, and one series has rows enough to learn levels from.
  bool begins_on_values(size_t j) const;

  const Table& steps;
  const StaticsOfSteps& statics;
  const std::vector<int32_t>& key;
  std::vector<size_t> rows{}, begins{};       // with a step before; without one
  std::vector<char> usable, present, serves;  // serves: as a base, and is learned against one
  std::vector<double> lowest;

 private:
  void carry();

  std::vector<std::vector<double>> carried_{};  // of columns with missing cells
};

// ln of the mean distance from the median; −∞ if all are equal.
double log_spread(std::vector<double> x);
bool has_few_values(const Column& c);
double few_digits(double x);  // as a model file holds factors

}  // namespace tessera
