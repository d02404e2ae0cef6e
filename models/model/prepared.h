// A method with its training data, from which plans and estimates are computed. Trains nothing.
#pragma once
#include <memory>

#include "models/model/model_state.h"

namespace tessera {

struct Prepared {
  Model::State state;
  EncodedTable rows;  // one of the two
  EncodedSequences sequences;
  std::unique_ptr<RowMethod> row_method;
  std::unique_ptr<SequenceMethod> sequence_method;
  std::unique_ptr<RowMethod> attribute_method;  // trained separately, before the steps of sequences; may be null

  const Method& method() const {
    return row_method ? static_cast<const Method&>(*row_method) : static_cast<const Method&>(*sequence_method);
  }
};

// Error(data) if there is nothing to train.
std::unique_ptr<Prepared> prepare(Table&& table, const FitOptions& options, Team& team, const Monitor& monitor);

}  // namespace tessera
