// Rows with given cells: row i of the result keeps the given cells of row i; the others are drawn from the model's
// conditional distribution. All candidates of a row have the given cells; one of them is drawn by weight (sampling
// importance resampling, Rubin 1987), so the distribution is exact in the limit of many effective candidates. Row i
// depends only on (model, seed, its given cells, i).
#pragma once
#include <memory>
#include <string>

#include "models/sampling/given/known_cells.h"
#include "models/sampling/row_stream.h"

namespace tessera {

struct GivenOptions {
  uint64_t seed = 0;
  int batch = 0;                     // candidates generated at a time; 0: automatic. Does not affect rows
  int most_candidates = 1024;        // per row
  bool completes = false;            // KnownCellsOptions::completes
  std::shared_ptr<Device> device{};  // null: the CPU
  std::string precision = "fp32";
  std::string where;                                // condition on every row, including its given cells; "": none
  std::function<std::string(int64_t row)> place{};  // the place of a row for messages; null: "row 3"
  int steps = 0;                                    // of sequences: drawn after the given ones; 0: to a drawn length
  int copies = 1;                                   // of sequences: continuations of each
  bool drawn_only = false;                          // of sequences: without the given rows
};

struct GivenReport {
  int64_t rows = 0, candidates = 0;
  double effective = 0;        // effective candidates (Σ w)² / Σ w², mean over resampled rows
  int64_t resampled = 0;       // rows whose candidates had different weights
  int64_t few = 0;             // those with fewer than kFewEffective effective candidates
  std::vector<int64_t> empty;  // by column of the table: cells that should be drawn but are missing in all candidates
  int64_t broken = 0;          // completed rows whose candidates all break a rule; the one that breaks fewest is used
  std::string first_broken{};  // the place of the first
  std::string broken_by{};     // for messages: the rules that all of its candidates break; "": none
  bool nearest = false;        // the method has no weights: the nearest candidate was used
  static constexpr double kFewEffective = 4;
};

class GivenStream {
 public:
  virtual ~GivenStream() = default;
  virtual const Table& schema() const = 0;
  // false: no more rows. Throws Error(condition) with the place of a row whose candidates all break a rule.
  virtual bool next(Table& batch) = 0;
  virtual GivenReport report() const = 0;
};

// For the contents of `given` see KnownCells. team and monitor must outlive the stream.
std::unique_ptr<GivenStream> open_given(std::shared_ptr<const RowModel> model, Table given, const GivenOptions& options,
                                        Team& team, const Monitor& monitor);

// Sequences that begin with the given rows: a key's, or of models without a key those of a value of the column of
// their numbers, or all. Their attributes and given cells are kept, whatever the model can draw; missing ones are drawn
// from what is known before them. Step t of continuation i depends only on (model, seed, its given rows, i, t).
std::unique_ptr<GivenStream> open_given_sequences(std::shared_ptr<const SequenceModel> model, Table given,
                                                  const GivenOptions& options, Team& team, const Monitor& monitor);

}  // namespace tessera
