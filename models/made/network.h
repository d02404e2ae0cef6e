// A masked autoregressive network over a table's columns (MADE: Germain, Gregor, Murray, Larochelle 2015, arXiv
// 1502.03509; residual blocks: Durkan, Nash 2019, arXiv 1904.05626; embeddings and shared low-rank outputs for tables:
// Yang et al. 2019, arXiv 1905.04278) as plans: training step, negative log-likelihood of rows ("surprise"), sampling.
//   Each column is one choice. p(row) = Π p(column j | columns before j), all factors from one network: a hidden unit
//   of degree d receives columns 0 … d; the context of column j receives units of degrees below j.
// Optionally, a second network of any order (Uria, Murray, Larochelle 2014, arXiv 1310.1757; Hoogeboom et al. 2022,
// arXiv 2110.02037): p(column | any others), in which every context receives every unit, and hidden columns are omitted
// from the input. It proposes rows of which any columns may be known (models/made/sampling.h).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "engine/plan/blocks.h"
#include "engine/plan/recorder.h"
#include "models/made/options.h"
#include "models/method/private_rows.h"
#include "tables/encoding/encoder.h"

namespace tessera {

enum class Sees { columns_before, shown_columns };

// Weights are [in, out]: y = x·W + b, with only the weights that the mask allows. Units and columns are sorted by
// degree, so that these weights form blocks (engine/plan/blocks.h). An any-order network (Sees::shown_columns) has all
// weights.
struct Made {
  struct Layer {
    std::string name;
    std::shared_ptr<const Blocks> blocks;
  };

  // The first `given` columns are always known: nothing is learned of them.
  Made(const RowLayout& layout, const MadeConfig& config, Sees sees = Sees::columns_before, int given = 0);

  MadeConfig config;
  Sees sees;
  int given;
  std::vector<Span> columns;                  // one choice each
  std::shared_ptr<const Spans> spans, drawn;  // of all columns, and of those that are drawn
  int64_t levels = 0;                         // of all columns together
  int64_t given_levels = 0;                   // of the given columns: they are numbered first
  int64_t drawn_levels() const { return levels - given_levels; }
  std::vector<int> units;               // number of units that feed column j's context; ascends from 0
  Layer input, context, skip, head;     // skip: from the columns directly to the contexts
  std::vector<Layer> expand, contract;  // of each residual block: contract(silu(expand(silu(h))))
  ParameterSet network;
  // Of few rows, by column: 1, or 0 for one that others do not see; 1, or 0 for one that is drawn by its frequencies.
  // Empty: all are 1.
  std::vector<float> seen, learned;
  bool is_seen(size_t column) const { return seen.empty() || seen[column] != 0; }
  bool is_learned(size_t column) const { return learned.empty() || learned[column] != 0; }

  int count() const { return static_cast<int>(columns.size()); }
  int drawn_count() const { return count() - given; }
  bool skips() const { return int64_t{count()} * drawn_count() <= int64_t{config.skip_columns} * config.skip_columns; }

 private:
  void lay_out_masks();
  void add(const Layer& layer, bool bias);
};

void own(Recorder& r, const Made& m);

// The embeddings of the levels in `index` [batch, columns] (numbered over all columns, −1: none), concatenated [batch,
// columns·embedding_dim] and multiplied by `shown` [batch, columns] if given.
Var embed(Recorder& r, const Made& m, Var index, Var shown);

// Negative log-likelihood of a row in nats, column by column: −log p(column j | columns before) [batch, drawn columns].
// `index` [batch, columns]: the level of each column, numbered over all columns. `dropout`: as in training.
Var surprises(Recorder& r, const Made& m, Var index, bool dropout);
// For an any-order network: −log p(column j | columns shown), for the hidden columns. `shown` [batch, columns]: 1 or
// 0.
Var surprises_beside(Recorder& r, const Made& m, Var index, Var shown, bool dropout);

// One iteration on a batch of table rows: loss, update, average, loss into the ring "losses" [kLossSlots, 1]. `steps`
// are the phase's. Bound leaves: "codes", "alphas" (the encoded table).
//   In any order: a share ρ of each row's columns, uniform in [0, 1 − 1/columns], is shown, and the loss is the sum of
// the hidden columns' terms / (1 − ρ): in expectation the negative log-likelihood of a row in a random column order.
void record_training(Recorder& r, const Made& m, int64_t table_rows, int64_t steps);
// The same as DP-SGD. Without dropout: noise regularizes.
void record_training(Recorder& r, const Made& m, const PrivateRows& rows, int64_t steps);

// The negative log-likelihood of the rows bound to "row" [batch, 1]: output "surprise" [batch, 1], in nats.
void record_surprise(Recorder& r, const Made& m, int64_t table_rows, int64_t batch);

// The initial network: each column predicts its levels' frequencies; levels that are numbers start as smooth functions
// of their rank. With a copula (models/made/copula.h) it predicts that one's law, and nothing else.
struct Copula;
std::vector<float> initial_network(const Made& m, const std::vector<double>& frequencies, uint64_t seed,
                                   const Copula* copula = nullptr);

}  // namespace tessera
