// What a fitted model is. Shared by the source files of Model only.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/calibration/calibration.h"
#include "models/encoding/conditions.h"
#include "models/ctgan.h"
#include "models/model.h"

namespace tessera {

struct Model::State {
  std::string preset;
  Encoder encoder;
  CtganConfig config;
  // Of each condition, by position, the rows that had it; sampling draws a discrete column uniformly and a value by these.
  std::vector<int64_t> condition_rows;
  std::vector<float> generator;     // flat, as Ctgan::generator lays it out
  std::vector<float> running;       // mean and variance of each batch norm, one after the other
  Calibration calibration;          // empty: rows come as the model makes them
  nlohmann::json provenance;

  Ctgan network() const { return Ctgan(encoder.layout(), config); }
  bool learnt() const { return encoder.layout().data_width > 0; }  // false: constants and identifiers only
};

// Where each running statistic lies in State::running and what its leaf is called.
struct RunningSlot {
  std::string leaf;
  int64_t offset, size;
};
std::vector<RunningSlot> running_slots(const Ctgan& m);

// Cumulative shares of the conditions of each column, and where columns begin: the leaves "cumulative" and "start".
struct ConditionDraw {
  std::vector<float> cumulative;
  std::vector<int32_t> start;
  int64_t columns() const { return static_cast<int64_t>(start.size()) - 1; }
};
ConditionDraw real_frequencies(const RowLayout& layout, const std::vector<int64_t>& condition_rows);

// The rows of a model that is not finished yet, too.
std::unique_ptr<RowStream> open_rows(std::shared_ptr<const Model::State> state, int64_t offset, int64_t count, const SampleOptions& options, Team& team, const Monitor& monitor);

// Trains; returns the floating-point operations it took. Fills generator, running and condition_rows of a state whose encoder and config are set. Adds to its provenance.
double train(Model::State& state, const EncodedTable& table, const FitOptions& options, Team& team, const Monitor& monitor);

}  // namespace tessera
