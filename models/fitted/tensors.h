// Tensors of a model file, as methods specify them, and the description of a method; for both kinds of models.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/storage/safetensors.h"
#include "models/method/method.h"

namespace tessera {

void write_tensor(SafeTensors& file, const TensorSpec& spec, const States& states);

// A file's tensors, checked against its document. All throw Error(format) naming the tensor.
struct CheckedTensors {
  const SafeTensors& file;
  const SafeTensor& get(const std::string& name, const std::vector<int64_t>& shape) const;
  void read(const TensorSpec& spec, States& states) const;
};

// FittedState::active, in a document.
void write_prior(nlohmann::json& document, const FittedState& kept);
void read_prior(const nlohmann::json& document, const Method* method, FittedState& kept);

// The networks that sampling uses, and how many weights they have; the losses of their training.
void describe_method(const Method& method, bool learned, nlohmann::json& out);

}  // namespace tessera
