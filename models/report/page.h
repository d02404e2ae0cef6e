// The HTML page of an evaluation, of several evaluations, or of a training, as a function of JSON alone
// (docs/quality/metrics.md#the-page).
#pragma once
#include <string>
#include <string_view>

namespace tessera {

// Throws Error(format) if the text is not the JSON of evaluate() or evaluate_sequences(), {"tables": [{name, report}]}
// of several of them, or {"model", "training"} of a fit.
std::string report_html(std::string_view json);

}  // namespace tessera
