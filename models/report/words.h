// An evaluation in words: overall assessment, reasons, cautions.
#pragma once
#include <string>
#include <vector>

#include "models/report/format.h"

namespace tessera::report {

enum class Mark { good, fair, poor, plain };

struct Statement {
  Mark mark = Mark::plain;
  std::string html;
};

struct Verdict {
  Statement headline;
  std::vector<Statement> reasons;
  std::vector<std::string> cautions;  // HTML
};

Verdict judge(const Json& report);
Verdict judge_sequences(const Json& report);

// Gaps from the ideal at which a mark becomes fair, and poor.
inline constexpr double kFairDetection = 0.05, kPoorDetection = 0.2;  // AUC above that of real rows against real rows
inline constexpr double kFairUtility = 0.02, kPoorUtility = 0.1;      // AUC or R² lost
inline constexpr double kFairCopies = 0.001, kPoorCopies = 0.01;      // share above that of real rows
inline constexpr double kFairWritten = 0.05, kPoorWritten = 0.2;      // of a form or a near-rule, beyond chance
inline constexpr double kPoorAttack = 0.05, kPoorGuesses = 0.03;      // area above one half, share above the baseline
inline constexpr double kFairBroken = 0.01, kPoorBroken = 0.05;  // share of rows that break a rule of the real table
inline constexpr double kFairColumn = 0.05, kPoorColumn = 0.15;  // 1 − score

Mark mark_named(const std::string& name);  // of JSON
// The mark for a score's gap from the ideal: good below `fair`, poor from `poor` on.
Mark mark_of(double gap, double fair, double poor);
// The marks' limits, explained to the reader.
std::string limits_in_words();

// Indices into `entries`, the lowest number at `pointer` first, undefined ones last.
std::vector<size_t> lowest_first(const Json& entries, const char* pointer);

}  // namespace tessera::report
