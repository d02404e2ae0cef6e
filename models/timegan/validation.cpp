#include "models/timegan/validation.h"

#include <algorithm>
#include <numeric>

#include "engine/run/compile.h"

namespace tessera {
namespace {

constexpr int64_t kMaxBatch = 128;
constexpr double kMinError = 1e-3;  // in units of a column's range

// Output "error" [1, 1] for the sequences bound to "sequence" [batch, 1].
void record_errors(Recorder& r, const Timegan& m, int64_t rows, int64_t sequences, int64_t batch) {
  for (const SequenceNetwork* n : {&m.embedder, &m.recovery, &m.generator, &m.supervisor}) r.own(n->weights);
  const Var sequence = r.input("sequence", {batch, 1}, DType::index);
  const auto gather = [&](int64_t steps, const char* values, int64_t of, int64_t width, const char* first,
                          const char* length) {
    return r.emit(GatherSequences{steps}, {r.input(values, {of, width}), r.input(first, {sequences, 1}, DType::index),
                                           r.input(length, {sequences, 1}, DType::index), sequence});
  };
  const auto held = gather(m.steps, "features", rows, m.features, "first", "length");
  SequenceBatch b{held[0], held[1], held[2], {}};
  if (m.attributes > 0) b.attributes = gather(1, "attributes", sequences, m.attributes, "own.row", "own.step")[0];

  const Var hidden = m.embedder(b.x, b);
  const EmbeddingLoss recovered = embedding_loss(r, m, b, m.recovery(hidden, b));
  const Var missed = supervised_loss(r, m, b, hidden, m.supervisor(hidden, b));
  const Var z = r.uniform("Z", {batch, m.steps * m.noise});
  const Var start = m.config.random_start ? 2.0 * r.uniform("start", {batch, m.config.hidden}) + -1.0 : Var{};
  const Var h_hat = m.supervisor(m.generator(z, b, start), b);
  const MomentLoss moments = moment_loss(r, m, b, m.recovery(h_hat, b));
  r.output(sqrt(recovered.error + kRootEps) + sqrt(missed + kRootEps) + moments.sum, "error");
}

class TimeganValidation : public HeldOut {
 public:
  TimeganValidation(const Timegan& network, const SequenceEncoder& encoder, const EncodedSequences& sequences,
                    const RunContext& context)
      : network_(network),
        size_(sequences.size()),
        sequence_(static_cast<size_t>(std::min(size_, kMaxBatch))),
        leaves_(encoder, sequences) {
    program_ = compile(context.target(), Purpose::held_out, [&](Recorder& r) {
      record_errors(r, network, sequences.steps.rows, size_, static_cast<int64_t>(sequence_.size()));
    });
    leaves_.bind(*program_);
    program_->bind_if("sequence", sequence_.data());
    error_ = program_->find("error");
  }

  double min_gain() const override { return kMinError; }
  int64_t size() const override { return size_; }
  double measure(const States& weights) override {
    States used;
    for (const SequenceNetwork* n :
         {&network_.embedder, &network_.recovery, &network_.generator, &network_.supervisor}) {
      const auto average = weights.find("average." + n->weights.name);
      used[n->weights.name] = average != weights.end() ? average->second : weights.at(n->weights.name);
    }
    load_states(*program_, used);
    program_->step().step = 0;  // the same noise every time
    const auto batch = static_cast<int64_t>(sequence_.size());
    double sum = 0;
    int64_t batches = 0;
    for (int64_t first = 0; first < size_; first += batch, ++batches) {
      for (int64_t i = 0; i < batch; ++i)  // the last batch is filled up from the front
        sequence_[static_cast<size_t>(i)] = static_cast<int32_t>((first + i) % size_);
      program_->refresh({"sequence"});
      program_->run(1);
      sum += static_cast<double>(program_->read<float>(error_).front());
    }
    return sum / static_cast<double>(batches);
  }

 private:
  const Timegan& network_;
  int64_t size_;
  std::vector<int32_t> sequence_;  // of a batch
  SequenceLeaves leaves_;
  std::unique_ptr<Program> program_;
  Id error_ = kNone;
};

}  // namespace

SequenceLeaves::SequenceLeaves(const SequenceEncoder& encoder, const EncodedSequences& s) : sequences_(s) {
  features_.resize(static_cast<size_t>(s.steps.rows * encoder.step_width()));
  to_features(encoder.steps(), s.steps.alphas.data(), s.steps.codes.data(), s.steps.rows, features_.data());
  attributes_.resize(static_cast<size_t>(s.size() * encoder.attribute_width()));
  if (encoder.attribute_width() > 0)
    to_features(encoder.attributes(), s.attributes.alphas.data(), s.attributes.codes.data(), s.size(),
                attributes_.data());
  own_row_.resize(static_cast<size_t>(s.size()));
  std::iota(own_row_.begin(), own_row_.end(), 0);
  own_step_.assign(static_cast<size_t>(s.size()), 1);
}

void SequenceLeaves::bind(Program& p) const {
  p.bind_if("features", features_.data());
  p.bind_if("first", sequences_.first.data());
  p.bind_if("length", sequences_.length.data());
  p.bind_if("attributes", attributes_.data());
  p.bind_if("own.row", own_row_.data());
  p.bind_if("own.step", own_step_.data());
}

std::unique_ptr<HeldOut> timegan_validation(const Timegan& network, const SequenceEncoder& encoder,
                                            const EncodedSequences& sequences, const RunContext& context) {
  return std::make_unique<TimeganValidation>(network, encoder, sequences, context);
}

}  // namespace tessera
