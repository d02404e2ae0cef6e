// Numbers of single rows computed from what a model file holds. An attacker knows the file format and the number of
// rows (it stands in the file); what he computes is a guess at some row's value, and it is right if a row has that
// value to eleven digits, which no guess is by chance where values have all the digits of a double.
#pragma once
#include <string>
#include <vector>

#include "models/audit/model_file.h"

namespace tessera::privacy {

using audit::ModelFile;
using audit::Numbers;

struct Guesses {
  std::string how;             // "stored", "combinations of two", …
  std::vector<double> values;  // ascending
};

// Every number of the file; a + t·(b − a) of two neighbours in one list, for fractions t of small numerator and
// denominator, within and outside the two: what undoes interpolation, means of a few and mid points; stored float32
// numbers count as what they are. Differences of weighted sums: means and shares of one column are prefix sums over its
// sorted rows, and two sums whose ends lie fewer than five rows apart give the mean of the rows between.
std::vector<Guesses> guess_numbers(const ModelFile& file, int64_t rows);

// For lists "….points" beside "….shares" whose points are linear interpolations between neighbouring order statistics
// (numpy's default quantile): two points between the same two rows are two equations for two values; a point of which
// one value is known gives the other.
Guesses solve_interpolated_quantiles(const ModelFile& file, int64_t rows);

// How many of the values (of single rows) a guess meets to eleven digits.
int64_t right(const Guesses& guesses, const std::vector<double>& values);

}  // namespace tessera::privacy
