// The training run of a model of sequences: attributes first, then TimeGAN's three phases, each a plan of its own over the same weights.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "engine/passes.h"
#include "engine/program.h"
#include "models/model_state.h"
#include "models/recording.h"
#include "models/sequence_model.h"
#include "models/weights.h"

namespace tessera {
namespace {

constexpr int kPhasePurpose = 0x1000;  // random numbers of each phase apart from the others'
constexpr int64_t kRowEvery = 100;     // iterations a line of --log stands for

struct PhaseOf {
  TimeganPhase phase;
  const char* name;
  int iterations;
};

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Attributes are few and tables of them short: a small TVAE with the prior fitted, for a number of steps that does not depend on the table.
TvaeConfig attribute_config(int64_t sequences) {
  constexpr int64_t kSteps = 4000;
  TvaeConfig c;
  c.batch = static_cast<int>(std::clamp<int64_t>(sequences, 2, 500));
  c.embedding_dim = 16;
  c.encoder_dim = c.decoder_dim = {64, 64};
  c.average_decay = 0.999;
  c.decay_from = 0.5;
  c.prior_components = 10;
  c.epochs = static_cast<int>(std::max<int64_t>(kSteps / std::max<int64_t>(sequences / c.batch, 1), 1));
  return c;
}

// What the plans read of the encoded sequences.
struct Feeds {
  std::vector<float> features, attributes;
  std::vector<int32_t> own_row, own_step;
  int64_t rows = 0;

