// The headline figures of an evaluation, in one list for the page, the terminal, Python and comparisons of several
// evaluations.
#pragma once
#include <string>
#include <vector>

#include "models/report/words.h"

namespace tessera::report {

struct Measure {
  enum class Format { share, small_share, area, number };
  // The gap from the ideal: what is lacking of 1 · the figure itself · what it is above its reference or a half · above
  // its reference · below it · none, it has no ideal
  enum class Ideal { one, zero, half, reference, above_reference, none };

  const char* key;    // in JSON and Python
  const char* group;  // "detection", "fidelity", "utility", "privacy"
  const char* label;
  const char* pointer;  // in the JSON of an evaluation
  Format format;
  Ideal ideal;
  double fair, poor;  // gaps from which the mark is fair, and poor
  bool headline;      // shown where there is little space
  const char* meaning;
  // the same of real rows, "" if there is none
  const char* reference_key = "";
  const char* reference = "";

  double in(const Json& report) const { return at(report, pointer); }
  double reference_in(const Json& report) const { return *reference == 0 ? NAN : at(report, reference); }
  std::string write(double value) const;
  double gap(const Json& report) const;  // NaN: not measured, or without an ideal
};

// The most important first: tables are ranked by the first that was measured.
const std::vector<Measure>& measures();

// [{key, group, label, value, shown, mark, headline, meaning, reference: {key, value, shown}}] of those measured.
Json figures_of(const Json& report);
// {text, mark, reasons: [{text, mark}], cautions: [text]}: judge() without HTML.
Json verdict_of(const Json& report);

}  // namespace tessera::report
