// Made as a RowMethod.
#include "models/made/method.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/layers/weights.h"
#include "models/made/candidates.h"
#include "models/made/copula.h"
#include "models/made/dependence.h"
#include "models/made/marginals.h"
#include "models/made/network.h"
#include "models/made/steps.h"
#include "models/training/validation.h"

namespace tessera {
namespace {

constexpr double kMinSurprise = 0.002;  // nats per row
constexpr int kMinBatch = 32, kStepsOfEpoch = 30;
constexpr double kCostOfAnyOrder = 1.8;  // relative to a step: no weight is masked
// Below this many training rows (10,000 with held-out rows) overfitting must be prevented, and training starts at the
// copula.
constexpr int64_t kFewRows = 9000;
// Factor of the learning rate for few rows: a full step overfits to the rows of its batch.
constexpr double kRateOfFewRows = 0.25;
// Max AUC of telling training rows from held-out ones by likelihood: for tables of kBoundedRows rows or fewer, and for
// kFewRows; between them it rises with the logarithm of the rows.
constexpr int64_t kBoundedRows = 2000;
constexpr double kMinExposure = 0.55, kMaxExposure = 0.8;
constexpr int64_t kCompared = 500;  // of them, at least, are compared with the held-out rows
constexpr double kUnseen = 0.1;     // pseudo-count of every level in the frequencies

double max_exposure(int64_t rows) {
  const double share = std::log(static_cast<double>(rows) / kBoundedRows) / std::log(1.0 * kFewRows / kBoundedRows);
  return std::lerp(kMinExposure, kMaxExposure, std::clamp(share, 0.0, 1.0));
}

class MadeMethod : public RowMethod {
 public:
  MadeMethod(const RowLayout& layout, const MadeConfig& config, bool disjoint, int given = 0)
      : layout_(layout),
        rate_(config.learning_rate),
        network_(layout, config, Sees::columns_before, given),
        disjoint_(disjoint) {
    if (given == 0 && config.any_order && network_.count() > 1) any_order_.emplace(layout, config, Sees::shown_columns);
  }

  const MethodSpec& spec() const override { return kMade; }
  bool train_privately(const PrivateRows& rows, const FittedState* from) override {
    private_ = &rows;
    network_.config.learning_rate = rate_;
    // what was left out was chosen by rows drawn from noisy counts, which may lack the dependences of the table
    network_.seen.clear(), network_.learned.clear();
    if (from != nullptr) begin_ = from->states;
    return !any_order_;
  }
  std::vector<Phase> phases() const override {
    if (private_ != nullptr) return {private_->phase()};
    const MadeConfig& c = network_.config;
    std::vector<Phase> phases(any_order_ ? 2 : 1, passes_over(table_->rows, c.epochs, c.batch, c.decay_from));
    if (any_order_) phases.front().name = "any order", phases.front().cost = kCostOfAnyOrder;
    return phases;
  }
  double learning_rate() const override { return rate_; }
  void relax() const override { table_->relax(); }
  int64_t random_rows() const override { return table_->random_rows(); }
  void bind(Program& p) const override {
    private_ != nullptr ? private_->bind(p) : bind_rows(p, *table_);
    p.bind_if("seen", network_.seen.data());
    p.bind_if("learned", network_.learned.data());
  }
  void survey(const EncodedTable& table) override {
    const size_t columns = network_.columns.size();
    frequencies_.assign(static_cast<size_t>(network_.levels), kUnseen);
    for (int64_t i = 0; i < table.rows; ++i) {
      if (i % kRowsResident == 0) table.relax();
      for (size_t j = 0; j < columns; ++j)
        ++frequencies_[static_cast<size_t>(network_.columns[j].start +
                                           table.codes[static_cast<size_t>(i) * columns + j])];
    }
    for (const Span& s : network_.columns)
      for (int k = s.start; k < s.start + s.width; ++k)
        frequencies_[static_cast<size_t>(k)] /= static_cast<double>(table.rows) + kUnseen * s.width;
  }
  void prepare(const EncodedTable& table, Team& team) override {
    if (frequencies_.empty()) survey(table);
    table_ = &table;
    int& batch = network_.config.batch;
    batch = static_cast<int>(std::min<int64_t>(batch, std::max<int64_t>(table.rows / kStepsOfEpoch, kMinBatch)));
    network_.config.learning_rate = few_rows() ? kRateOfFewRows * rate_ : rate_;
    if (any_order_) any_order_->config.batch = batch, any_order_->config.learning_rate = network_.config.learning_rate;
    if (!network_.config.trains() || !few_rows()) return;
    if (starts_at_copula(network_) && network_.given == 0 && !network_.config.alike)
      leave_out_chance(network_, frequencies_, table, team);
    copula_ = learn_copula(network_, frequencies_, table, team);
  }

