// A masked autoregressive network over a table's columns (MADE: Germain, Gregor, Murray, Larochelle 2015, arXiv
// 1502.03509; residual blocks: Durkan, Nash 2019, arXiv 1904.05626; embeddings and shared low-rank outputs for tables:
// Yang et al. 2019, arXiv 1905.04278) as plans: training step, surprise of rows, sampling.
//   Each column is one choice. p(row) = Π p(column j | columns before j), all factors from one network: a hidden unit
//   of degree d sees columns 0 … d; the context of column j sees units of degrees below j.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "engine/plan/blocks.h"
#include "engine/plan/recorder.h"
#include "models/data/encoding/encoder.h"
#include "models/made/options.h"

namespace tessera {

// Weights are [in, out]: y = x·W + b, of which only those that a unit may see are there. Units and columns are in the
// order of their degrees, so that these are blocks (engine/blocks.h).
struct Made {
  struct Layer {
    std::string name;
    std::shared_ptr<const Blocks> blocks;
  };

  Made(const RowLayout& layout, const MadeConfig& config);

  MadeConfig config;
  std::vector<Span> columns;  // a choice each
  std::shared_ptr<const Spans> spans;
  int64_t levels = 0;                  // of all columns together
  std::vector<int> units;              // units of degrees below j: of column j's context; ascends from 0
  Layer input, context, skip, head;    // skip: from the columns straight to the contexts
  std::vector<Layer> rising, falling;  // of each residual block: falling(silu(rising(silu(h))))
  ParameterSet network;

  int count() const { return static_cast<int>(columns.size()); }
  bool skips() const { return count() <= config.skip_columns; }

 private:
  void lay_out_masks();
  void add(const Layer& layer, bool bias);
};

// Nats of a row, column by column: −log p(column j | columns before) [batch, columns]. `index` [batch, columns]: the
// level of each column among all levels. With dropout, as in training.
Var surprises(Recorder& r, const Made& m, Var index, bool dropout);

// One iteration on a batch of table rows: loss, update, average, loss into the ring "losses" [kLossSlots, 1]. `steps`
// are the whole run's. Bound leaves: "codes", "alphas" (the encoded table).
void record_training(Recorder& r, const Made& m, int64_t table_rows, int64_t steps);

// The surprise of the rows bound to "row" [batch, 1]: output "surprise" [batch, 1], in nats.
void record_surprise(Recorder& r, const Made& m, int64_t table_rows, int64_t batch);

// What is known of columns before they are drawn: of the same levels for all rows of a batch (1 row), or of each row's
// own (a batch of rows); 0 rows: nothing.
struct Known {
  int64_t rows = 0;
  std::vector<char> columns{};  // those that something is known of; empty: any
};

// Rows: outputs "codes", "alphas" (none). Bound: "rows" [batch, 3] (who each row is). A unit is final once the columns
// that it sees are drawn, so all columns together cost one pass.
// With something known, also bound "evidence" [known.rows, levels], ln of what is left of each level; and output
// "log_weight" [batch, 1]: Σ over those columns of ln P(what is left | columns before). Rows drawn so, weighed by it,
// have the law under the condition.
void record_sampling(Recorder& r, const Made& m, int64_t batch, const Known& known = {});

// Of rows drawn likewise, how many are expected to have each level: the sum of its probabilities, given the columns
// before; output "expected" [1, levels].
void record_expected_counts(Recorder& r, const Made& m, int64_t batch);

// What the network starts from: column by column its levels' frequencies; levels that are numbers lie smoothly by rank.
std::vector<float> initial_network(const Made& m, const std::vector<double>& frequencies, uint64_t seed);

}  // namespace tessera
