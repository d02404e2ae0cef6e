#include "models/quality/sequences/sequence_judges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engine/run/compile.h"
#include "kernels/math/philox.h"
#include "models/layers/linear.h"
#include "models/layers/recurrent.h"
#include "models/quality/common/sampling.h"
#include "models/quality/common/statistics.h"
#include "tables/identifiers/permutation.h"

namespace tessera::quality {
namespace {

constexpr int64_t kMinSequences = 10;
constexpr int64_t kTestBatch = 512;
constexpr int kPartSteps = 50;  // training steps between two progress reports

// The identity of a judge: its kind, its sides, its number.
enum class Task : uint32_t { discriminative = 0, discriminative_floor = 1, predictive = 2, predictive_floor = 3 };
constexpr int kTasks = 4;

uint64_t key_of(uint64_t seed, Task task, int judge, Draw who, int64_t step = 0, int side = 0) {
  const Philox p =
      random_words(seed, who, static_cast<uint32_t>(step),
                   static_cast<uint32_t>(judge) |
                       static_cast<uint64_t>(static_cast<uint32_t>(task) << 1 | static_cast<uint32_t>(side)) << 32);
  return uint64_t{p.word[0]} << 32 | p.word[1];
}

// The network of a judge: one recurrent layer and an output.
struct Judge : ParameterSet {
  layers::Recurrent rnn;
  layers::Linear output;

  Judge(int64_t in, int64_t units)
      : ParameterSet{"judge", {}, 0},
        rnn(*this, "rnn.", {Cell::gru_reset_before, in, units, 1, 0}),
        output(*this, "output", units, 1, layers::Initial::tf1) {}

  std::vector<float> start(uint64_t key) const { return initial_weights(*this, key, 0, Purpose::evaluate); }
  AdamOptions adam() const { return {Adam::tf1, 1e-3, 0.9, 0.999, 1e-8, 0, 1, 0, 0, 0}; }
};

// A batch for the plans: rows [batch, steps·in], lengths and, for the predictor, targets and weights.
struct Batch {
  std::vector<float> x, length, target, weight;
};

JudgeScores summary(std::vector<double> each) {
  JudgeScores out;
  out.mean = mean_defined(each);
  double squares = 0;
  for (const double x : each) squares += (x - out.mean) * (x - out.mean);
  if (each.size() > 1) out.stddev = std::sqrt(squares / static_cast<double>(each.size() - 1));
  out.each = std::move(each);
  return out;
}

// A side of a judge: some sequences of a set.
struct Side {
  const StepSet* set;
  std::vector<int64_t> sequences;
};

class Judging {
 public:
  Judging(const StepFeatures& f, const JudgeOptions& o) : o_(o), features_(f.real.features) {
    steps_ = std::max(f.real.longest, f.synthetic.longest);
    report_.units = features_ == 1 ? 4 : features_ / 2;
    target_ = features_ - 1;
    for (int64_t k = 0; k < features_; ++k)
      if (f.features[static_cast<size_t>(k)].number && f.features[static_cast<size_t>(k)].name != kDifferenceColumn)
        target_ = k;
    report_.target = target_;
    report_.sequences = std::min(f.real.size(), f.synthetic.size());
    report_.floor_sequences = std::min(report_.sequences, f.real.size() / 2);
  }

  const JudgeReport& report() const { return report_; }

