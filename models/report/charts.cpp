#include "models/report/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/report/drawing.h"
#include "tables/types/types.h"

namespace tessera::report {
namespace {

constexpr double kWidth = 320;
constexpr double kLetters = 12, kSmallLetters = 10.5;  // as in page.css

std::string rest_name(const Json& rest) {
  const std::string what = rest.at("what");
  if (what == "missing") return "missing";
  return counted(rest.at("levels").get<int64_t>(), what == "other" ? "other value" : "unknown value");
}

std::vector<double> shares(const Json& counts) {
  std::vector<double> share;
  double sum = 0;
  for (const Json& n : counts) share.push_back(n.is_null() ? 0 : n.get<double>()), sum += share.back();
  for (double& x : share) x = sum > 0 ? x / sum : 0;
  return share;
}

// The outline of bars, from the base line and back to it.
std::string outline(const std::vector<double>& edges, const std::vector<double>& heights, double base) {
  std::string path = fmt::format("M{} {}", coordinate(edges.front()), coordinate(base));
  for (size_t i = 0; i < heights.size(); ++i)
    path += fmt::format("V{}H{}", coordinate(base - heights[i]), coordinate(edges[i + 1]));
  return path + fmt::format("V{}", coordinate(base));
}

// The positions of the bins' edges; open bins are drawn one bin wide.
std::vector<double> edges_of(const Json& column) {
  std::vector<double> edges;
  for (const Json& cut : column.at("cuts")) edges.push_back(cut.get<double>());
  const double step = at(column, "/step");
  if (edges.empty()) return {0, 1};
  edges.insert(edges.begin(), edges.front() - step);
  edges.push_back(edges.back() + step);
  return edges;
}

std::string histogram(const Json& column) {
  constexpr double kBase = 112, kTop = 8, kLeft = 6;
  const std::vector<double> edges = edges_of(column);
  const size_t bins = edges.size() - 1;
  const std::vector<double> real = shares(column.at("real")), synthetic = shares(column.at("synthetic"));
  const double span = edges.back() - edges.front();
  std::vector<double> x, real_height, synthetic_height;
  double highest = 0;
  for (const double e : edges) x.push_back(kLeft + (e - edges.front()) / span * (kWidth - 2 * kLeft));
  for (size_t i = 0; i < bins; ++i) {
    const double width = edges[i + 1] - edges[i];
    real_height.push_back(real.at(i) / width), synthetic_height.push_back(synthetic.at(i) / width);
    highest = std::max({highest, real_height.back(), synthetic_height.back()});
  }
  for (auto* heights : {&real_height, &synthetic_height})
    for (double& h : *heights) h = highest > 0 ? h / highest * (kBase - kTop) : 0;
  Drawing d(kWidth, 134, "Distribution of real and synthetic values");
  d.path("real", outline(x, real_height, kBase));
  d.path("synthetic", outline(x, synthetic_height, kBase));
  d.path("axis", fmt::format("M{} {}H{}", coordinate(kLeft), coordinate(kBase), coordinate(kWidth - kLeft)));
  // An integer's label is under its bin, other labels are under the edge.
  const auto label = [&](size_t i, const char* anchor) {
    const double under = column.value("integer", false) ? (x[i] + x[i + 1]) / 2 : x[i];
    d.text(under, kBase + 15, anchor, escape(tick(column, edges[i])));
  };
  if (bins > 1) label(1, bins > 2 ? "start" : "middle");
  if (bins > 5) label(bins / 2, "middle");
  if (bins > 2) label(bins - 1, "end");
  return d.str();
}

// One bar per table for each value.
std::string bars(const std::vector<std::string>& names, const std::vector<double>& real,
                 const std::vector<double>& synthetic, const std::vector<char>& withheld) {
  constexpr double kPitch = 27, kStart = 118, kEnd = 272;
  double highest = 1e-9;
  for (size_t i = 0; i < names.size(); ++i) highest = std::max({highest, real[i], synthetic[i]});
  Drawing d(kWidth, kPitch * static_cast<double>(names.size()) + 4,
            "Shares of real and synthetic rows with each value");
  for (size_t i = 0; i < names.size(); ++i) {
    const double y = kPitch * static_cast<double>(i) + 2;
    d.text(kStart - 6, y + 16, "end", clipped(names[i], kStart - 8, kLetters));
    const auto bar = [&](const char* style, double share, double top) {
      d.rect(style, kStart, top, share / highest * (kEnd - kStart), 9);
    };
    bar("real", real[i], y + 2), bar("synthetic-bar", synthetic[i], y + 13);
    d.text(kWidth - 2, y + 10, "end", withheld[i] != 0 ? "withheld" : percent(real[i]), "small");
    d.text(kWidth - 2, y + 21, "end", percent(synthetic[i]), "small");
  }
  return d.str();
}

// The labels of an axis's slots.
std::vector<std::string> slot_names(const Json& axis) {
  std::vector<std::string> names;
  if (axis.at("kind") == "categorical") {
    for (const Json& level : axis.at("levels")) names.push_back(level.get<std::string>());
  } else {
    const Json& cuts = axis.at("cuts");
    for (size_t i = 0; i <= cuts.size(); ++i)
      names.push_back(cuts.empty() ? "any"
                      : i == 0     ? "below " + tick(axis, cuts[0].get<double>())
                                   : tick(axis, cuts[i - 1].get<double>()));
    for (const Json& spike : axis.at("spikes")) names.push_back("= " + tick(axis, spike.get<double>()));
  }
  for (const Json& rest : axis.at("rest")) names.push_back(rest_name(rest));
  return names;
}

// Cells as one path for each of eight shades, relative to the fullest cell of both; the square root makes rare ones
// visible.
void draw_cells(Drawing& d, const char* style, const Json& counts, size_t rows, size_t cols, double left, double top,
                double width, double height, double highest, bool upwards) {
  constexpr size_t kShades = 8;
  std::vector<std::string> path(kShades + 1);
  std::string withheld;
  const std::vector<double> share = shares(counts);
  const double w = width / static_cast<double>(cols), h = height / static_cast<double>(rows);
  for (size_t i = 0; i < rows * cols; ++i) {
    const size_t row = upwards ? rows - 1 - i / cols : i / cols;
    const std::string cell =
        fmt::format("M{} {}h{}v{}h-{}z", coordinate(left + static_cast<double>(i % cols) * w),
                    coordinate(top + static_cast<double>(row) * h), coordinate(w), coordinate(h), coordinate(w));
    if (counts.at(i).is_null()) withheld += cell;
    else if (share[i] > 0) path[static_cast<size_t>(std::ceil(std::sqrt(share[i] / highest) * kShades))] += cell;
  }
  d.rect("panel", left, top, width, height);
  if (!withheld.empty()) d.path("withheld", withheld);
  for (size_t s = 1; s <= kShades; ++s)
    if (!path[s].empty()) d.path(fmt::format("{} s{}", style, s), path[s]);
}

double fullest(const Cells& cells) {
  double highest = 1e-9;
  for (const Json* counts : {&cells.real, &cells.synthetic}) {
    if (counts->size() != cells.rows * cells.cols) throw Json::other_error::create(501, "cells are missing", counts);
    for (const double x : shares(*counts)) highest = std::max(highest, x);
  }
  return highest;
}

// Two to five multiples of a round step on an axis.
std::vector<double> round_ticks(double low, double high) {
  const double span = high > low ? high - low : 1;
  double step = std::pow(10.0, std::floor(std::log10(span)));
  if (span / step > 4) step *= 2;
  if (span / step < 2) step /= 2;
  std::vector<double> out;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) out.push_back(i * step);
  return out;
}

// Each segment without a gap is drawn forward along its upper edge and back along its lower edge.
template <class XAt, class YAt>
std::string band_path(const Band& b, XAt&& x_at, YAt&& y_at) {
  std::string path, back;
  const auto close = [&] {
    if (!back.empty()) path += back + "Z";
    back.clear();
  };
  for (size_t i = 0; i < std::min({b.x.size(), b.low.size(), b.high.size()}); ++i) {
    if (!std::isfinite(b.low[i]) || !std::isfinite(b.high[i])) {
      close();
      continue;
    }
    const std::string x = coordinate(x_at(b.x[i]));
    path += fmt::format("{}{} {}", back.empty() ? "M" : "L", x, coordinate(y_at(b.high[i])));
    back = fmt::format("L{} {}", x, coordinate(y_at(b.low[i]))) + back;
  }
  close();
  return path;
}

}  // namespace

