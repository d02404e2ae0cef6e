// Numbers in expressions, and how precisely columns determine them.
#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tables/kinds/kind.h"
#include "tables/table/table.h"

namespace tessera {

double dot(const std::vector<double>& a, const std::vector<double>& b);

// The number of fewest digits within `near` of x, or one over a whole number; x itself if there is none.
double short_number(double x, double near);

// The first number of a range in a fixed order: of fewest digits, and rather a multiple of 5 or 2; then the smallest.
// Between 3 and 4 digits come those over which 1 is whole. NaN: none has up to `digits` digits after the point.
enum class Ends { below, above, both };  // which ends belong to the range
double simplest_between(double below, double above, Ends ends, int digits);

// Numbers that many rows hold, such as 0, and how many do: more than a hundredth of the rows, and than four.
std::unordered_map<double, size_t> frequent_numbers(const std::vector<double>& numbers);

// y = factor * x + constant but for rounding, in the numbers of fewest digits.
struct Line {
  double factor = 0, constant = 0;
};
// The line through the rows that have both numbers, y with `half` a unit of its last digit; nullopt: there is none, or
// few rows or units show it.
std::optional<Line> line_through(const std::vector<double>& x, const std::vector<double>& y, double half);
std::string line_text(const Line& line, const std::string& x);  // "0.2 * x + 5"

// The numbers among them that differ.
size_t distinct_of(std::vector<double> numbers);

// Half a unit of the column's last digit, in the units of expressions (days, where it has times); 0: not rounded.
double half_unit(const Column& column);

}  // namespace tessera
