// A fitted model of rows.
#pragma once
#include <memory>

#include "models/data/encoding/encoder.h"
#include "models/method/method.h"
#include "models/rules/rules.h"
#include "models/sampling/calibration/calibration.h"
#include "models/sampling/row_stream.h"

namespace tessera {

struct RowModel {
  Encoder encoder;
  MethodConfig config;
  FittedState kept;
  Calibration calibration;  // empty: rows come as the model makes them
  Rules rules;              // what the rows of `encoder` become rows of the table by

  std::unique_ptr<RowMethod> method() const { return config.method().make_rows(encoder.layout(), config); }
  Table schema() const;  // columns of the table with names, types and values, without rows
  bool learnt() const { return encoder.layout().data_width > 0; }  // false: constants and identifiers only
};

// Rows [offset, offset + count).
std::unique_ptr<RowStream> open_rows(std::shared_ptr<const RowModel> model, int64_t offset, int64_t count,
                                     const SampleOptions& options, Team& team, const Monitor& monitor);

}  // namespace tessera
