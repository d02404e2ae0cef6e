// The base that leaves the least spread of each column of the steps.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "tables/sequence/step_survey.h"

namespace tessera {

class BaseSearch {
 public:
  explicit BaseSearch(const StepSurvey& survey) : survey_(survey) {}

  // The best code within the step, and the best of all.
  std::pair<StepCoding::Code, StepCoding::Code> of(size_t j);
  // Pairs of which the first is never above the second, and comes as close as a step's own spread.
  std::vector<std::pair<int, int>> orders() const;

 private:
  struct Best;
  double spread_of(size_t j, const StepCoding::Code& c) const;
  void try_both(size_t j, int base, bool before, Best& best) const;
  double unit(size_t j) const;
  double bracket(size_t j, int low, int high) const;
  std::vector<std::pair<int, int>> brackets(size_t j) const;
  double variance_over(size_t j, int steps, int64_t& pairs) const;
  bool reverts(size_t j) const;

  const StepSurvey& survey_;
  std::map<size_t, double> spread_{};  // ln, of the codes
};

// Whether a column that moves is on the line through its two last values in a share of the steps.
bool lies_on_lines(const StepSurvey& survey, size_t j);

}  // namespace tessera
