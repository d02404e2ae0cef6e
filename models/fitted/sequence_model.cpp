#include "models/fitted/sequence_model.h"

#include <nlohmann/json.hpp>

#include "base/text/json_fields.h"
#include "models/fitted/tensors.h"

namespace tessera {

std::unique_ptr<RowMethod> SequenceModel::attribute_method(int64_t sequences) const {
  if (encoder.attribute_width() == 0) return nullptr;
  const MethodConfig own = method()->attribute_config(sequences);
  return own.method().make_rows(encoder.attributes(), own);
}

void SequenceModel::visit_tensors(const std::function<void(const TensorSpec&, bool of_attributes)>& visit) const {
  method()->visit_tensors(steps, [&](const TensorSpec& s) { visit(s, false); });
  if (const auto rows = attribute_method())
    rows->visit_tensors(attributes, [&](const TensorSpec& s) {
      TensorSpec named = s;
      named.name = "attributes." + s.name;
      visit(named, true);
    });
}

void SequenceModel::write(nlohmann::json& document, SafeTensors& file) const {
  document["encoder"] = encoder.to_json();
  visit_tensors([&](const TensorSpec& s, bool of_attributes) {
    write_tensor(file, s, (of_attributes ? attributes : steps).states);
  });
  write_prior(document, attributes);
}

// The sizes of tensors follow from the document alone: nothing is allocated beyond the file's own tensors.
void SequenceModel::read(const nlohmann::json& document, const SafeTensors& file) {
  encoder = SequenceEncoder::from_json(Fields(document, "its document").at("encoder"));
  read_prior(document, attribute_method().get(), attributes);
  const CheckedTensors tensors{file};
  visit_tensors([&](const TensorSpec& s, bool) { tensors.get(s.name, s.shape); });
  visit_tensors(
      [&](const TensorSpec& s, bool of_attributes) { tensors.read(s, (of_attributes ? attributes : steps).states); });
}

void SequenceModel::describe(nlohmann::json& out) const {
  nlohmann::json json = encoder.to_json();
  json["columns"] = nlohmann::json::array();  // those of the steps, then those of the attributes
  for (const char* part : {"steps", "attributes"})
    for (const auto& column : json[part]["columns"]) json["columns"].push_back(column);
  out["of"] = "sequences";
  out["data_width"] = encoder.step_width();
  out["condition_width"] = encoder.attribute_width();
  out["encoder"] = std::move(json);
  describe_method(*method(), true, out);
}

}  // namespace tessera
