// CTGAN as a Method: training by sampling, population statistics, conditions proposed through the
// condition vector.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/math/philox.h"
#include "models/ctgan/method.h"
#include "models/layers/initial_weights.h"
#include "models/layers/weights.h"
#include "models/method/method.h"
#include "models/training/validation.h"
#include "tables/encoding/conditions.h"

namespace tessera {
namespace {

// Host memory of the bound leaves of the training plan.
struct Bound {
  ConditionTable conditions;
  std::vector<int32_t> start, offset;

  Bound(const EncodedTable& table, const RowLayout& layout, Team& team)
      : conditions(build_conditions(table, layout, true, team)) {
    start = conditions.cond_start;
    start.push_back(conditions.cond_width);
    offset.assign(conditions.row_offset.begin(), conditions.row_offset.end());
    if (offset.empty()) offset.push_back(0);
    if (conditions.row_index.empty()) conditions.row_index.push_back(0);
    if (conditions.train_cumulative_f32.empty()) conditions.train_cumulative_f32.push_back(1);
  }

  void bind(Program& p) const {
    p.bind_if("cumulative", conditions.train_cumulative_f32.data());
    p.bind_if("start", start.data());
    p.bind_if("row_offset", offset.data());
    p.bind_if("row_index", conditions.row_index.data());
  }
};

// The values of a column for which its conditions can hold, by position in the condition vector, and their share of the
// real rows.
struct Proposal {
  std::vector<int32_t> positions;
  std::vector<double> cumulative;  // ends at 1
  double share = 1;
};

// Chooses the column to propose through the condition vector: the one whose allowed values have the smallest share of
// real rows.
Proposal propose(const FittedState& kept, const std::vector<AllowedLevels>& allowed) {
  Proposal best;
  for (const AllowedLevels& a : allowed) {
    Proposal p;
    double total = 0, sum = 0;
    for (int k = 0; k < a.span->width; ++k) {
      const double rows = static_cast<double>(kept.condition_rows[static_cast<size_t>(a.span->cond_start + k)]);
      total += rows;
      if (rows == 0 || a.share[static_cast<size_t>(k)] == 0) continue;
      sum += rows;
      p.positions.push_back(a.span->cond_start + k);
      p.cumulative.push_back(sum);
    }
    if (p.positions.empty()) continue;
    for (double& c : p.cumulative) c /= sum;
    p.share = sum / total;
    if (p.share < best.share) best = std::move(p);
  }
  return best;
}

class CtganRows : public RowGenerator {
 public:
  CtganRows(const Ctgan& network, const RowLayout& layout, const FittedState& kept,
            const std::vector<AllowedLevels>& allowed, uint64_t seed)
      : network_(network),
        draw_(real_frequencies(layout, kept.condition_rows)),
        proposal_(propose(kept, allowed)),
        seed_(seed) {}

  void record(Recorder& r, int64_t batch) const override {
    record_sampling(r, network_, batch, draw_.columns(), !proposal_.positions.empty());
  }

  void bind(Program& p) override {
    if (const Id leaf = p.plan().find_leaf("condition"); leaf != kNone) {
      condition_.assign(static_cast<size_t>(p.plan().shape(leaf).rows), -1);
      p.bind("condition", condition_.data());
    }
    if (draw_.cumulative.empty()) draw_.cumulative.push_back(1);
    p.bind_if("cumulative", draw_.cumulative.data());
    p.bind_if("start", draw_.start.data());
    for (const char* leaf : {"row_offset", "row_index"}) {  // no table rows are drawn, so no op reads them
      const Id id = p.plan().find_leaf(leaf);
      if (id != kNone) nothing_.resize(std::max(nothing_.size(), static_cast<size_t>(p.plan().shape(id).count())), 0);
    }
    p.bind_if("row_offset", nothing_.data());
    p.bind_if("row_index", nothing_.data());
  }

