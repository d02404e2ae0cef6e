// One SVG element, written part by part.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "models/report/format.h"

namespace tessera::report {

class Drawing {
 public:
  Drawing(double width, double height, std::string_view label)
      : head_(fmt::format("<svg viewBox=\"0 0 {} {}\" width=\"{}\" role=\"img\" aria-label=\"{}\"", coordinate(width),
                          coordinate(height), coordinate(width), escape(label))) {}

  void attributes(const std::string& more) { head_ += " " + more; }
  void path(std::string_view style, std::string_view d) {
    body_ += fmt::format("<path class=\"{}\" d=\"{}\"/>", style, d);
  }
  void rect(std::string_view style, double x, double y, double width, double height) {
    body_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", style, coordinate(x),
                         coordinate(y), coordinate(width), coordinate(height));
  }
  // `html` is already escaped; it starts, ends or is centered at x.
  void text(double x, double y, std::string_view anchor, std::string_view html, std::string_view style = "label") {
    body_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>", style, coordinate(x),
                         coordinate(y), anchor, html);
  }
  void slanted(double x, double y, std::string_view html) { turned(x, y, -50, "end", html); }
  void rising(double x, double y, std::string_view html) { turned(x + 3, y, -60, "start", html); }
  void upwards(double x, double y, std::string_view html) { turned(x, y, -90, "middle", html); }
  std::string str() const { return head_ + ">" + body_ + "</svg>"; }

 private:
  void turned(double x, double y, int angle, std::string_view anchor, std::string_view html) {
    body_ += fmt::format("<text class=\"small\" transform=\"translate({} {}) rotate({})\" text-anchor=\"{}\">{}</text>",
                         coordinate(x), coordinate(y), angle, anchor, html);
  }
  std::string head_, body_;
};

}  // namespace tessera::report
