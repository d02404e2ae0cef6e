// Rows that training does not see, and what a method can be measured on them by: for --patience and --keep best.
#pragma once
#include <memory>

#include "models/method/method.h"

namespace tessera {

// Takes a twentieth of the rows (at least 20, at most 5,000) at random out of a table. Error(usage) where so few are
// left that nothing could be said.
EncodedTable hold_out(EncodedTable& table, const RowLayout& layout, uint64_t seed);
// Likewise of sequences (at most 500): whole blocks that share no row with others, or the last windows of one long
// series, where training also loses the windows that reach into them.
EncodedSequences hold_out(EncodedSequences& sequences, const SequenceEncoder& encoder, uint64_t seed);

// For methods that only make rows: how far rows that the weights make lie from the held-out ones, as the mean of two
// total variation distances, over columns and over pairs of columns, in cells of the encoding (a level, or a quarter of
// a mode). The rows made are the same every time but for the weights.
std::unique_ptr<HeldOut> sampled_distance(const RowMethod& method, const RowLayout& layout, const EncodedTable& rows,
                                          const RunContext& context);

}  // namespace tessera