  // Every fifth sequence of each side, in the judge's own order, is kept for the test.
  double discriminate(const StepSet& real, const StepSet* synthetic, Task task, int judge,
                      const Workers::Part& part) const {
    const int64_t n = synthetic != nullptr ? report_.sequences : report_.floor_sequences;
    Side sides[2] = {{&real, {}}, {synthetic != nullptr ? synthetic : &real, {}}};
    const auto which = static_cast<uint32_t>(judge) << 3 | static_cast<uint32_t>(task) << 1;
    const std::vector<int64_t> order = shuffled(real.size(), o_.seed, Draw::judged_sequences, which);
    sides[0].sequences.assign(order.begin(), order.begin() + n);
    const std::vector<int64_t> other = synthetic != nullptr
                                           ? shuffled(synthetic->size(), o_.seed, Draw::judged_sequences, which | 1)
                                           : std::vector<int64_t>(order.begin() + n, order.begin() + 2 * n);
    sides[1].sequences.assign(other.begin(), other.begin() + n);
    const int64_t train = n - std::max<int64_t>(n / 5, 1), batch = std::min<int64_t>(o_.batch, train);

    Team alone(1);
    const Judge net(features_, report_.units);
    const auto training = compile({alone, o_.seed}, Purpose::step, [&](Recorder& r) {
      r.own(net);
      const Var logit = answer(r, net, 2 * batch);
      r.minimize(mean(softplus(-1.0 * slice_rows(logit, 0, batch))) + mean(softplus(slice_rows(logit, batch, batch))),
                 net, net.adam());
    });
    Batch b;
    bind(*training, b, 2 * batch);
    std::vector<float> weights = net.start(key_of(o_.seed, task, judge, Draw::judge_start));
    training->put("judge", weights.data());
    for (int step = 0; step < o_.discriminative_steps; ++step) {
      if (step % kPartSteps == 0) part();
      for (int side = 0; side < 2; ++side) {
        const Permutation draw(static_cast<uint64_t>(train),
                               key_of(o_.seed, task, judge, Draw::judge_batch, step, side));
        for (int64_t i = 0; i < batch; ++i)
          read(sides[side], static_cast<int64_t>(draw(static_cast<uint64_t>(i))), side * batch + i, b);
      }
      training->run(1);
    }
    weights = training->get<float>("judge");

    const auto test = answering(net, weights, kTestBatch, alone, b);
    const Id out = test->find("answer");
    int64_t right = 0;
    for (int side = 0; side < 2; ++side)
      for (int64_t begin = train; begin < n; begin += kTestBatch) {
        const int64_t count = std::min(kTestBatch, n - begin);
        for (int64_t i = 0; i < kTestBatch; ++i) read(sides[side], begin + std::min(i, count - 1), i, b);
        test->run(1);
        const std::vector<float> answers = test->read<float>(out);
        for (int64_t i = 0; i < count; ++i) right += (answers[static_cast<size_t>(i)] > 0) == (side == 0);
      }
    return std::abs(static_cast<double>(right) / static_cast<double>(2 * (n - train)) - 0.5);
  }

