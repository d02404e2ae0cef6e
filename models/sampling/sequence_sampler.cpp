// Sampled sequences: sequence i depends only on (model, seed, i). First its attributes (including its length), then its
// steps, batch after batch.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "models/sampling/attribute_sampler.h"
#include "tables/identifiers/identifier.h"

namespace tessera {
namespace {

constexpr int64_t kMaxSequences = 512, kBatchSteps = 1 << 16;

class SequenceRows : public RowStream {
 public:
  SequenceRows(std::shared_ptr<const SequenceModel> model, int64_t offset, int64_t count, const SampleOptions& o,
               Team& team, const Monitor& monitor)
      : model_(std::move(model)),
        monitor_(monitor),
        device_(o.device),
        seed_(o.seed),
        condition_(o.where.empty() ? 0 : fingerprint_of(o.where)),
        next_(offset),
        offset_(offset),
        end_(offset + count) {
    // At least two: with one row a bias and a batch have the same shape, and sums would be computed in another order.
    batch_ =
        std::clamp<int64_t>(o.batch > 0 ? o.batch : std::min(kMaxSequences, kBatchSteps / model_->encoder.longest()), 2,
                            std::max<int64_t>(count, 2));
    Device& device = o.device ? *o.device : Device::processor();
    attributes_ = std::make_unique<AttributeSampler>(model_, batch_, o, team, monitor);
    method_ = model_->method();
    steps_ = method_->drawer(model_->steps, {team, seed_, device, {}, o.precision}, batch_);
  }

  bool next(Table& batch) override {
    if (next_ >= end_) return false;
    const int64_t n = std::min(end_ - next_, batch_);
    std::vector<int64_t> ids;
    for (int64_t i = next_; i < next_ + n; ++i) ids.push_back(i);

    const Table attributes = attributes_->draw(ids);
    const std::vector<int32_t> lengths = model_->encoder.lengths(attributes);
    const RowLayout& layout = model_->encoder.steps();
    const int64_t longest = model_->encoder.longest();
    std::vector<float> alphas(static_cast<size_t>(n * longest * layout.alphas()));
    std::vector<int32_t> codes(static_cast<size_t>(n * longest * layout.codes()));
    steps_->draw({ids, lengths, attributes_->features(), attributes_->codes(), attributes}, alphas.data(),
                 codes.data());
    batch = model_->encoder.decode(alphas.data(), codes.data(), attributes, ids.data(), n, seed_, condition_);
    model_->rules.restore(batch);
    next_ += n;
    report_.rows += batch.rows;
    report_.candidates = attributes_->candidates();
    monitor_.report({"sample", static_cast<double>(next_ - offset_), static_cast<double>(end_ - offset_), "sequences",
                     "", next_ == end_});
    return true;
  }

  SampleReport report() const override { return report_; }

 private:
  std::shared_ptr<const SequenceModel> model_;
  const Monitor& monitor_;
  std::shared_ptr<Device> device_;  // null: the processor
  uint64_t seed_, condition_;
  int64_t next_, offset_, end_, batch_ = 0;
  std::unique_ptr<AttributeSampler> attributes_;
  std::unique_ptr<SequenceMethod> method_;
  std::unique_ptr<StepDrawer> steps_;
  SampleReport report_;
};

}  // namespace

std::unique_ptr<RowStream> open_sequences(std::shared_ptr<const SequenceModel> model, int64_t offset, int64_t count,
                                          const SampleOptions& options, Team& team, const Monitor& monitor) {
  if (offset < 0 || count < 0 || offset > INT64_MAX - count)
    throw Error(ErrorCode::usage,
                fmt::format("sequences {} to {} + {}: offset and count must not be negative.", offset, offset, count));
  if (options.calibrate.value_or(Tier::off) != Tier::off)
    throw Error(ErrorCode::usage,
                fmt::format("`calibrate={}`: sequence models do not support calibration; omit the option.",
                            name(*options.calibrate)));
  return std::make_unique<SequenceRows>(std::move(model), offset, count, options, team, monitor);
}

}  // namespace tessera
