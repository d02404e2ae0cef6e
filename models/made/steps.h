// Rows that Made learns of sequences, whose coded steps (tables/sequence/step_coding.h) it draws column by column:
//   p(sequence) = p(attributes) · Π over steps and columns p(column | attributes, earlier steps, columns before)
// Short sequences of many keys that have one length are a row each: [attributes | step 0 | … | step T − 1]. Others, and
// windows, which share steps, are a row per step, from one network for all steps: [attributes, number of the step,
// steps that are left, its hour, weekday and month, the last steps | step]. The columns before the bar are given.
#pragma once
#include <memory>

#include "models/made/network.h"
#include "models/method/method.h"

namespace tessera {

// The network's columns.
class StepRows {
 public:
  // `seen_codes`: of the steps before, for those of keys; windows see more.
  StepRows(const SequenceEncoder& encoder, int seen_codes);

  const RowLayout& layout() const { return layout_; }
  int given() const { return given_; }
  bool whole() const { return whole_; }             // a row is a sequence
  int memory() const { return memory_; }            // steps before that a step sees
  int steps_near_end() const { return near_end_; }  // that see how many are left

  EncodedTable table(const EncodedSequences& sequences, Team& team) const;
  struct Place {  // of a step in its sequence
    int64_t t = 0, length = 0;
    const int8_t* calendar = nullptr;  // [cycles]
  };
  // The given columns before a step, numbered among all levels. `attributes`: codes of the sequence; `steps`: codes of
  // step 0, of which those before the step are read.
  void give(const int32_t* attributes, const int32_t* steps, const Place& at, int32_t* to) const;
  // ln of the share of each level of the layout that codes of step t allow, [layout().data_width] of zeros before; −1:
  // all. Whether all codes that the step has are given.
  bool allow(const int32_t* codes, int64_t t, float* levels) const;
  // Codes of the drawn columns of a row to those of step t, or of all steps before `end`.
  void take(const int32_t* drawn, int64_t t, int64_t end, int32_t* steps) const;

 private:
  struct Cell {
    enum class Of { attribute, number, left, calendar, step } of;
    int span;         // of the attributes or the steps; of the calendar, its cycle
    int step;         // whole(): of the sequence; else how many steps back
    int absent = -1;  // the level that means "no such code"; −1: always present
  };
  void add(Cell::Of of, const Span& like, int span, int step, bool may_be_absent);
  int32_t code(const Cell& cell, const int32_t* attributes, const int32_t* steps, const Place& place) const;
  int32_t number_level(int64_t t) const;

  const SequenceEncoder& encoder_;
  bool whole_ = false;
  int memory_ = 0, given_ = 0, codes_ = 0, longest_ = 0, near_end_ = 0;
  std::vector<Cell> cells_;
  RowLayout layout_;
};

// Made on steps of sequences, whose first columns are given. `disjoint`: held-out steps are not learned in other rows.
std::unique_ptr<RowMethod> make_made_after(const RowLayout& layout, int given, const MadeConfig& config, bool disjoint);

}  // namespace tessera
