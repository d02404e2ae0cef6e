#include "timing/rehearsed_model.h"

tessera::Model rehearsed_model(Session& session, const std::string& data, const CsvArguments& csv,
                               const FitArguments& fit) {
  tessera_fit_options options = fit.options();
  options.source = data.c_str();
  // Rows of an untrained model may break every rule; the search for valid rows would dominate the measurement.
  options.rules = "off", options.rule = nullptr;
  const bool sequences = options.sequences != nullptr;
  // Appended last, because the last of equal names counts.
  const std::string settings =
      fit.settings +
      (sequences ? "iterations=0;embedding-iterations=0;supervised-iterations=0;joint-iterations=0" : "epochs=0");
  options.settings = settings.c_str();
  return tessera::Model::fit(session.context(), tessera::read_table(session.context(), {data}, csv.options()), options);
}
