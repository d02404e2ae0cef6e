// A fitted model of rows.
#pragma once
#include <memory>

#include "models/fitted/fitted_model.h"
#include "models/method/method.h"
#include "models/sampling/calibration/calibration.h"
#include "tables/encoding/encoder.h"

namespace tessera {

struct RowModel : FittedModel {
  Encoder encoder;
  FittedState kept;
  Calibration calibration;  // empty: rows are not calibrated

  std::unique_ptr<RowMethod> method() const { return config.method().make_rows(encoder.layout(), config); }
  bool learned() const { return encoder.layout().data_width > 0; }  // false: constants and identifiers only

  Table encoded_schema() const override { return encoder.schema(); }
  void write(nlohmann::json& document, SafeTensors& file) const override;
  void read(const nlohmann::json& document, const SafeTensors& file) override;
  void describe(nlohmann::json& out) const override;
};

}  // namespace tessera
