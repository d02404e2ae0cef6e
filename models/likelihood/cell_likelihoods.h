// ln p(cell | cells of the columns before), exactly, for the cells of rows: the chain that Made learns.
#pragma once
#include <memory>
#include <vector>

#include "models/fitted/row_model.h"

namespace tessera {

class CellLikelihoods {
 public:
  // The model is one of Made that has learned columns, and outlives the result.
  CellLikelihoods(const RowModel& model, Team& team);
  ~CellLikelihoods();

  // Of the encoder, in the order in which they are drawn; without those whose values rules compute.
  const std::vector<int>& columns() const;
  // Row-major [rows, columns], in nats. Of a number that is a bin, the bin's.
  std::vector<double> of(const EncodedTable& rows);

 private:
  struct Chain;
  std::unique_ptr<Chain> chain_;
};

}  // namespace tessera