std::string column_chart(const Json& column) {
  if (column.at("kind") != "categorical") return histogram(column);
  const std::vector<std::string> names = slot_names(column);
  std::vector<char> withheld;
  for (const Json& n : column.at("real")) withheld.push_back(n.is_null());
  if (column.at("real").size() != names.size() || column.at("synthetic").size() != names.size())
    throw Json::other_error::create(501, "counts are missing", &column);
  return bars(names, shares(column.at("real")), shares(column.at("synthetic")), withheld);
}

std::string pair_chart(const Cells& cells, const Json& a, const Json& b) {
  constexpr double kLabels = 96, kGap = 10, kTop = 18, kBottom = 80, kTotal = 460;
  const double panel = (kTotal - kLabels - kGap) / 2,
               row = std::clamp(170.0 / static_cast<double>(cells.rows), 12.0, 24.0);
  const double height = row * static_cast<double>(cells.rows), col = panel / static_cast<double>(cells.cols);
  const std::vector<std::string> down = slot_names(a), across = slot_names(b);
  const double highest = fullest(cells);
  Drawing d(kTotal, kTop + height + kBottom, "Real and synthetic rows by both columns");
  for (size_t i = 0; i < down.size(); ++i)
    d.text(kLabels - 5, kTop + (static_cast<double>(i) + 0.5) * row + 4, "end",
           clipped(down[i], kLabels - 7, kSmallLetters), "small");
  for (const bool synthetic : {false, true}) {
    const double left = kLabels + (synthetic ? panel + kGap : 0);
    d.text(left + panel / 2, kTop - 6, "middle", synthetic ? "synthetic" : "real");
    draw_cells(d, synthetic ? "synthetic-fill" : "real-fill", synthetic ? cells.synthetic : cells.real, cells.rows,
               cells.cols, left, kTop, panel, height, highest, false);
    for (size_t i = 0; i < across.size(); ++i)
      d.slanted(left + (static_cast<double>(i) + 0.5) * col, kTop + height + 10, clipped(across[i], 92, kSmallLetters));
  }
  return d.str();
}

