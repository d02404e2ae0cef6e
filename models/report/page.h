// The HTML page of an evaluation, of several evaluations, of a training, or of a prior, as a function of JSON alone
// (docs/quality/metrics.md#the-page).
#pragma once
#include <string>
#include <string_view>

namespace tessera {

// Throws Error(format) if the text is not the JSON of evaluate() or evaluate_sequences(), {"tables": [{name, report}]}
// of several of them, {"model", "training"} of a fit, or the JSON of describe_tables().
std::string report_html(std::string_view json);

}  // namespace tessera
