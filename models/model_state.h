// The parts of a fitted model. Internal to the source files of Model.
#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "models/model.h"
#include "models/sampling/row_model.h"
#include "models/sampling/sequence_model.h"
#include "models/training/checkpoint.h"

namespace tessera {

// A model of sequences has `sequences`; then encoder, kept and calibration, which are of rows, are empty.
struct Model::State : RowModel {
  std::string preset;
  std::unique_ptr<SequenceModel> sequences;
  nlohmann::json provenance;
};

// What a model keeps of its columns goes into the header of its file. Before training: Error(data) naming the column
// that takes most of it, where there is no room for all.
void check_room_in_file(const nlohmann::json& encoder);

}  // namespace tessera
