// The options of a sample, and the stream of its rows.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "models/sampling/calibration/tier.h"
#include "tables/table/table.h"

namespace tessera {

class Device;          // engine/device/device.h
class Team;            // base/threads/team.h
struct Monitor;        // base/monitor.h
struct RowModel;       // models/fitted/row_model.h
struct SequenceModel;  // models/fitted/sequence_model.h

constexpr int64_t kDefaultTries = 1 << 16;  // candidates that a row, or a sequence, may take under a condition

struct SampleOptions {
  uint64_t seed = 0;
  std::string where;               // "" or an expression, see tables/expression/where.h
  int batch = 0;                   // rows made at a time; 0: chosen. Never changes a row
  std::shared_ptr<Device> device;  // where rows are made; null: the processor
  std::string precision = "fp32";  // of the generator's products; engine/run/precision.h
  // candidates a row may take under `where` before Error(condition); 0: kDefaultTries, fewer where none of the first
  // million of a block of rows meets it
  int max_tries = 0;
  std::optional<Tier> calibrate;  // none: the tier that served best when the model was calibrated
  double min_yield = kMinYield;   // share of candidates that calibration must keep; it gives up exactness for it
};

struct SampleReport {
  int64_t rows = 0, candidates = 0;
  int64_t settled = 0;    // rows for which the likeliest of kMaxTries candidates was taken
  Tier tier = Tier::off;  // the calibration they went through
};

// Rows [offset, offset + count) of the infinite table that (model, seed, where) defines, batch after batch.
class RowStream {
 public:
  virtual ~RowStream() = default;
  // false: no more rows. Throws Error(condition) with the rows found and the rarest term, Error(cancelled)
  virtual bool next(Table& batch) = 0;
  virtual SampleReport report() const = 0;
};

// Rows [offset, offset + count).
std::unique_ptr<RowStream> open_rows(std::shared_ptr<const RowModel> model, int64_t offset, int64_t count,
                                     const SampleOptions& options, Team& team, const Monitor& monitor);

// Sequences [offset, offset + count) as rows in long format.
std::unique_ptr<RowStream> open_sequences(std::shared_ptr<const SequenceModel> model, int64_t offset, int64_t count,
                                          const SampleOptions& options, Team& team, const Monitor& monitor);

}  // namespace tessera
