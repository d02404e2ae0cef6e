// A model of sequences: TimeGAN for the steps, and for what is decided once a sequence (statics, length, start) a small
// TVAE that comes first. The parts of Model that are other than a model of rows has them.
#pragma once
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>

#include "models/config.h"
#include "models/data/sequence/sequences.h"
#include "models/method.h"
#include "models/timegan/network.h"

namespace tessera {

struct FitOptions;
struct SampleOptions;
class RowStream;
class Checkpoints;

struct SequenceModel {
  static constexpr int kAttributeDimensions = 16;  // latent, of the attributes' TVAE
  SequenceEncoder encoder;
  States networks;         // of TimeGAN's sampling plan: generator, supervisor, recovery
  FittedState attributes;  // of their TVAE, where attributes vary

  Timegan timegan(const TimeganConfig& config) const {
    return {encoder.step_width(), encoder.attribute_width(), encoder.longest(), config};
  }
  std::unique_ptr<Method> attribute_method() const;  // null: there is nothing to learn of a sequence but its steps

  // Every tensor the model file holds: of the networks, and of the attributes' TVAE.
  void visit_tensors(const TimeganConfig& config,
                     const std::function<void(const TensorSpec&, bool of_attributes)>& visit) const;
  int64_t parameters(const TimeganConfig& config) const;
};

// The table cut into sequences, protected. `provenance` receives what is to be said of it.
Sequences cut_protected(Table&& table, const FitOptions& options, Team& team, const Monitor& monitor,
                        nlohmann::json& provenance);

// Cuts, encodes and trains, from where the checkpoints stand if the options say so. `provenance` receives what is to be
// said of it.
std::unique_ptr<SequenceModel> fit_sequences(Table&& table, const TimeganConfig& config, const FitOptions& options,
                                             Checkpoints& checkpoints, Team& team, const Monitor& monitor,
                                             nlohmann::json& provenance);

// Sequences [offset, offset + count) as rows in long format. `model` and `config` are kept.
std::unique_ptr<RowStream> open_sequences(std::shared_ptr<const SequenceModel> model, const TimeganConfig& config,
                                          int64_t offset, int64_t count, const SampleOptions& options, Team& team,
                                          const Monitor& monitor);

// One iteration of the joint phase as a plan, for describe_plan().
void record_joint_iteration(Plan& plan, const SequenceModel& model, const TimeganConfig& config,
                            const EncodedSequences& sequences);

}  // namespace tessera