std::string plane_chart(const Cells& cells, const std::string& label) {
  constexpr double kPanel = 290, kGap = 20, kTop = 20;
  const double highest = fullest(cells);
  Drawing d(2 * kPanel + kGap, kTop + kPanel, label);
  for (const bool synthetic : {false, true}) {
    const double left = synthetic ? kPanel + kGap : 0;
    d.text(left + kPanel / 2, kTop - 6, "middle", synthetic ? "synthetic" : "real");
    draw_cells(d, synthetic ? "synthetic-fill" : "real-fill", synthetic ? cells.synthetic : cells.real, cells.rows,
               cells.cols, left, kTop, kPanel, kPanel, highest, true);
  }
  return d.str();
}

std::string curve_chart(const CurveAxes& axes, const std::vector<Curve>& curves, const std::vector<Band>& bands) {
  constexpr double kLeft = 46, kRight = 10, kTop = 10, kBase = 196, kHeight = 236, kTotal = 380;
  const auto x_at = [&](double x) {
    return kLeft + (x - axes.x_low) / (axes.x_high - axes.x_low) * (kTotal - kLeft - kRight);
  };
  const auto y_at = [&](double y) { return kBase - (y - axes.y_low) / (axes.y_high - axes.y_low) * (kBase - kTop); };
  Drawing d(kTotal, kHeight, axes.label);
  d.attributes("class=\"curves\"");
  const auto written = [&](double v) { return axes.shares ? percent(v, 0) : number(v); };
  for (const double y : round_ticks(axes.y_low, axes.y_high)) {
    d.path("grid", fmt::format("M{} {}H{}", coordinate(kLeft), coordinate(y_at(y)), coordinate(kTotal - kRight)));
    d.text(kLeft - 5, y_at(y) + 4, "end", written(y), "small");
  }
  for (const double x : round_ticks(axes.x_low, axes.x_high))
    d.text(x_at(x), kBase + 15, x_at(x) > kTotal - 30 ? "end" : "middle", written(x), "small");
  d.text((kLeft + kTotal - kRight) / 2, kHeight - 6, "middle", axes.x);
  d.upwards(11, (kTop + kBase) / 2, axes.y);
  for (const Band& b : bands) {
    const std::string area = band_path(b, x_at, y_at);
    if (!area.empty()) d.path(std::string("band ") + b.style, area);
  }
  for (const Curve& c : curves) {
    std::string path;
    bool pen = false;
    for (size_t i = 0; i < std::min(c.x.size(), c.y.size()); ++i) {
      const bool defined = std::isfinite(c.x[i]) && std::isfinite(c.y[i]);
      if (defined) path += fmt::format("{}{} {}", pen ? "L" : "M", coordinate(x_at(c.x[i])), coordinate(y_at(c.y[i])));
      pen = defined;
    }
    if (!path.empty()) d.path(std::string("curve ") + c.style, path);
  }
  return d.str();
}