  void choose(Program& p, std::span<const Candidate> candidates) override {
    for (size_t i = 0; i < condition_.size(); ++i)
      condition_[i] = drawn(candidates[std::min(i, candidates.size() - 1)]);
    p.refresh({"condition"});
  }

 private:
  int32_t drawn(const Candidate& c) const {
    const Philox w =
        random_words(seed_, Purpose::propose, 0, static_cast<uint64_t>(c.row), static_cast<uint32_t>(c.attempt));
    const double u = open_uniform(w.word[0], w.word[1]);
    const auto at = std::upper_bound(proposal_.cumulative.begin(), proposal_.cumulative.end() - 1, u);
    return proposal_.positions[static_cast<size_t>(at - proposal_.cumulative.begin())];
  }

  const Ctgan& network_;
  ConditionDraw draw_;
  Proposal proposal_;
  uint64_t seed_;
  std::vector<int32_t> condition_, nothing_;
};

class CtganMethod : public RowMethod {
 public:
  CtganMethod(const RowLayout& layout, const CtganConfig& config) : layout_(layout), network_(layout, config) {}

  const MethodSpec& spec() const override { return kCtgan; }
  std::vector<Phase> phases() const override {
    const CtganConfig& c = network_.config;
    return {passes_over(table_->rows, c.epochs, c.batch, c.decay_from)};
  }
  double learning_rate() const override { return network_.config.learning_rate; }
  void relax() const override {
    table_->relax();
    bound_->conditions.row_index.relax();
  }
  int64_t random_rows() const override {
    return std::min(table_->random_rows(), bound_->conditions.row_index.random_reads(1));
  }
  void prepare(const EncodedTable& table, Team& team) override {
    table_ = &table;
    bound_ = std::make_unique<Bound>(table, layout_, team);
  }

  States start(uint64_t seed) const override {
    States s;
    s["generator"] = initial_weights(network_.generator, seed, 0);
    s["discriminator"] = initial_weights(network_.discriminator, seed, 1);
    if (averaged()) s["average.generator"] = s["generator"];
    for (const RunningSlot& slot : running_slots(network_))
      s[slot.leaf].assign(static_cast<size_t>(slot.size), slot.leaf.ends_with("var") ? 1.0f : 0.0f);
    return s;
  }
  void record_training(Recorder& r, size_t, int64_t steps) const override {
    tessera::record_training(r, network_, table_->rows, bound_->conditions.columns(), steps);
  }
  void bind(Program& p) const override {
    bind_rows(p, *table_);
    bound_->bind(p);
  }

  FittedState keep(States end, const RunContext& context) const override {
    FittedState kept;
    kept.condition_rows = bound_->conditions.count;
    kept.states["generator"] = std::move(end.at(averaged() ? "average.generator" : "generator"));
    for (const RunningSlot& slot : running_slots(network_)) kept.states[slot.leaf] = std::move(end.at(slot.leaf));
    if (network_.config.population_norm) measure_population(kept.states, context);
    return kept;
  }

  int64_t bytes_after(const RunContext& context) const override {
    return network_.config.population_norm
               ? bytes_of_program(context.target(), Purpose::second_plan, [this](Recorder& r) { record_normed(r); })
               : 0;
  }

  std::unique_ptr<HeldOut> held_out(const EncodedTable& rows, const RunContext& context) const override {
    return sampled_distance(*this, layout_, rows, context);
  }

  std::unique_ptr<RowGenerator> row_generator(const FittedState& kept, const std::vector<AllowedLevels>& allowed,
                                              uint64_t seed, Team&) const override {
    return std::make_unique<CtganRows>(network_, layout_, kept, allowed, seed);
  }

