// Held-out rows, and the measure that a method computes on them: for --patience and --keep best.
#pragma once
#include <memory>

#include "models/method/method.h"

namespace tessera {

bool can_hold_out(const EncodedTable& table);  // whether there are rows enough for that
// Takes a twentieth of the rows (at least 20, at most 5,000) at random out of a table. Error(usage) where so few are
// left that nothing could be said.
EncodedTable hold_out(EncodedTable& table, const RowLayout& layout, uint64_t seed);
// Likewise of sequences (at most 500): whole blocks that share no row with others, or the last windows of one long
// series, where training also loses the windows that reach into them.
EncodedSequences hold_out(EncodedSequences& sequences, const SequenceEncoder& encoder, uint64_t seed);

// For methods with a loss of single rows: its mean. What `record` records has an output [batch, 1] and the bound leaf
// "row" [batch, 1], which rows of the table; the same draws every time.
struct RowLoss {
  std::string output;
  std::string prefix;             // of the weights' leaves among those of Method::start(): "average." or nothing
  std::vector<std::string> sets;  // that the plan has
  double least;                   // HeldOut::least()
};
using RecordRowLoss = std::function<void(Recorder& r, int64_t table_rows, int64_t batch)>;
std::unique_ptr<HeldOut> recorded_loss(const EncodedTable& rows, const RowLoss& loss, const RecordRowLoss& record,
                                       const RunContext& context);

// For methods that only make rows: how far rows that the weights make lie from the held-out ones, as the mean of two
// total variation distances, over columns and over pairs of columns, in cells of the encoding (a level, or a quarter of
// a mode). The rows made are the same every time but for the weights.
std::unique_ptr<HeldOut> sampled_distance(const RowMethod& method, const RowLayout& layout, const EncodedTable& rows,
                                          const RunContext& context);

}  // namespace tessera
