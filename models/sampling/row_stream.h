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
class Monitor;         // base/monitor.h
struct RowModel;       // models/fitted/row_model.h
struct SequenceModel;  // models/fitted/sequence_model.h

constexpr int64_t kDefaultTries = 1 << 16;  // maximum candidates per row or sequence under a condition

struct SampleOptions {
  uint64_t seed = 0;
  std::string where;               // "" or an expression, see tables/expression/where.h
  int batch = 0;                   // rows generated at a time; 0: automatic. Does not affect rows
  std::shared_ptr<Device> device;  // null: the CPU
  std::string precision = "fp32";  // of the generator's matrix products; engine/run/precision.h
  // maximum candidates per row under `where` before Error(condition); 0: kDefaultTries, or fewer if none of the first
  // million for a block of rows satisfies it
  int max_tries = 0;
  std::optional<Tier> calibrate;  // none: the tier that measured best when the model was calibrated
  double min_yield = kMinYield;   // minimum share of candidates that calibration accepts, at the cost of exactness
};

struct SampleReport {
  int64_t rows = 0, candidates = 0;
  int64_t settled = 0;    // rows for which the most likely of kMaxTries candidates was used
  Tier tier = Tier::off;  // the calibration that was applied

  void add(const SampleReport& more) { rows += more.rows, candidates += more.candidates, settled += more.settled; }
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