std::string matrix_chart(const std::string& label, const std::vector<std::string>& names,
                         const std::vector<double>& values, double darkest, bool signed_values) {
  constexpr size_t kShades = 8, kMaxLabelled = 60;
  const size_t n = names.size();
  const bool labelled = n <= kMaxLabelled;
  const double cell = std::clamp(520 / static_cast<double>(n), 5.0, 30.0), left = labelled ? 126 : 0,
               top = labelled ? 84 : 0, size = cell * static_cast<double>(n);
  std::vector<std::string> plus(kShades + 1), minus(kShades + 1);
  std::string list;
  for (size_t i = 0; i < n * n; ++i) {
    const double v = values[i];
    const size_t row = i / n, column = i % n;
    if (i > 0) list += ',';
    if (std::isnan(v)) continue;
    list += fmt::format("{:.0f}", 100 * v + 0.0);
    // Most errors are small: their square root shows differences.
    const double part = std::min(std::abs(v) / darkest, 1.0);
    const auto shade = static_cast<size_t>(std::ceil((signed_values ? part : std::sqrt(part)) * kShades - 1e-9));
    (v < 0 ? minus : plus)[shade] += fmt::format(
        "M{} {}h{}v{}h-{}z", coordinate(left + static_cast<double>(column) * cell),
        coordinate(top + static_cast<double>(row) * cell), coordinate(cell), coordinate(cell), coordinate(cell));
  }
  Drawing d(left + size + (labelled ? 48 : 0), top + size, label);
  d.attributes(fmt::format("class=\"matrix\" data-cell=\"{}\" data-left=\"{}\" data-top=\"{}\" data-values=\"{}\"",
                           coordinate(cell), coordinate(left), coordinate(top), list));
  d.rect("panel", left, top, size, size);
  for (size_t s = 0; s <= kShades; ++s) {
    if (!plus[s].empty()) d.path(fmt::format("{} s{}", signed_values ? "plus" : "error", s), plus[s]);
    if (!minus[s].empty()) d.path(fmt::format("minus s{}", s), minus[s]);
  }
  for (size_t i = 0; labelled && i < n; ++i) {
    const double middle = (static_cast<double>(i) + 0.5) * cell;
    d.text(left - 5, top + middle + 4, "end", clipped(names[i], left - 7, kSmallLetters), "small");
    d.rising(left + middle, top - 5, clipped(names[i], 84, kSmallLetters));
  }
  return d.str();
}

}  // namespace tessera::report
