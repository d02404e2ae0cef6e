// The description of a method for the rest of the program, and its hyper-parameters. Everything else is in the method's
// own folder; models/model/registry.h lists the methods.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "models/method/losses.h"
#include "models/method/option.h"

namespace tessera {

class MethodConfig;
class RowMethod;
class SequenceEncoder;
class SequenceMethod;
struct RowLayout;

// The hyper-parameters of one method; its options.h derives from it.
struct Hyperparameters {
  virtual ~Hyperparameters() = default;
  virtual std::unique_ptr<Hyperparameters> copy() const = 0;
  virtual std::vector<Option> options() = 0;         // pointing into this. Options that set several others come first
  virtual void check() const {}                      // checks combinations of options; Error(usage) names one
  virtual bool trains() const = 0;                   // false: an untrained model is requested
  virtual bool fits_prior() const { return false; }  // after training
};

// Common to all models of a method.
struct MethodSpec {
  const char* name;
  int integer_levels;  // of preset best: maximum distinct values of a numeric column that becomes a category
  std::unique_ptr<Hyperparameters> (*preset)(bool best);  // of preset best, or of paper
  std::span<const LossSpec> losses;                       // by column of the ring
  // a method learns rows, sequences, or both
  std::unique_ptr<RowMethod> (*make_rows)(const RowLayout& layout, const MethodConfig& config);
  std::unique_ptr<SequenceMethod> (*make_sequences)(const SequenceEncoder& encoder,
                                                    const MethodConfig& config) = nullptr;
  bool bins = false;       // every column is one choice: numbers are quantile bins, and rows are not calibrated
  int patience = 0;        // of both presets; not 0: training ends by itself
  bool best_bins = false;  // of preset best: numbers are quantile bins, unless modes are requested

  bool rows() const { return make_rows != nullptr; }
  bool sequences() const { return make_sequences != nullptr; }
  MethodConfig config(bool best) const;
};

// A method and its hyper-parameters: a value.
class MethodConfig {
 public:
  MethodConfig() = default;  // without a method
  MethodConfig(const MethodSpec& method, std::unique_ptr<Hyperparameters> values)
      : method_(&method), values_(std::move(values)) {}
  MethodConfig(const MethodConfig& other)
      : method_(other.method_), values_(other.values_ ? other.values_->copy() : nullptr) {}
  MethodConfig(MethodConfig&&) noexcept = default;
  MethodConfig& operator=(MethodConfig other) noexcept {
    method_ = other.method_, values_ = std::move(other.values_);
    return *this;
  }

  const MethodSpec& method() const { return *method_; }
  const Hyperparameters* operator->() const { return values_.get(); }
  Hyperparameters* operator->() { return values_.get(); }
  // throws std::bad_cast for another method's
  template <class Config>
  Config& as() {
    return dynamic_cast<Config&>(*values_);
  }
  template <class Config>
  const Config& as() const {
    return dynamic_cast<const Config&>(*values_);
  }

 private:
  const MethodSpec* method_ = nullptr;
  std::unique_ptr<Hyperparameters> values_;
};
inline MethodConfig MethodSpec::config(bool best) const { return {*this, preset(best)}; }

// Checks every option's range and the combinations. Error(usage) names the option.
void check_config(const MethodConfig& config);

nlohmann::json config_json(const MethodConfig& config);
// Reads untrusted output of config_json(): throws Error(format) for an impossible configuration.
MethodConfig read_config(const MethodSpec& method, const nlohmann::json& json);

}  // namespace tessera
