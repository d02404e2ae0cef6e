// A number of a step and its code (tables/sequence/step_coding.h), before terms.
#pragma once
#include <algorithm>
#include <cmath>

#include "tables/sequence/step_coding.h"

namespace tessera {

constexpr double kTermBound = 3;  // of a standardized value in a term: no row has much weight

// Whether x follows a line's last value and move, as both were rounded.
inline bool continues_line(double last, double move, double x) {
  return std::fabs(x - last - move) <= 1e-4 * std::fabs(move) + 4e-9 * std::fabs(x);
}

// A term's value before its factor; 0: missing.
inline double standardized(const StepCoding::Term& t, double x) {
  return x == x ? std::clamp((x - t.center) / t.scale, -kTermBound, kTermBound) : 0;
}
inline double standardized(const StepCoding::Term& t, const Table& statics, int64_t row) {
  const Column& c = statics.columns[static_cast<size_t>(t.column)];
  const auto at = static_cast<size_t>(row);
  if (t.text.empty()) return standardized(t, c.numbers[at]);
  return c.codes[at] >= 0 && c.values[static_cast<size_t>(c.codes[at])] == t.text ? 1 : 0;
}

inline double combine(const StepCoding::Code& c, double code, double base, double upper) {
  switch (c.form) {
    case StepCoding::Code::Form::difference: return base + (code == code ? code : 0);
    case StepCoding::Code::Form::ratio: return base * (code == code ? code : 1);
    case StepCoding::Code::Form::between: return base + (code == code ? code : 0.5) * (upper - base);
    default: return code;
  }
}

inline double reduced(const StepCoding::Code& c, double x, double base, double upper) {
  switch (c.form) {
    case StepCoding::Code::Form::difference: return x - base;
    case StepCoding::Code::Form::ratio: return x / base;
    case StepCoding::Code::Form::between: return upper > base ? (x - base) / (upper - base) : 0.5;
    default: return x;
  }
}

inline double neutral(const StepCoding::Code& c) {
  return c.form == StepCoding::Code::Form::ratio ? 1 : c.form == StepCoding::Code::Form::between ? 0.5 : 0;
}

}  // namespace tessera
