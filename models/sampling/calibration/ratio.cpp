#include "models/sampling/calibration/ratio.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

#include "models/layers/initial_weights.h"
#include "models/layers/recording.h"

namespace tessera {
namespace {

constexpr uint32_t kInitStream = 8;

// Mean cross-entropy over both sides; [0]: logits of real rows, [1]: of the model's.
double loss_of(const std::array<std::vector<double>, 2>& logits) {
  double mean[2] = {0, 0};
  for (const size_t side : {0, 1})
    for (const double l : logits[side]) {
      const double z = side == 0 ? -l : l;
      mean[side] += (std::max(z, 0.0) + std::log1p(std::exp(-std::fabs(z)))) / static_cast<double>(logits[side].size());
    }
  return (mean[0] + mean[1]) / 2;
}

}  // namespace

Ratio::Network::Network(int64_t in, const RatioConfig& config)
    : ParameterSet{"ratio", {}, 0},
      hidden(*this, in, config.hidden, config.slope, config.dropout),
      output(*this, "output", hidden.out, 1) {}

Ratio::Ratio(std::shared_ptr<const Spans> spans, RatioConfig config)
    : spans_(std::move(spans)), config_(std::move(config)), network_(std::in_place, spans_->table()->width, config_) {}

int64_t Ratio::bytes(int64_t width) {
  const RatioConfig config;
  const int64_t weights = Network(width, config).size;
  int64_t units = 0;
  for (const int n : config.hidden) units += n;
  // weights, gradients, moments and averages; an evaluator and the best network; outputs, masks and derivatives of both
  // sides' rows
  return static_cast<int64_t>(sizeof(float)) * (7 * weights + 2 * config.batch * 5 * units);
}

Var Ratio::gather(Recorder& r, const std::string& side, int64_t table_rows, Var row) const {
  const SpanTable& t = *spans_->table();
  const Var codes = r.input("cells." + side, {table_rows, t.softmaxes}, DType::index),
            inputs = r.input("inputs." + side, {table_rows, t.tanhs});
  const auto entries = r.emit(GatherRows{&t}, {codes, inputs, row});
  return sparse_dense(entries[0], entries[1], t.width, t.count);
}

Var Ratio::record(Recorder& r, Var index, Var value) const {
  r.own(*network_);
  return (*network_)(sparse_dense(index, value, spans_->table()->width, spans_->table()->count));
}

std::unique_ptr<Program> Ratio::training(const RatioRows& real, const RatioRows& model, int64_t real_rows,
                                         int64_t model_rows, int64_t steps, const Target& target) const {
  auto program = compile(target, Purpose::ratio, [&](Recorder& r) {
    r.plan.tables.push_back(spans_);
    r.own(*network_);
    const Var a = (*network_)(gather(r, "real", real.rows, draw_rows(r, config_.batch, real_rows)), "real");
    const Var b = (*network_)(gather(r, "model", model.rows, draw_rows(r, config_.batch, model_rows)), "model");
    const Var loss = 0.5 * (mean(softplus(-1.0 * a)) + mean(softplus(b)));
    AdamOptions adam;
    adam.lr = config_.learning_rate;
    adam.weight_decay = config_.weight_decay;
    r.minimize(loss, *network_, adam);
    record_average(r, *network_, config_.average_decay, steps);
    const Var ring = r.state("losses", {1, 1});
    r.advance(ring, r.emit1(Report{1}, {ring, loss}));
  });
  program->bind_if("cells.real", real.cells.data());
  program->bind_if("cells.model", model.cells.data());
  program->bind_if("inputs.real", real.inputs.data());
  program->bind_if("inputs.model", model.inputs.data());
  const std::vector<float> start = initial_weights(*network_, target.seed, kInitStream);
  for (const char* set : {"ratio", "average.ratio"}) program->put(set, start.data());
  return program;
}

Ratio::Fitted Ratio::fit(const RatioRows& real, const RatioRows& model, double held_out, uint64_t seed, Device& device,
                         Team& team, const Monitor& monitor) {
  auto training_rows = [&](const RatioRows& side) {
    return std::clamp<int64_t>(side.rows - static_cast<int64_t>(held_out * static_cast<double>(side.rows)), 1,
                               side.rows);
  };
  const int64_t real_rows = training_rows(real), model_rows = training_rows(model);
  const int64_t per_epoch = std::max<int64_t>((real_rows + model_rows) / (2 * config_.batch), 1);
  const int most = static_cast<int>(std::clamp<int64_t>(config_.most_steps / per_epoch, 1, config_.most_epochs));
  const auto program =
      training(real, model, real_rows, model_rows, most * per_epoch, {team, seed, device, {}, config_.precision});

  // Logits of the held-out rows of both sides; if nothing is held out, of all rows.
  const auto look = [&] {
    Evaluator evaluator(*this, 2048, device, team);
    std::array<std::vector<double>, 2> out;
    const SpanTable& t = *spans_->table();
    for (const size_t side : {0, 1}) {
      const RatioRows& rows = side == 0 ? real : model;
      const int64_t first = (side == 0 ? real_rows : model_rows) % rows.rows, n = rows.rows - first;
      out[side].resize(static_cast<size_t>(n));
      evaluator.run(rows.cells.data() + first * t.softmaxes, rows.inputs.data() + first * t.tanhs, n, out[side].data());
    }
    return out;
  };

  Fitted best{std::numeric_limits<double>::infinity(), 0, 0};
  std::vector<float> kept;
  double before = best.held_out_loss;  // best loss so far; a new one must be lower by `least`
  int64_t since = 0;                   // steps without improvement
  Deadline until = config_.until;
  bool time = true;
  for (int epoch = 1; epoch <= most; ++epoch) {
    for (int64_t done = 0; done < per_epoch && (time = until.next());) {
      const int64_t ran = program->run(std::min<int64_t>(per_epoch - done, 50));
      if (program->step().bad >= 0)
        throw Error(
            ErrorCode::numeric,
            "training the density ratio gave NaN or infinity.\n  `calibrate=marginals` or `calibrate=off` omits the "
            "density ratio.");
      done += ran;
      monitor.check_cancelled("ratio");
    }
    weights = program->get<float>("average.ratio");
    if (const double loss_now = loss_of(look()); loss_now < best.held_out_loss) {
      best = {loss_now, program->step().step, epoch};
      kept = weights;
    }
    since += per_epoch;
    if (best.held_out_loss < before - config_.least) before = best.held_out_loss, since = 0;
    char note[64];
    std::snprintf(note, sizeof note, "held-out loss %.4f", best.held_out_loss);
    const bool last = epoch == most || since >= config_.patience || !time;
    monitor.report(
        {"ratio", static_cast<double>(epoch), static_cast<double>(last ? epoch : most), "epochs", note, last});
    if (last) break;
  }
  weights = std::move(kept);
  return best;
}

Ratio::Evaluator::Evaluator(const Ratio& ratio, int64_t batch, Device& device, Team& team)
    : batch_(std::max<int64_t>(batch, 2)) {
  const SpanTable& t = *ratio.spans_->table();
  codes_ = t.softmaxes;
  inputs_width_ = t.tanhs;
  cells_.assign(static_cast<size_t>(batch_ * codes_), 0);
  inputs_.assign(static_cast<size_t>(batch_ * inputs_width_), 0);
  program_ = compile({team, 0, device}, Purpose::step, [&](Recorder& r) {
    r.plan.tables.push_back(ratio.spans_);
    r.own(*ratio.network_);
    r.output((*ratio.network_)(ratio.gather(r, "rows", batch_, r.input("row", {batch_, 1}, DType::index))), "logits");
  });
  program_->put("ratio", ratio.weights.data());
  rows_.resize(static_cast<size_t>(batch_));
  std::iota(rows_.begin(), rows_.end(), 0);
  program_->bind_if("cells.rows", cells_.data());
  program_->bind_if("inputs.rows", inputs_.data());
  program_->bind_if("row", rows_.data());
  logits_ = program_->find("logits");
}

void Ratio::Evaluator::run(const int32_t* cells, const float* inputs, int64_t rows, double* logits) {
  for (int64_t from = 0; from < rows; from += batch_) {
    const int64_t n = std::min(batch_, rows - from);
    std::copy_n(cells + from * codes_, n * codes_, cells_.data());
    std::copy_n(inputs + from * inputs_width_, n * inputs_width_, inputs_.data());
    program_->refresh({"cells.rows", "inputs.rows"});
    program_->run(1);
    const View v = program_->fetch(logits_);
    for (int64_t i = 0; i < n; ++i) logits[from + i] = static_cast<double>(static_cast<const float*>(v.data)[i * v.ld]);
  }
}

}  // namespace tessera
