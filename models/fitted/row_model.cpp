#include "models/fitted/row_model.h"

#include <nlohmann/json.hpp>

#include "base/text/json_fields.h"
#include "models/fitted/tensors.h"

namespace tessera {

void RowModel::write(nlohmann::json& document, SafeTensors& file) const {
  document["encoder"] = encoder.to_json();
  if (learned()) {
    method()->visit_tensors(kept, [&](const TensorSpec& s) { write_tensor(file, s, kept.states); });
    if (!kept.condition_rows.empty())
      file.tensors["conditions.rows"] =
          SafeTensor::of<int64_t>({static_cast<int64_t>(kept.condition_rows.size())}, kept.condition_rows);
    write_prior(document, kept);
  }
  calibration.write(document, file);
}

// The sizes of tensors follow from the document alone: nothing is allocated beyond the file's own tensors.
void RowModel::read(const nlohmann::json& document, const SafeTensors& file) {
  encoder = Encoder::from_json(Fields(document, "its document").at("encoder"));
  if (learned()) {
    const std::unique_ptr<RowMethod> own = method();
    read_prior(document, own.get(), kept);
    const CheckedTensors tensors{file};
    own->visit_tensors(kept, [&](const TensorSpec& s) { tensors.get(s.name, s.shape); });
    own->visit_tensors(kept, [&](const TensorSpec& s) { tensors.read(s, kept.states); });
    if (const int64_t conditions = own->conditions(); conditions > 0)
      kept.condition_rows = tensors.get("conditions.rows", {conditions}).values<int64_t>();
    own->check_fitted(kept);
  }
  calibration = Calibration::read(document, file, encoder);
}

void RowModel::describe(nlohmann::json& out) const {
  const std::unique_ptr<RowMethod> own = method();
  out["of"] = "rows";
  out["data_width"] = encoder.layout().data_width;
  out["condition_width"] = own->conditions();
  out["encoder"] = encoder.to_json();
  describe_method(*own, learned(), out);
  if (calibration.empty()) return;
  out["calibration"] = calibration.describe();
  // the numbers of the real rows that it stores, column by column
  nlohmann::json& held = out["calibration"]["numbers"] = nlohmann::json::array();
  const Table schema = encoder.schema();
  for (const ColumnProfile& p : calibration.profile.columns)
    if (p.numeric)
      held.push_back({{"column", schema.columns[static_cast<size_t>(p.column)].name},
                      {"points", p.real.points().size()},
                      {"every_value", p.real.exact()}});
}

}  // namespace tessera
