// A fitted model of sequences: its method for the steps, and for what is decided once a sequence (statics, length,
// start) a method of rows.
#pragma once
#include <functional>
#include <memory>

#include "models/data/sequence/sequences.h"
#include "models/method/method.h"
#include "models/rules/rules.h"
#include "models/sampling/row_stream.h"

namespace tessera {

struct SequenceModel {
  SequenceEncoder encoder;
  MethodConfig config;
  FittedState steps;
  FittedState attributes;  // where they vary
  Rules rules;             // what the rows of `encoder` become rows of the table by

  Table schema() const;  // columns of the table with names, types and values, without rows

  std::unique_ptr<SequenceMethod> method() const { return config.method().make_sequences(encoder, config); }
  // Null: a sequence has no attributes to learn. `sequences`: number of sequences to learn from.
  std::unique_ptr<RowMethod> attribute_method(int64_t sequences = 1) const;

  // Every tensor the model file holds: of the steps, and of the attributes.
  void visit_tensors(const std::function<void(const TensorSpec&, bool of_attributes)>& visit) const;
};

// Sequences [offset, offset + count) as rows in long format.
std::unique_ptr<RowStream> open_sequences(std::shared_ptr<const SequenceModel> model, int64_t offset, int64_t count,
                                          const SampleOptions& options, Team& team, const Monitor& monitor);

}  // namespace tessera
