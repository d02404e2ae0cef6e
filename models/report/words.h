// What an evaluation says, in words: a verdict, its reasons, and what to be careful about.
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

// How far a score is from what it should be, for marks: good below `fair`, poor from `poor` on.
Mark mark_of(double gap, double fair, double poor);
// The marks' limits, told to the reader.
std::string limits_in_words();

// Indices into `entries`, the lowest number at `pointer` first, undefined ones last.
std::vector<size_t> lowest_first(const Json& entries, const char* pointer);

}  // namespace tessera::report
