// TimeGAN as a SequenceMethod: three phases over the same five networks.
#include "models/timegan/method.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "models/layers/initial_weights.h"
#include "models/layers/weights.h"
#include "models/timegan/drawer.h"
#include "models/timegan/network.h"
#include "models/timegan/validation.h"
#include "models/tvae/options.h"
#include "tables/sequence/sequences.h"

namespace tessera {
namespace {

constexpr int64_t kRowEvery = 100;  // iterations per row of losses
// cost of an iteration, in joint iterations (measured: 6.1, 3.1 and 54 ms on one thread)
constexpr double kEmbeddingCost = 0.11, kSupervisedCost = 0.06;
constexpr int kAttributeDimensions = 16;  // latent, of the attributes' TVAE

class TimeganMethod : public SequenceMethod {
 public:
  TimeganMethod(const SequenceEncoder& encoder, const TimeganConfig& config)
      : encoder_(encoder),
        network_(encoder.step_width(), encoder.attribute_width(), encoder.longest(), config,
                 encoder.options().key.empty()) {}

  const MethodSpec& spec() const override { return kTimegan; }
  std::vector<Phase> phases() const override {
    const TimeganConfig& c = network_.config;
    // columns of the ring
    constexpr size_t kDiscriminator = 0, kGenerator = 1, kSupervised = 2, kMoments = 3, kReconstruction = 4;
    const auto phase = [&](const char* name, int steps, double cost, std::vector<size_t> losses) {
      return Phase{name, steps, c.batch, kRowEvery, false, 1, cost, std::move(losses)};
    };
    // in the order of TimeganPhase
    return {phase("embedding", c.embedding_iterations, kEmbeddingCost, {kReconstruction}),
            phase("supervised", c.supervised_iterations, kSupervisedCost, {kSupervised}),
            phase("joint", c.joint_iterations, 1, {kDiscriminator, kGenerator, kSupervised, kMoments})};
  }
  double learning_rate() const override { return network_.config.learning_rate; }

  void prepare(const EncodedSequences& sequences, Team&) override {
    sequences_ = &sequences;
    leaves_ = std::make_unique<SequenceLeaves>(encoder_, sequences);
  }
  States start(uint64_t seed) const override {
    States s;
    for (uint32_t stream = 0; const SequenceNetwork* n : network_.all)
      s[n->weights.name] = initial_weights(n->weights, seed, stream++);
    return s;
  }
  void enter(size_t phase, States& states) const override {
    if (static_cast<TimeganPhase>(phase) != TimeganPhase::joint || network_.config.average_decay == 0) return;
    for (const SequenceNetwork* n : sampled()) states["average." + n->weights.name] = states.at(n->weights.name);
  }
  void record_training(Recorder& r, size_t phase, int64_t steps) const override {
    r.start_purposes(purpose_of(static_cast<TimeganPhase>(phase)));
    tessera::record_training(r, network_, static_cast<TimeganPhase>(phase), sequences_->steps.rows, sequences_->size(),
                             steps);
  }
  void bind(Program& p) const override { leaves_->bind(p); }

  FittedState keep(States end, const RunContext&) const override {
    FittedState kept;
    for (const SequenceNetwork* n : sampled()) {
      const auto average = end.find("average." + n->weights.name);
      kept.states[n->weights.name] = std::move(average != end.end() ? average->second : end.at(n->weights.name));
    }
    return kept;
  }
  std::unique_ptr<HeldOut> held_out(const EncodedSequences& sequences, const RunContext& context) const override {
    return timegan_validation(network_, encoder_, sequences, context);
  }

  std::unique_ptr<StepDrawer> drawer(const FittedState& kept, const Target& target, int64_t batch) const override {
    return timegan_drawer(network_, encoder_, kept, target, batch);
  }

  // Attributes are few and their tables are short: a small TVAE with a fitted prior, trained for a number of steps that
  // does not depend on the table and is small compared with the iterations of the sequences.
  MethodConfig attribute_config(int64_t sequences) const override {
    const int64_t steps = std::clamp<int64_t>(2 * network_.config.iterations(), 200, 4000);
    auto config = std::make_unique<TvaeConfig>();
    TvaeConfig& c = *config;
    c.batch = static_cast<int>(std::clamp<int64_t>(sequences, 2, 500));
    c.embedding_dim = kAttributeDimensions;
    c.encoder_dim = c.decoder_dim = {64, 64};
    c.average_decay = 0.999;
    c.decay_from = 0.5;
    c.prior_components = 10;
    const int64_t epochs = std::max<int64_t>(steps / std::max<int64_t>(sequences / c.batch, 1), 1);
    c.epochs = network_.config.trains() ? static_cast<int>(epochs) : 0;
    return {kTvae, std::move(config)};
  }

  void visit_tensors(const FittedState&, const std::function<void(const TensorSpec&)>& visit) const override {
    for (const SequenceNetwork* n : sampled())
      visit_weights(n->weights, [&](const std::string& name, const std::vector<int64_t>& shape, const auto& element) {
        visit({name, shape, n->weights.name, n->weights.size, element});
      });
  }
  int64_t parameters() const override {
    int64_t count = 0;
    for (const SequenceNetwork* n : sampled()) count += n->weights.size;
    return count;
  }
  std::vector<std::string> networks() const override { return {"generator", "supervisor", "recovery"}; }

 private:
  std::array<const SequenceNetwork*, 3> sampled() const {
    return {&network_.generator, &network_.supervisor, &network_.recovery};
  }

  const SequenceEncoder& encoder_;
  Timegan network_;
  const EncodedSequences* sequences_ = nullptr;
  std::unique_ptr<SequenceLeaves> leaves_;
};

}  // namespace

std::unique_ptr<SequenceMethod> make_timegan(const SequenceEncoder& encoder, const MethodConfig& config) {
  return std::make_unique<TimeganMethod>(encoder, config.as<TimeganConfig>());
}

}  // namespace tessera
