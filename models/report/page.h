// The page that shows an evaluation: one HTML file, a function of the evaluation's JSON alone (docs/report.md).
#pragma once
#include <string>
#include <string_view>

namespace tessera {

// Throws Error(format) where the text is not what evaluate() or evaluate_sequences() gave.
std::string report_html(std::string_view json);

}  // namespace tessera