  void visit_tensors(const FittedState&, const std::function<void(const TensorSpec&)>& visit) const override {
    visit_weights(network_, network_.generator,
                  [&](const std::string& name, const std::vector<int64_t>& shape, const auto& element) {
                    visit({name, shape, "generator", network_.generator.size, element});
                  });
    for (const RunningSlot& s : running_slots(network_))
      visit({s.leaf,
             {s.size},
             s.leaf,
             s.size,
             [](int64_t i) { return i; },
             s.leaf.ends_with("var") ? "a negative variance" : nullptr});
  }

  void check_fitted(const FittedState& kept) const override {
    for (const Span& s : layout_.spans) {
      if (s.cond_start < 0) continue;
      int64_t total = 0;
      for (int k = 0; k < s.width; ++k) {
        const int64_t rows = kept.condition_rows[static_cast<size_t>(s.cond_start + k)];
        if (rows < 0 || rows > (int64_t{1} << 40))
          throw Error(ErrorCode::format, "conditions.rows holds a count that no table has.");
        total += rows;
      }
      if (total == 0) throw Error(ErrorCode::format, "conditions.rows has a column that no row was seen of.");
    }
  }

  int64_t conditions() const override { return layout_.cond_width; }
  int64_t parameters() const override { return network_.generator.size; }
  std::vector<std::string> networks() const override { return {"generator"}; }

 private:
  bool averaged() const { return network_.config.average_decay > 0; }

  // Batch-norm statistics over many training-style conditions at once, for the weights used in sampling.
  void record_normed(Recorder& r) const {
    // Twenty thousand rows, fewer if their activations would take more than a quarter of a gigabyte.
    int64_t width = network_.config.embedding_dim + network_.cond;
    for (const int w : network_.config.generator_dim) width += 3 * w;
    const int64_t batch = std::clamp<int64_t>((int64_t{1} << 26) / width, 2, 20000);
    record_population(r, network_, batch, bound_->conditions.columns());
  }
  void measure_population(States& states, const RunContext& context) const {
    const auto p = compile(context.target(), Purpose::second_plan, [this](Recorder& r) { record_normed(r); });
    bound_->bind(*p);
    p->put("generator", states.at("generator").data());
    p->run(1);
    for (const RunningSlot& s : running_slots(network_)) states.at(s.leaf) = p->get<float>(s.leaf);
  }

  const RowLayout& layout_;
  Ctgan network_;
  const EncodedTable* table_ = nullptr;
  std::unique_ptr<Bound> bound_;
};

}  // namespace

std::vector<RunningSlot> running_slots(const Ctgan& m) {
  std::vector<RunningSlot> slots;
  for (const Ctgan::Generator::Residual& block : m.generator.blocks)
    for (const char* what : {"mean", "var"})
      slots.push_back({block.norm.running + what, block.norm.gamma.parameter.shape.cols});
  return slots;
}

ConditionDraw real_frequencies(const RowLayout& layout, const std::vector<int64_t>& rows) {
  ConditionDraw d;
  for (const Span& s : layout.spans) {
    if (s.cond_start < 0) continue;
    d.start.push_back(s.cond_start);
    double total = 0, sum = 0;
    for (int k = 0; k < s.width; ++k) total += static_cast<double>(rows[static_cast<size_t>(s.cond_start + k)]);
    int last = 0;
    for (int k = 0; k < s.width; ++k) {
      sum += static_cast<double>(rows[static_cast<size_t>(s.cond_start + k)]);
      if (rows[static_cast<size_t>(s.cond_start + k)] > 0) last = k;
      d.cumulative.push_back(static_cast<float>(sum / total));
    }
    for (int k = last; k < s.width; ++k) d.cumulative[static_cast<size_t>(s.cond_start + k)] = 1;
  }
  d.start.push_back(layout.cond_width);
  if (d.cumulative.empty()) d.cumulative.push_back(1);
  return d;
}

std::unique_ptr<RowMethod> make_ctgan(const RowLayout& layout, const MethodConfig& config) {
  return std::make_unique<CtganMethod>(layout, config.as<CtganConfig>());
}

}  // namespace tessera
