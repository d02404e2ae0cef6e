// The parts of a fitted model. Internal to the source files of Model.
#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "models/fitted/row_model.h"
#include "models/fitted/sequence_model.h"
#include "models/model.h"
#include "models/training/checkpoint.h"

namespace tessera {

struct Model::State {
  std::string preset;
  nlohmann::json provenance;
  std::shared_ptr<FittedModel> fitted;

  // null: of the other kind
  std::shared_ptr<RowModel> rows() const { return std::dynamic_pointer_cast<RowModel>(fitted); }
  std::shared_ptr<SequenceModel> sequences() const { return std::dynamic_pointer_cast<SequenceModel>(fitted); }
};

// What a model keeps of its columns goes into the header of its file. Before training: Error(data) naming the column
// that takes most of it, where there is no room for all.
void check_room_in_file(const nlohmann::json& encoder);

}  // namespace tessera
