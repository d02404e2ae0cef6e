// The parts of a fitted model. Internal to the source files of Model.
#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "models/fitted/row_model.h"
#include "models/fitted/sequence_model.h"
#include "models/model/model.h"
#include "models/training/checkpoint.h"

namespace tessera {

struct Model::State {
  std::string preset;
  nlohmann::json provenance;
  std::shared_ptr<FittedModel> fitted;

  // null: a model of the other kind
  std::shared_ptr<RowModel> rows() const { return std::dynamic_pointer_cast<RowModel>(fitted); }
  std::shared_ptr<SequenceModel> sequences() const { return std::dynamic_pointer_cast<SequenceModel>(fitted); }
};

// The description of a model's columns is stored in the header of its file. Checked before training: throws Error(data)
// naming the largest column if it does not fit.
void check_header_size(const nlohmann::json& encoder);

}  // namespace tessera
