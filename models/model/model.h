// A fitted model: fit, save, load, sample. Only the C interface (models/api) calls it.
#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "models/sampling/row_stream.h"
#include "models/training/fit_options.h"

namespace tessera {

struct RowModel;  // models/fitted/row_model.h

void apply_preset(FitOptions& options);  // Error(usage) for an unknown preset or method

class Model {
 public:
  Model();
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  // Releases the table's memory while it encodes. Throws Error(data | usage | numeric | cancelled | memory).
  static Model fit(Table&& table, const FitOptions& options, Team& team, const Monitor& monitor);

  // The model at `path`, if fit() with this table and these options would give the same one: then the run is finished.
  // None if there is no file. Throws Error(data | usage) naming the difference if it is another model, unless `other`
  // allows that.
  static std::optional<Model> finished(const std::string& path, const Table& table, const FitOptions& options,
                                       bool other, Team& team, const Monitor& monitor);

  // The same model, recalibrated on the rows it was fitted on; uses only the options seed and calibrate.
  Model calibrated(const Table& table, const FitOptions& options, Team& team, const Monitor& monitor) const;

  void save(const std::string& path, bool overwrite) const;  // whole or not at all
  static Model load(const std::string& path);                // Error(format) names the defect and its place
  std::string bytes() const;                                 // of the file
  static Model from_bytes(const std::string& bytes, const std::string& path);  // `path` is for messages

  Table schema() const;             // columns with names, types, values' spelling; no rows
  Table sampled_schema() const;     // the same, without reasons that reveal rows of the fitted table
  nlohmann::json describe() const;  // method, preset, configuration, columns, encoders, sizes, provenance

  // The stream keeps the parts of the model that it needs alive; team and monitor must outlive it.
  std::unique_ptr<RowStream> sample(int64_t offset, int64_t count, const SampleOptions& options, Team& team,
                                    const Monitor& monitor) const;

  // The model of rows, for direct access; null: a model of sequences.
  std::shared_ptr<const RowModel> shared_rows() const;

  struct State;  // models/model/model_state.h
  const State& state() const { return *state_; }

 private:
  void check_opens() const;  // Error(internal) if its file could not be read back
  std::shared_ptr<const State> state_;
};

// The training step of this table and these options: ops, shapes, bytes, FLOPs, the effect of each pass, memory, the
// floor. Trains nothing.
nlohmann::json describe_plan(Table&& table, const FitOptions& options, Team& team, const Monitor& monitor);

}  // namespace tessera
