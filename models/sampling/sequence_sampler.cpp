// Sampled sequences: sequence i depends only on (model, seed, i). First its attributes (including its length), then its
// steps, batch after batch.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "engine/run/compile.h"
#include "models/sampling/attribute_sampler.h"
#include "models/sampling/identities.h"
#include "tables/identifiers/identifier.h"

namespace tessera {
namespace {

constexpr int64_t kMaxBatch = 512, kBatchSteps = 1 << 16;

class SequenceRows : public RowStream {
 public:
  SequenceRows(std::shared_ptr<const SequenceModel> model, int64_t offset, int64_t count, const SampleOptions& o,
               Team& team, const Monitor& monitor)
      : model_(std::move(model)),
        monitor_(monitor),
        seed_(o.seed),
        condition_(o.where.empty() ? 0 : fingerprint_of(o.where)),
        next_(offset),
        offset_(offset),
        end_(offset + count) {
    // At least two: with one row a bias and a batch have the same shape, and sums would be computed in another order.
    batch_ = std::clamp<int64_t>(o.batch > 0 ? o.batch : std::min(kMaxBatch, kBatchSteps / longest()), 2,
                                 std::max<int64_t>(count, 2));
    identity_.resize(static_cast<size_t>(3 * batch_));
    Device& device = o.device ? *o.device : Device::processor();
    attributes_ = std::make_unique<AttributeSampler>(model_, batch_, o, team, monitor);
    length_.resize(static_cast<size_t>(batch_));
    steps_ = compile({team, seed_, device, {}, o.precision}, Purpose::sample_steps,
                     [&](Recorder& r) { model_->method()->record_sampling(r, batch_); });
    load_states(*steps_, model_->steps.states);
    steps_->bind_if("rows", identity_.data());
    steps_->bind_if("length", length_.data());
    steps_->bind_if("attributes", attributes_->features());
  }

  bool next(Table& batch) override {
    if (next_ >= end_) return false;
    const int64_t n = std::min(end_ - next_, batch_);
    std::vector<int64_t> ids;
    std::vector<Candidate> sequences;
    for (int64_t i = next_; i < next_ + n; ++i) ids.push_back(i), sequences.push_back({i, 0});
    identify(sequences, identity_);

    const Table attributes = attributes_->draw(ids);
    const std::vector<int32_t> lengths = model_->encoder.lengths(attributes);
    for (int64_t i = 0; i < batch_; ++i)
      length_[static_cast<size_t>(i)] = static_cast<float>(lengths[static_cast<size_t>(std::min(i, n - 1))]);
    steps_->refresh({"rows", "length", "attributes"});
    steps_->run(1);
    const std::vector<float> x = steps_->read<float>(steps_->find("x"));

    const RowLayout& layout = model_->encoder.steps();
    std::vector<float> alphas(static_cast<size_t>(n * longest() * layout.alphas()));
    std::vector<int32_t> codes(static_cast<size_t>(n * longest() * layout.codes()));
    from_features(layout, x.data(), n * longest(), alphas.data(), codes.data());
    draw_modes(layout, x.data(), ids, codes.data());
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
  // Draws from the choice's units whether a number is missing or equals its column's atom. Their shares are right long
  // before the larger unit is right step by step.
  void draw_modes(const RowLayout& layout, const float* features, const std::vector<int64_t>& ids,
                  int32_t* codes) const {
    constexpr uint32_t kUse = 1;  // of Purpose::decode; 0: rare categories
    uint32_t code = 0;
    for (const Span& s : layout.spans) {
      if (s.part == Span::Part::alpha) continue;
      for (size_t row = 0; s.part == Span::Part::mode && row < ids.size() * static_cast<size_t>(longest()); ++row) {
        const auto step = static_cast<int64_t>(row) % longest();
        const int64_t id = ids[row / static_cast<size_t>(longest())] * longest() + step;
        const Philox p = random_words(seed_, Purpose::decode, code, static_cast<uint64_t>(id), kUse);
        const float* units = features + static_cast<int64_t>(row) * layout.data_width + s.start;
        float left = open_uniform(p.word[0]) * std::accumulate(units, units + s.width, 0.0f);
        int32_t& choice = codes[static_cast<int64_t>(row) * layout.codes() + code];
        for (choice = 0; choice + 1 < s.width && left >= units[choice]; ++choice) left -= units[choice];
      }
      ++code;
    }
  }

  int64_t longest() const { return model_->encoder.longest(); }

  std::shared_ptr<const SequenceModel> model_;
  const Monitor& monitor_;
  uint64_t seed_, condition_;
  int64_t next_, offset_, end_, batch_ = 0;
  std::unique_ptr<AttributeSampler> attributes_;
  std::unique_ptr<Program> steps_;
  std::vector<int32_t> identity_;
  std::vector<float> length_;
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
