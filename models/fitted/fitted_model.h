// The result of fit: a model of rows (row_model.h) or of sequences (sequence_model.h), with one interface for the model
// file, descriptions and schemas.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "models/method/config.h"
#include "tables/rules/rules.h"

namespace tessera {

struct SafeTensors;  // base/storage/safetensors.h

struct FittedModel {
  MethodConfig config;
  Rules rules;  // that turn encoded rows into rows of the table

  virtual ~FittedModel() = default;

  virtual Table encoded_schema() const = 0;  // the columns that are learned, without rows
  Table schema() const;                      // those of the table: names, types and values

  // Its part of the model file: "encoder", "prior", "calibration" of the document, and the tensors.
  virtual void write(nlohmann::json& document, SafeTensors& file) const = 0;
  // Called on an empty model with `config`. Throws Error(format) naming the defect.
  virtual void read(const nlohmann::json& document, const SafeTensors& file) = 0;

  // For `inspect`: encoder, sizes, networks and losses.
  virtual void describe(nlohmann::json& out) const = 0;
};

}  // namespace tessera