  double predict(const StepSet& trained, const StepSet& real, Task task, int judge, const Workers::Part& part) const {
    std::vector<int64_t> usable;  // sequences with a next step
    for (int64_t i = 0; i < trained.size(); ++i)
      if (trained.length[static_cast<size_t>(i)] > 1) usable.push_back(i);
    const Side side{&trained, std::move(usable)};
    const auto n = static_cast<int64_t>(side.sequences.size());
    if (n == 0) return kUndefined;
    const int64_t batch = std::min<int64_t>(o_.batch, n);

    Team alone(1);
    const Judge net(inputs(), report_.units);
    const auto training = compile({alone, o_.seed}, Purpose::step, [&](Recorder& r) {
      r.own(net);
      r.minimize(sum(error(r, net, batch)), net, net.adam());
    });
    Batch b;
    bind_prediction(*training, b, batch);
    std::vector<float> weights = net.start(key_of(o_.seed, task, judge, Draw::judge_start));
    training->put("judge", weights.data());
    for (int step = 0; step < o_.predictive_steps; ++step) {
      if (step % kPartSteps == 0) part();
      const Permutation draw(static_cast<uint64_t>(n), key_of(o_.seed, task, judge, Draw::judge_batch, step));
      double valid = 0;
      for (int64_t i = 0; i < batch; ++i)
        valid += static_cast<double>(read_prediction(side, static_cast<int64_t>(draw(static_cast<uint64_t>(i))), i, b));
      // a mean over all steps of the batch that have a next one
      for (float& w : b.weight) w = w > 0 ? static_cast<float>(1 / valid) : 0;
      training->run(1);
    }
    weights = training->get<float>("judge");

    const auto test = compile({alone, o_.seed}, Purpose::step, [&](Recorder& r) {
      r.own(net);
      r.output(sum_cols(error(r, net, kTestBatch)), "error");
    });
    bind_prediction(*test, b, kTestBatch);
    test->put("judge", weights.data());
    const Id out = test->find("error");
    Side all{&real, {}};
    for (int64_t i = 0; i < real.size(); ++i)
      if (real.length[static_cast<size_t>(i)] > 1) all.sequences.push_back(i);
    const auto tested = static_cast<int64_t>(all.sequences.size());
    double total = 0;
    for (int64_t begin = 0; begin < tested; begin += kTestBatch) {
      const int64_t count = std::min(kTestBatch, tested - begin);
      std::vector<double> pairs;
      for (int64_t i = 0; i < kTestBatch; ++i)
        pairs.push_back(static_cast<double>(read_prediction(all, begin + std::min(i, count - 1), i, b)));
      test->run(1);
      const std::vector<float> errors = test->read<float>(out);
      for (int64_t i = 0; i < count; ++i)
        total += static_cast<double>(errors[static_cast<size_t>(i)]) / pairs[static_cast<size_t>(i)];
    }
    return tested == 0 ? kUndefined : total / static_cast<double>(tested);
  }

 private:
  int64_t inputs() const { return features_ == 1 ? 1 : features_ - 1; }  // of the predictor
  int64_t horizon() const { return std::max<int64_t>(steps_ - 1, 1); }

  // Real (above 0) or synthetic, one logit per sequence.
  Var answer(Recorder& r, const Judge& net, int64_t batch) const {
    const Var x = r.input("x", {batch, steps_ * features_}), length = r.input("length", {batch, 1});
    return net.output(net.rnn(x, length).h[0]);
  }

  // |next − predicted|·weight [batch, horizon].
  Var error(Recorder& r, const Judge& net, int64_t batch) const {
    const Var x = r.input("x", {batch, horizon() * inputs()}), length = r.input("length", {batch, 1}),
              target = r.input("target", {batch, horizon()}), weight = r.input("weight", {batch, horizon()});
    const Var each = reshape(net.rnn(x, length).y, {batch * horizon(), net.rnn.sizes.hidden});
    const Var predicted = reshape(sigmoid(net.output(each)), {batch, horizon()});
    return leaky_relu(predicted - target, -1) * weight;  // a slope of −1 is the absolute value
  }

  void bind(Program& p, Batch& b, int64_t batch) const {
    b.x.assign(static_cast<size_t>(batch * steps_ * features_), 0), b.length.assign(static_cast<size_t>(batch), 0);
    p.bind("x", b.x.data());
    p.bind("length", b.length.data());
  }
  void bind_prediction(Program& p, Batch& b, int64_t batch) const {
    b.x.assign(static_cast<size_t>(batch * horizon() * inputs()), 0), b.length.assign(static_cast<size_t>(batch), 0);
    b.target.assign(static_cast<size_t>(batch * horizon()), 0),
        b.weight.assign(static_cast<size_t>(batch * horizon()), 0);
    p.bind("x", b.x.data());
    p.bind("length", b.length.data());
    p.bind("target", b.target.data());
    p.bind("weight", b.weight.data());
  }

  std::unique_ptr<Program> answering(const Judge& net, const std::vector<float>& weights, int64_t batch, Team& team,
                                     Batch& b) const {
    auto program = compile({team, o_.seed}, Purpose::step, [&](Recorder& r) {
      r.own(net);
      r.output(answer(r, net, batch), "answer");
    });
    bind(*program, b, batch);
    program->put("judge", weights.data());
    return program;
  }

