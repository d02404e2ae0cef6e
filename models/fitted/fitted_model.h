// What fit learns of a table: a model of rows (row_model.h) or of sequences (sequence_model.h). The model file,
// descriptions and schemas treat both alike.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "models/method/config.h"
#include "models/rules/rules.h"

namespace tessera {

struct SafeTensors;  // engine/storage/safetensors.h

struct FittedModel {
  MethodConfig config;
  Rules rules;  // by which encoded rows become rows of the table

  virtual ~FittedModel() = default;

  virtual Table encoded_schema() const = 0;  // the columns that are learnt, without rows
  Table schema() const;                      // those of the table: names, types and values

  // Its part of the model file: "encoder", "prior", "calibration" of the document, and the tensors.
  virtual void write(nlohmann::json& document, SafeTensors& file) const = 0;
  // Of an empty model with `config`. Throws Error(format) naming what is wrong.
  virtual void read(const nlohmann::json& document, const SafeTensors& file) = 0;

  // For `inspect`: encoder, sizes, networks and losses.
  virtual void describe(nlohmann::json& out) const = 0;
};

}  // namespace tessera
