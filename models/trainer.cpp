// The training run: conditions, initial weights, the closed step replayed, losses out, statistics of the weights that are kept.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "engine/passes.h"
#include "engine/program.h"
#include "models/initial_weights.h"
#include "models/model_state.h"

namespace tessera {
namespace {

constexpr int kPopulationPurpose = 0x1000;  // separates its random numbers from the training step's

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Host memory behind the bound leaves of the training plan; must outlive the program.
struct Bound {
  ConditionTable conditions;
  std::vector<int32_t> start, offset;

  Bound(const EncodedTable& table, const RowLayout& layout, Team& team) : conditions(build_conditions(table, layout, true, team)) {
    start = conditions.cond_start;
    start.push_back(conditions.cond_width);
    offset.assign(conditions.row_offset.begin(), conditions.row_offset.end());
    if (offset.empty()) offset.push_back(0);
    if (conditions.row_index.empty()) conditions.row_index.push_back(0);
    if (conditions.train_cumulative_f32.empty()) conditions.train_cumulative_f32.push_back(1);
  }

  void bind(Program& p, const EncodedTable* table) const {
    auto to = [&](const char* leaf, const void* data) {
      if (p.plan().find_leaf(leaf) != kNone) p.bind(leaf, data);
    };
    to("cumulative", conditions.train_cumulative_f32.data());
    to("start", start.data());
    to("row_offset", offset.data());
    to("row_index", conditions.row_index.data());
    if (table == nullptr) return;
    static const int32_t none = 0;
    to("codes", table->codes.empty() ? &none : table->codes.data());
    to("alphas", table->alphas.empty() ? static_cast<const void*>(&none) : table->alphas.data());
  }
};

std::set<std::string> passes_off(const FitOptions& o) { return {o.passes_off.begin(), o.passes_off.end()}; }

Device& device_of(const FitOptions& o) { return o.device ? *o.device : Device::processor(); }

void take_running(const Program& p, Model::State& state) {
  for (const RunningSlot& s : running_slots(state.network())) {
    const std::vector<float> values = p.get<float>(s.leaf);
    std::copy(values.begin(), values.end(), state.running.begin() + s.offset);
  }
}

// Batch-norm statistics over many training-style conditions at once, for the weights that will sample.
void measure_population(Model::State& state, const Ctgan& m, const Bound& bound, const FitOptions& options, Team& team) {
  // Twenty thousand rows, fewer where their activations would take more than a quarter of a gigabyte.
  int64_t width = m.config.embedding_dim + m.cond;
  for (const int w : m.config.generator_dim) width += 3 * w;
  const int64_t batch = std::clamp<int64_t>((int64_t{1} << 26) / width, 2, 20000);
  Ctgan once = m;
  once.config.bn_momentum = 1;
  Plan plan;
  Recorder r(plan);
  r.start_purposes(kPopulationPurpose);
  record_population(r, once, batch, bound.conditions.columns());
  optimise(plan, passes_off(options));
  Program p(std::move(plan), device_of(options), team, options.seed, wanted(passes_off(options), "liveness"));
  bound.bind(p, nullptr);
  p.put("generator", state.generator.data());
  p.run(1);
  take_running(p, state);
}

}  // namespace

std::vector<RunningSlot> running_slots(const Ctgan& m) {
  std::vector<RunningSlot> slots;
  int64_t offset = 0;
  for (int64_t i = 0; i < m.generator_norms(); ++i)
    for (const char* what : {"mean", "var"}) {
      slots.push_back({fmt::format("generator.residual.{}.norm.running_{}", i, what), offset, m.config.generator_dim[static_cast<size_t>(i)]});
      offset += slots.back().size;
    }
  return slots;
}

void check_config(CtganConfig& c) {
  auto need = [](bool ok, const std::string& what) {
    if (!ok) throw Error(ErrorCode::usage, what);
  };
  need(c.epochs >= 0, fmt::format("--epochs {}: there are no negative epochs. 0 prepares an untrained model.", c.epochs));
  need(c.pac >= 1, fmt::format("--pac {}: a critic row packs at least 1 row.", c.pac));
  need(c.batch >= 2, fmt::format("--batch-size {}: batch norm needs at least 2 rows.", c.batch));
  need(c.batch >= c.pac, fmt::format("--batch-size {} is smaller than --pac {}: a batch holds at least one critic row.", c.batch, c.pac));
  need(c.embedding_dim >= 1, fmt::format("--embedding-dim {}: the generator needs noise; at least 1.", c.embedding_dim));
  need(c.discriminator_steps >= 1, fmt::format("--discriminator-steps {}: at least 1.", c.discriminator_steps));
  need(c.learning_rate > 0 && c.learning_rate <= 1, fmt::format("--learning-rate {}: must lie in (0, 1].", c.learning_rate));
  for (const auto& [dims, option] : {std::pair{&c.generator_dim, "--generator-dim"}, std::pair{&c.discriminator_dim, "--discriminator-dim"}}) {
    need(!dims->empty(), fmt::format("{}: at least one layer.", option));
    for (const int d : *dims) need(d >= 1, fmt::format("{}: a layer of {} units.", option, d));
  }
  c.batch = c.batch / c.pac * c.pac;
}

double train(Model::State& state, const EncodedTable& table, const FitOptions& options, Team& team, const Monitor& monitor) {
  const Ctgan m = state.network();
  const Bound bound(table, state.encoder.layout(), team);
  state.condition_rows = bound.conditions.count;
  state.generator.resize(static_cast<size_t>(m.generator.size));
  const auto slots = running_slots(m);
  state.running.assign(static_cast<size_t>(slots.back().offset + slots.back().size), 0);
  for (const RunningSlot& s : slots)
    if (s.leaf.ends_with("var")) std::fill_n(state.running.begin() + s.offset, s.size, 1.0f);

  const int64_t per_epoch = std::max<int64_t>(table.rows / m.config.batch, 1), steps = per_epoch * m.config.epochs;
  state.provenance["steps"] = steps;
  if (steps == 0) {
    initial_weights(m.generator, options.seed, 0, state.generator.data());
    if (m.config.population_norm) measure_population(state, m, bound, options, team);
    return 0;
  }

  Plan plan;
  Recorder r(plan);
  record_training(r, m, table.rows, bound.conditions.columns(), steps);
  const auto reports = optimise(plan, passes_off(options));
  const double step_flops = reports.empty() ? 0 : reports.back().flops_after;
  Program p(std::move(plan), device_of(options), team, options.seed, wanted(passes_off(options), "liveness"));
  bound.bind(p, &table);
  std::vector<float> weights(static_cast<size_t>(m.discriminator.size));
  initial_weights(m.discriminator, options.seed, 1, weights.data());
  p.put("discriminator", weights.data());
  weights.resize(static_cast<size_t>(m.generator.size));
  initial_weights(m.generator, options.seed, 0, weights.data());
  p.put("generator", weights.data());
  const bool averaged = m.config.average_decay > 0;
  if (averaged) p.put("average", weights.data());
  for (const RunningSlot& s : slots) p.put(s.leaf, state.running.data() + s.offset);

  const double start = seconds_now();
  LossRow row{};
  int64_t in_row = 0, chunk = 1;
  while (p.step().step < steps) {
    const int64_t done = p.step().step, row_end = std::min((done / per_epoch + 1) * per_epoch, steps);
    const double before = seconds_now();
    p.snapshot();
    const int64_t ran = p.run(std::min({chunk, row_end - done, kLossSlots}));
    if (p.step().bad >= 0) {
      const int64_t bad = p.step().bad;
      const std::string culprit = p.diagnose();
      throw Error(ErrorCode::numeric,
                  fmt::format("training met a value that is not finite at step {} (epoch {:.1f}): {}.\n  A lower --learning-rate (now {}) or another --seed usually helps; "
                              "nothing was written.",
                              bad, static_cast<double>(bad) / static_cast<double>(per_epoch), culprit.empty() ? "a loss" : culprit, m.config.learning_rate));
    }
    const std::vector<float> ring = p.get<float>("losses");
    for (int64_t s = done; s < done + ran; ++s) {
      const float* l = ring.data() + s % kLossSlots * 3;
      row.critic += static_cast<double>(l[0]);
      row.generator += static_cast<double>(l[1]);
      row.penalty += static_cast<double>(l[2]);
      ++in_row;
    }
    const int64_t now = done + ran;
    const double n = static_cast<double>(in_row), epoch = static_cast<double>(now) / static_cast<double>(per_epoch);
    Progress progress{"train", epoch, static_cast<double>(m.config.epochs), "epochs",
                      fmt::format("critic {:+.2f}  generator {:+.2f}", row.critic / n, row.generator / n), now == steps};
    if (now == row_end) {
      if (options.on_losses) options.on_losses({now, epoch, row.critic / n, row.generator / n, row.penalty / n, seconds_now() - start});
      row = {};
      in_row = 0;
    }
    monitor.report(progress);
    // Runs of about a tenth of a second: short enough to be stopped at once, long enough that looking costs nothing. The result does not depend on it.
    const double took = std::max(seconds_now() - before, 1e-6);
    chunk = std::clamp<int64_t>(static_cast<int64_t>(0.1 / took * static_cast<double>(ran)), 1, kLossSlots);
  }
  state.generator = p.get<float>(averaged ? "average" : "generator");
  take_running(p, state);
  if (m.config.population_norm) measure_population(state, m, bound, options, team);
  state.provenance["train_seconds"] = seconds_now() - start;
  return step_flops * static_cast<double>(steps);
}

}  // namespace tessera
