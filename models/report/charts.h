// Charts as SVG. Colors are classes of the page's style sheet and follow its light and dark modes.
#pragma once
#include <string>
#include <vector>

#include "models/report/format.h"

namespace tessera::report {

// A column from draw_columns(): bins as areas, levels as bars; real filled, synthetic as a line or a second bar.
std::string column_chart(const Json& column);

// Counts of two tables in the same cells, side by side, darker for more rows; null: withheld.
struct Cells {
  const Json& real;
  const Json& synthetic;
  size_t rows, cols;
};
// Axes from describe_axis(): `a` runs down, `b` to the right.
std::string pair_chart(const Cells& cells, const Json& a, const Json& b);
// Without axes: row 0 is at the bottom.
std::string plane_chart(const Cells& cells, const std::string& label);

struct Curve {
  const char* style;  // class: "real", "synthetic", "floor"
  std::vector<double> x, y;
};
struct CurveAxes {
  std::string label;  // for screen readers
  std::string x, y;   // labels of the axes
  double x_low, x_high, y_low, y_high;
  bool shares = false;  // ticks in percent
};
// The area between two curves, without an outline.
struct Band {
  const char* style;
  std::vector<double> x, low, high;
};
// NaN interrupts a curve, and leaves a gap in a band.
std::string curve_chart(const CurveAxes& axes, const std::vector<Curve>& curves, const std::vector<Band>& bands = {});

// A square of cells, one for each pair of columns; NaN: none. `values` holds names.size()² of them, row after row;
// values from `darkest` on have the same shade.
std::string matrix_chart(const std::string& label, const std::vector<std::string>& names,
                         const std::vector<double>& values, double darkest, bool signed_values);

}  // namespace tessera::report
