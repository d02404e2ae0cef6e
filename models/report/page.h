// The page that shows an evaluation, several beside each other, or a training: one HTML file, a function of JSON alone
// (docs/quality/metrics.md#the-page).
#pragma once
#include <string>
#include <string_view>

namespace tessera {

// Throws Error(format) where the text is not what evaluate() or evaluate_sequences() gave, nor {"tables": [{name,
// report}]} of several of them, nor {"model", "training"} of a fit.
std::string report_html(std::string_view json);

}  // namespace tessera
