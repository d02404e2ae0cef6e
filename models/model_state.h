// What a fitted model is. Shared by the source files of Model only.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/ctgan/network.h"
#include "models/method.h"
#include "models/model.h"
#include "models/sampling/calibration/calibration.h"
#include "models/timegan/sequence_model.h"
#include "models/training/checkpoint.h"

namespace tessera {

struct Model::State {
  std::string preset;
  Encoder encoder;
  MethodConfig config;
  FittedState kept;
  // TimeGAN: all it has; encoder, kept and calibration are for models of rows
  std::unique_ptr<SequenceModel> sequences;
  Calibration calibration;  // empty: rows come as the model makes them
  nlohmann::json provenance;

  std::unique_ptr<Method> method() const { return make_method(encoder.layout(), config); }
  // false: constants and identifiers only
  bool learnt() const { return sequences == nullptr && encoder.layout().data_width > 0; }
};

// What a model keeps of its columns goes into the header of its file. Before training: Error(data) naming the column
// that takes most of it, where there is no room for all.
void check_room_in_file(const nlohmann::json& encoder);

// The rows of a model that is not finished yet, too.
std::unique_ptr<RowStream> open_rows(std::shared_ptr<const Model::State> state, int64_t offset, int64_t count,
                                     const SampleOptions& options, Team& team, const Monitor& monitor);

struct Trained {
  double flops;    // floating-point operations it took
  Deadline until;  // of what follows
};

// Trains, from where the checkpoints stand if the options say so; fills `kept` of a state whose encoder and config are
// set. Adds to its provenance.
// What was trained is in a checkpoint when this returns, and when it throws.
Trained train(Model::State& state, EncodedTable&& table, const FitOptions& options, Checkpoints& checkpoints,
              Team& team, const Monitor& monitor);

// A method's training on a table of its own beside another model's: no checkpoints, no log.
FittedState train_aside(Method& method, const EncodedTable& table, const FitOptions& options, Team& team,
                        const Monitor& monitor);

// CTGAN's running statistics: the leaves of its states.
struct RunningSlot {
  std::string leaf;
  int64_t size;
};
std::vector<RunningSlot> running_slots(const Ctgan& m);

// Cumulative shares of the conditions of each column, and where columns begin: the leaves "cumulative" and "start".
struct ConditionDraw {
  std::vector<float> cumulative;
  std::vector<int32_t> start;
  int64_t columns() const { return static_cast<int64_t>(start.size()) - 1; }
};
ConditionDraw real_frequencies(const RowLayout& layout, const std::vector<int64_t>& condition_rows);

}  // namespace tessera
