// Held-out rows, and the measure that a method computes on them: for the options patience and keep.
#pragma once
#include <memory>

#include "models/method/method.h"

namespace tessera {

bool can_hold_out(const EncodedTable& table);  // whether there are enough rows
// Takes a twentieth of the rows (at most 5,000) at random out of a table; of a short one a fifth, but no more than 500.
// Throws Error(usage) if too few rows are left.
EncodedTable hold_out(EncodedTable& table, const RowLayout& layout, uint64_t seed);
// The same for sequences (at most 500): whole blocks that share no row with others, or the last windows of one long
// series; then training also loses the windows that overlap them.
// `scattered`: of few sequences as many as of few rows; of a long series a thirtieth of its windows, in runs from all
// over it, without the windows that overlap them; of a short one single windows, which share rows with others.
EncodedSequences hold_out(EncodedSequences& sequences, const SequenceEncoder& encoder, uint64_t seed,
                          bool scattered = false);
bool can_hold_out(const EncodedSequences& sequences);

// A measure that also reports how well the losses of training rows can be distinguished from those of held-out rows.
class MeasuresExposure : public HeldOut {
 public:
  // After a measure, as an area under the ROC curve (.5: not at all); 0: unknown.
  virtual double exposure() const = 0;
  virtual double max_exposure() const = 0;  // training ends beyond it: the bound of docs/quality/privacy.md
};

// `count` of the table's rows at random: evenly spaced ones of sequences may all be first steps.
EncodedTable some_rows(const EncodedTable& table, int64_t count, const RowLayout& layout);

// For methods with a loss per row: its mean. The plan of `record` has an output [batch, 1] and the bound leaf "row"
// [batch, 1], the table rows to evaluate; its random draws are the same every time.
struct RowLoss {
  std::string output;
  std::string prefix;             // of the weights' leaves in Method::start(): "average." or empty
  std::vector<std::string> sets;  // that the plan has
  double min_gain;                // HeldOut::min_gain()
  double max_exposure = 1;
  // Training rows, whose losses are compared with those of the held-out ones; none: the exposure is unknown.
  EncodedTable training{};
  States start{};  // the weights of start()
};
using RecordRowLoss = std::function<void(Recorder& r, int64_t table_rows, int64_t batch)>;
std::unique_ptr<HeldOut> recorded_loss(const EncodedTable& rows, RowLoss loss, const RecordRowLoss& record,
                                       const RunContext& context);

// For methods that only generate rows: the distance of generated rows from the held-out ones, as the mean of two total
// variation distances, over columns and over pairs of columns, in cells of the encoding (a level, or a quarter of a
// mode). The random numbers of generated rows are the same every time.
std::unique_ptr<HeldOut> sampled_distance(const RowMethod& method, const RowLayout& layout, const EncodedTable& rows,
                                          const RunContext& context);

}  // namespace tessera