  // Copies sequence `i` of a side into row `row` of the batch. Data after its end are not read.
  void read(const Side& side, int64_t i, int64_t row, Batch& b) const {
    const int64_t sequence = side.sequences[static_cast<size_t>(i)];
    const StepRows rows = side.set->rows();
    std::copy_n(rows.sequence(sequence), rows.steps(sequence) * features_, b.x.begin() + row * steps_ * features_);
    b.length[static_cast<size_t>(row)] = static_cast<float>(rows.steps(sequence));
  }

  // The same for the predictor; returns the number of steps with a next one.
  int64_t read_prediction(const Side& side, int64_t i, int64_t row, Batch& b) const {
    const int64_t sequence = side.sequences[static_cast<size_t>(i)];
    const StepRows rows = side.set->rows();
    const float* from = rows.sequence(sequence);
    const int64_t pairs = rows.steps(sequence) - 1;
    float* x = b.x.data() + row * horizon() * inputs();
    for (int64_t t = 0; t < pairs; ++t, from += features_) {
      for (int64_t k = 0; k < features_; ++k)
        if (k != target_ || features_ == 1) *x++ = from[k];
      b.target[static_cast<size_t>(row * horizon() + t)] = from[features_ + target_];
    }
    for (int64_t t = 0; t < horizon(); ++t) b.weight[static_cast<size_t>(row * horizon() + t)] = t < pairs ? 1 : 0;
    for (int64_t t = pairs; t < horizon(); ++t) b.target[static_cast<size_t>(row * horizon() + t)] = 0;
    b.length[static_cast<size_t>(row)] = static_cast<float>(pairs);
    return pairs;
  }

  JudgeOptions o_;
  int64_t features_, steps_ = 0, target_ = 0;
  JudgeReport report_;
};

}  // namespace

JudgeReport judge_sequences(const StepFeatures& f, const JudgeOptions& o, const Workers& workers) {
  for (const auto& [set, name] : {std::pair{&f.real, "real"}, std::pair{&f.synthetic, "synthetic"}})
    if (set->size() < kMinSequences)
      throw Error(
          ErrorCode::data,
          fmt::format(
              "The {} table makes {} sequences; judges need at least {}. Sample more, or disable them with `judges=0`.",
              name, set->size(), kMinSequences));
  const Judging judging(f, o);
  const auto judges = static_cast<size_t>(o.judges);
  std::vector<std::vector<double>> scores(kTasks, std::vector<double>(judges));
  // The longest first, so that the threads finish together.
  const Task order[kTasks] = {Task::predictive, Task::predictive_floor, Task::discriminative,
                              Task::discriminative_floor};
  const int64_t parts = (std::max(o.discriminative_steps, o.predictive_steps) + kPartSteps - 1) / kPartSteps;
  workers.for_each_part(
      "judges of sequences", "steps", kTasks * o.judges, parts,
      [&](int64_t piece, const Workers::Part& part) {
        const Task task = order[piece / o.judges];
        const int judge = static_cast<int>(piece % o.judges);
        double& score = scores[static_cast<size_t>(task)][static_cast<size_t>(judge)];
        switch (task) {
          case Task::discriminative: score = judging.discriminate(f.real, &f.synthetic, task, judge, part); break;
          case Task::discriminative_floor: score = judging.discriminate(f.real, nullptr, task, judge, part); break;
          case Task::predictive: score = judging.predict(f.synthetic, f.real, task, judge, part); break;
          case Task::predictive_floor: score = judging.predict(f.real, f.real, task, judge, part); break;
        }
      },
      kPartSteps);
  JudgeReport out = judging.report();
  out.discriminative = summary(scores[0]), out.discriminative_floor = summary(scores[1]);
  out.predictive = summary(scores[2]), out.predictive_floor = summary(scores[3]);
  return out;
}

}  // namespace tessera::quality
