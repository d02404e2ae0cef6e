// A fitted model of sequences: its method for the steps, and a method of rows for the attributes of a sequence
// (statics, length, start).
#pragma once
#include <functional>
#include <memory>

#include "models/fitted/fitted_model.h"
#include "models/method/method.h"
#include "tables/sequence/sequences.h"

namespace tessera {

struct SequenceModel : FittedModel {
  SequenceEncoder encoder;
  FittedState steps;
  FittedState attributes;  // if any vary

  std::unique_ptr<SequenceMethod> method() const { return config.method().make_sequences(encoder, config); }
  // Null: a sequence has no attributes to learn. `sequences`: number of sequences to learn from.
  std::unique_ptr<RowMethod> attribute_method(int64_t sequences = 1) const;

  Table encoded_schema() const override { return encoder.schema(); }
  void write(nlohmann::json& document, SafeTensors& file) const override;
  void read(const nlohmann::json& document, const SafeTensors& file) override;
  void describe(nlohmann::json& out) const override;

 private:
  // Every tensor the model file holds: of the steps, and of the attributes.
  void visit_tensors(const std::function<void(const TensorSpec&, bool of_attributes)>& visit) const;
};

}  // namespace tessera