  Feeds(const SequenceEncoder& encoder, const EncodedSequences& s) : rows(s.steps.rows) {
    features.resize(static_cast<size_t>(rows * encoder.step_width()));
    to_features(encoder.steps(), s.steps.alphas.data(), s.steps.codes.data(), rows, features.data());
    attributes.resize(static_cast<size_t>(s.size() * encoder.attribute_width()));
    if (encoder.attribute_width() > 0) to_features(encoder.attributes(), s.attributes.alphas.data(), s.attributes.codes.data(), s.size(), attributes.data());
    own_row.resize(static_cast<size_t>(s.size()));
    std::iota(own_row.begin(), own_row.end(), 0);
    own_step.assign(static_cast<size_t>(s.size()), 1);
  }
  void bind(Program& p, const EncodedSequences& s) const {
    bind_if(p, "features", features.data());
    bind_if(p, "first", s.first.data());
    bind_if(p, "length", s.length.data());
    bind_if(p, "attributes", attributes.data());
    bind_if(p, "own.row", own_row.data());
    bind_if(p, "own.step", own_step.data());
  }
};

void describe(TimeganPhase phase, const std::vector<double>& m, LossRow& row) {
  if (phase == TimeganPhase::embedding) {
    row.reconstruction = m[0];
    row.note = fmt::format("reconstruction {:.4f}", m[0]);
  } else if (phase == TimeganPhase::supervised) {
    row.supervised = m[0];
    row.note = fmt::format("next step {:.4f}", m[0]);
  } else {
    row.critic = m[0], row.generator = m[1], row.supervised = m[2], row.moments = m[3], row.reconstruction = m[4];
    row.note = fmt::format("discriminator {:.2f}  generator {:.2f}  next step {:.4f}  moments {:.4f}", m[0], m[1], m[2], m[3]);
  }
}

}  // namespace

std::unique_ptr<Method> SequenceModel::attribute_method() const {
  return encoder.attribute_width() == 0 ? nullptr : make_tvae(encoder.attributes(), attribute_config(1));
}

void SequenceModel::visit_stored(const TimeganConfig& config, const std::function<void(const Stored&, bool of_attributes)>& visit) const {
  const Timegan m = timegan(config);
  for (const SequenceNetwork* n : {&m.generator, &m.supervisor, &m.recovery})
    visit_weights(n->weights, [&](const std::string& name, const std::vector<int64_t>& shape, const auto& element) { visit({name, shape, n->weights.name, n->weights.size, element}, false); });
  if (const auto method = attribute_method())
    method->visit_stored(attributes, [&](const Stored& s) {
      Stored named = s;
      named.name = "attributes." + s.name;
      visit(named, true);
    });
}

int64_t SequenceModel::parameters(const TimeganConfig& config) const {
  const Timegan m = timegan(config);
  return m.generator.weights.size + m.supervisor.weights.size + m.recovery.weights.size;
}

void record_joint_iteration(Plan& plan, const SequenceModel& model, const TimeganConfig& config, const EncodedSequences& sequences) {
  Recorder r(plan);
  record_training(r, model.timegan(config), TimeganPhase::joint, sequences.steps.rows, sequences.size(), 1);
}

std::unique_ptr<SequenceModel> fit_sequences(Table&& table, const TimeganConfig& config, const FitOptions& options, Team& team, const Monitor& monitor, nlohmann::json& provenance) {
  auto model = std::make_unique<SequenceModel>();
  Sequences cut_table = cut(std::move(table), options.sequences);
  model->encoder = SequenceEncoder::fit(cut_table, options.seed, team, monitor);
  const EncodedSequences sequences = model->encoder.encode(std::move(cut_table), team, monitor);
  provenance["sequences"] = sequences.size();
  const double start = seconds_now();
  const bool trained = config.embedding_iterations + config.supervised_iterations + config.joint_iterations > 0;

  if (model->encoder.attribute_width() > 0) {
    TvaeConfig attributes = attribute_config(sequences.size());
    if (!trained) attributes.epochs = 0;
    const auto method = make_tvae(model->encoder.attributes(), attributes);
    FitOptions own = options;
    own.on_losses = nullptr;
    own.device = nullptr;
    Monitor quiet;
    quiet.cancel = monitor.cancel;
    nlohmann::json unsaid;
    model->attributes = train(*method, sequences.attributes, own, team, quiet, unsaid).kept;
  }

  const Timegan m = model->timegan(config);
  const Feeds feeds(model->encoder, sequences);
  const std::set<std::string> off(options.passes_off.begin(), options.passes_off.end());
  States weights;
  uint32_t stream = 0;
  for (const SequenceNetwork* n : m.all) weights[n->weights.name] = initial_weights(*n, options.seed, stream++);
  const PhaseOf phases[] = {{TimeganPhase::embedding, "embedding", config.embedding_iterations},
                            {TimeganPhase::supervised, "supervised", config.supervised_iterations},
                            {TimeganPhase::joint, "joint", config.joint_iterations}};
  int64_t before = 0;
  const int64_t all = static_cast<int64_t>(config.embedding_iterations) + config.supervised_iterations + config.joint_iterations;
  for (const PhaseOf& phase : phases) {
    if (phase.iterations == 0) continue;
    Plan plan;
    Recorder r(plan);
    r.start_purposes(kPhasePurpose + 0x100 * static_cast<int>(phase.phase));
    record_training(r, m, phase.phase, feeds.rows, sequences.size(), phase.iterations);
    optimise(plan, off);
    Program p(std::move(plan), options.device ? *options.device : Device::processor(), team, options.seed, wanted(off, "liveness"));
    feeds.bind(p, sequences);
    load_states(p, weights);
    const bool averaged = phase.phase == TimeganPhase::joint && config.average_decay > 0;
    if (averaged)
      for (const SequenceNetwork* n : {&m.recovery, &m.generator, &m.supervisor}) p.put("average." + n->weights.name, weights.at(n->weights.name).data());
    run_training(p, phase.iterations, kRowEvery, config.learning_rate, [&](int64_t step) { return fmt::format("iteration {} of the {} phase", step, phase.name); },
                 [&](int64_t now, const std::vector<double>& means, bool at_row) {
                   LossRow row{};
                   row.step = before + now, row.epoch = static_cast<double>(row.step) / static_cast<double>(all), row.seconds = seconds_now() - start;
                   describe(phase.phase, means, row);
                   if (at_row && options.on_losses) options.on_losses(row);
                   monitor.report({phase.name, static_cast<double>(now), static_cast<double>(phase.iterations), "steps", row.note, now == phase.iterations});
                 });
    for (auto& [set, values] : weights)
      if (p.plan().find_leaf(set) != kNone) values = p.get<float>(set);
    if (averaged)
      for (const SequenceNetwork* n : {&m.recovery, &m.generator, &m.supervisor}) weights[n->weights.name] = p.get<float>("average." + n->weights.name);
    before += phase.iterations;
  }
  for (const SequenceNetwork* n : {&m.generator, &m.supervisor, &m.recovery}) model->networks[n->weights.name] = std::move(weights[n->weights.name]);
  provenance["steps"] = all;
  provenance["train_seconds"] = seconds_now() - start;
  return model;
}

}  // namespace tessera