  States start(uint64_t seed) const override {
    States s;
    each([&](const Made& m) {
      const std::string& name = m.network.name;
      if (const auto known = begin_.find(name); known != begin_.end()) s[name] = known->second;
      else s[name] = initial_network(m, frequencies_, seed, &m == &network_ ? &copula_ : nullptr);
      if (averaged()) s["average." + name] = s[name];
    });
    return s;
  }
  void record_training(Recorder& r, size_t phase, int64_t steps) const override {
    if (private_ != nullptr) return tessera::record_training(r, network_, *private_, steps);
    tessera::record_training(r, any_order_ && phase == 0 ? *any_order_ : network_, table_->rows, steps);
  }

  FittedState keep(States end, const RunContext& context) const override {
    FittedState kept;
    each([&](const Made& m) {
      const std::string& name = m.network.name;
      kept.states[name] = std::move(end.at(averaged() ? "average." + name : name));
    });
    std::vector<float>& network = kept.states["network"];
    if (matches()) match_marginals(network_, frequencies_, *table_, network, context);
    return kept;
  }
  void assist(const RunContext& context) const override {
    std::vector<float> network;
    if (matches()) match_marginals(network_, frequencies_, *table_, network, context);
  }
  int64_t bytes_after(const RunContext& context) const override {
    return matches() ? bytes_of_matching(network_, context) : 0;
  }
  double rows_after() const override { return matches() ? rows_of_matching(network_, table_->rows) : 0; }
  std::unique_ptr<HeldOut> held_out(const EncodedTable& rows, const RunContext& context) const override {
    RowLoss loss{"surprise", averaged() ? "average." : "", {"network"}, kMinSurprise};
    loss.max_exposure = max_exposure(table_->rows);
    if (disjoint_ && table_->rows < kFewRows) {
      // Independent columns: what the copula knows of the rows of the training counts.
      loss.training = some_rows(*table_, std::min(table_->rows, std::max(rows.rows, kCompared)), layout_);
      loss.start = start(context.seed);
      const Copula none = copula_.independent();
      loss.start[loss.prefix + "network"] = initial_network(network_, frequencies_, context.seed, &none);
    }
    return recorded_loss(
        rows, std::move(loss),
        [this](Recorder& r, int64_t table_rows, int64_t batch) { record_surprise(r, network_, table_rows, batch); },
        context);
  }

  std::unique_ptr<RowGenerator> row_generator(const FittedState& kept, const std::vector<AllowedLevels>& allowed,
                                              uint64_t seed, Team& team) const override {
    return make_made_rows(network_, kept, allowed, seed, team);
  }
  std::unique_ptr<GivenGenerator> given_generator(const FittedState&, uint64_t, Team&) const override {
    return make_made_given(network_, any_order_ ? &*any_order_ : nullptr);
  }

  void visit_tensors(const FittedState&, const std::function<void(const TensorSpec&)>& visit) const override {
    each([&](const Made& m) {
      const ParameterSet& set = m.network;
      visit_weights(set, [&](const std::string& name, const std::vector<int64_t>& shape, const auto& element) {
        visit({name, shape, set.name, set.size, element});
      });
    });
  }

  int64_t parameters() const override { return network_.network.size + (any_order_ ? any_order_->network.size : 0); }
  std::vector<std::string> networks() const override {
    std::vector<std::string> names;
    each([&](const Made& m) { names.push_back(m.network.name); });
    return names;
  }

 private:
  bool averaged() const { return network_.config.average_decay > 0; }
  bool few_rows() const { return table_->rows < kFewRows || network_.config.alike; }
  bool matches() const { return network_.config.trains() && network_.count() > 0; }

  template <class F>
  void each(F&& f) const {
    f(network_);
    if (any_order_) f(*any_order_);
  }

  const RowLayout layout_;
  const double rate_;  // as given
  Made network_;
  const bool disjoint_;  // steps of windows are in held-out ones too
  std::optional<Made> any_order_;
  const EncodedTable* table_ = nullptr;
  const PrivateRows* private_ = nullptr;
  States begin_;                     // initial weights of training; empty: a random network
  std::vector<double> frequencies_;  // of the levels, column by column
  Copula copula_;                    // where training starts
};

}  // namespace

std::unique_ptr<RowMethod> make_made(const RowLayout& layout, const MethodConfig& config) {
  return std::make_unique<MadeMethod>(layout, config.as<MadeConfig>(), true);
}

std::unique_ptr<RowMethod> make_made_after(const RowLayout& layout, int given, const MadeConfig& config,
                                           bool disjoint) {
  return std::make_unique<MadeMethod>(layout, config, disjoint, given);
}

}  // namespace tessera
