#include "models/made/steps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/mixed_bits.h"
#include "models/made/method.h"
#include "models/made/sampling.h"
#include "models/method/given.h"
#include "models/method/importance.h"
#include "models/sampling/identities.h"

namespace tessera {
namespace {

constexpr int64_t kMaxWholeColumns = 700;
constexpr int kSeenOfWindows = 128, kMinMemory = 2, kMaxMemory = 12;  // codes, and steps, before a step
constexpr int kBatchOfSteps = 128;                                    // rows, which are much alike
constexpr int kExactNumbers = 32, kNumbersPerDouble = 8;              // of steps; later ones share levels
constexpr int kLeft = 4;                                              // levels: none, 1, 2, more steps are left

}  // namespace

StepRows::StepRows(const SequenceEncoder& encoder, int seen_codes) : encoder_(encoder), longest_(encoder.longest()) {
  const std::vector<Span>&steps = encoder.steps().spans, &attributes = encoder.attributes().spans;
  const std::vector<StepPart>& parts = encoder.parts();
  codes_ = static_cast<int>(steps.size());
  const auto count = [&](StepPart part) { return std::count(parts.begin(), parts.end(), part); };
  const int64_t each = count(StepPart::always) + count(StepPart::later) + count(StepPart::line);
  // whether a value is on its line is more informative than its residual: of a step, lines come first
  std::vector<size_t> order(steps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](size_t k) { return parts[k] == StepPart::line; });
  const bool windows = encoder.begins_anywhere();
  whole_ = encoder.whole() && std::ssize(attributes) + longest_ * each + count(StepPart::first) <= kMaxWholeColumns;
  for (int k = 0; k < encoder.own_attributes(); ++k)
    add(Cell::Of::attribute, attributes[static_cast<size_t>(k)], k, 0, false);
  if (!whole_) {
    const int seen = encoder.options().length > 0 ? kSeenOfWindows : seen_codes;
    memory_ = std::clamp(seen / static_cast<int>(std::max<int64_t>(each, 1)), kMinMemory, kMaxMemory);
    memory_ = std::min(memory_, longest_ - 1);
    const auto level = [](int width) { return Span{-1, Span::Part::category, 0, width, -1}; };
    Span number = level(number_level(longest_ - 1) + 1);
    number.ascending = number.width;
    add(Cell::Of::number, number, 0, 0, false);
    // Events end a sequence: the last step differs from others. Of one length, its number says which it is.
    if (!windows && !encoder.one_length()) add(Cell::Of::left, level(kLeft), 0, 0, false), near_end_ = kLeft - 1;
    for (int c = 0; c < encoder.calendar().cycles(); ++c)
      add(Cell::Of::calendar, level(encoder.calendar().width(c)), c, 0, false);
    for (int back = memory_; back >= 1; --back)
      for (const size_t k : order)
        if (parts[k] != StepPart::first || back == 1) add(Cell::Of::step, steps[k], static_cast<int>(k), back, true);
  }
  given_ = static_cast<int>(cells_.size());
  for (int t = 0; t < (whole_ ? longest_ : 1); ++t)
    for (const size_t k : order) {
      const bool always = in_every_step(parts[k]);
      // the first step of a window is drawn with its attributes
      if (windows ? parts[k] != StepPart::first : !whole_ || always || (t == 0) == (parts[k] == StepPart::first))
        add(Cell::Of::step, steps[k], static_cast<int>(k), t, !windows && !whole_ && !always);
    }
  for (Span& span : layout_.spans) span.start = layout_.data_width, layout_.data_width += span.width;
}

void StepRows::add(Cell::Of of, const Span& like, int span, int step, bool may_be_absent) {
  cells_.push_back({of, span, step, may_be_absent ? like.width : -1});
  Span s = like;
  s.column = static_cast<int>(cells_.size()) - 1, s.cond_start = -1, s.width += may_be_absent ? 1 : 0;
  layout_.spans.push_back(s);
}

int32_t StepRows::number_level(int64_t t) const {
  // A window begins anywhere: only what its first steps cannot see matters.
  if (encoder_.options().length > 0) return static_cast<int32_t>(std::min<int64_t>(t, memory_));
  if (t < kExactNumbers) return static_cast<int32_t>(t);
  return kExactNumbers + static_cast<int32_t>(kNumbersPerDouble * std::log2(static_cast<double>(t) / kExactNumbers));
}

int32_t StepRows::code(const Cell& cell, const int32_t* attributes, const int32_t* steps, const Place& place) const {
  const int64_t t = place.t;
  if (cell.of == Cell::Of::attribute) return attributes[cell.span];
  if (cell.of == Cell::Of::number) return number_level(t);
  if (cell.of == Cell::Of::left) return static_cast<int32_t>(std::clamp<int64_t>(place.length - 1 - t, 0, kLeft - 1));
  if (cell.of == Cell::Of::calendar) return place.calendar[cell.span];
  const int64_t at = whole_ ? cell.step : t - cell.step;
  if (at < 0) return cell.absent;
  const StepPart part = encoder_.parts()[static_cast<size_t>(cell.span)];
  const bool drawn = cell.step == 0;  // of a row per step: not one before
  if (!whole_ && ((part == StepPart::later && at == 0) || (part == StepPart::first && drawn && at > 0)))
    return cell.absent;
  return steps[at * codes_ + cell.span];
}

void StepRows::give(const int32_t* attributes, const int32_t* steps, const Place& at, int32_t* to) const {
  for (int k = 0; k < given_; ++k)
    to[k] = layout_.spans[static_cast<size_t>(k)].start + code(cells_[static_cast<size_t>(k)], attributes, steps, at);
}

bool StepRows::allow(const int32_t* codes, int64_t t, float* levels) const {
  bool all = true;
  for (size_t k = static_cast<size_t>(given_); k < cells_.size(); ++k) {
    const Cell& cell = cells_[k];
    if (whole_ && cell.step != t) continue;
    const int32_t code = codes[cell.span];
    const StepPart part = encoder_.parts()[static_cast<size_t>(cell.span)];
    if (code < 0) all = all && !in_every_step(part) && (part == StepPart::first) != (t == 0);
    if (code < 0) continue;
    const Span& span = layout_.spans[k];
    std::fill_n(levels + span.start, span.width, kImpossible);
    levels[span.start + code] = 0;
  }
  return all;
}

void StepRows::take(const int32_t* drawn, int64_t t, int64_t end, int32_t* steps) const {
  for (size_t k = static_cast<size_t>(given_); k < cells_.size(); ++k) {
    const Cell& cell = cells_[k];
    if (whole_ && cell.step >= end) continue;
    // An absent code, which a step draws hardly ever where there must be one, becomes one of the middle.
    const int32_t code = drawn[k - static_cast<size_t>(given_)];
    steps[(whole_ ? cell.step : t) * codes_ + cell.span] = code == cell.absent ? cell.absent / 2 : code;
  }
}

EncodedTable StepRows::table(const EncodedSequences& s, Team& team) const {
  EncodedTable out;
  out.codes = Bulk<int32_t>(team.limit(), "encoded rows");
  out.codes.expect_random_reads();
  const int attribute_codes = encoder_.attributes().codes();
  const auto add_row = [&](size_t sequence, int64_t t) {
    const int32_t* attributes =
        attribute_codes > 0 ? s.attributes.codes.data() + static_cast<int64_t>(sequence) * attribute_codes : nullptr;
    const int32_t* steps = s.steps.codes.data() + int64_t{s.first[sequence]} * codes_;
    const Place place{t, s.length[sequence],
                      s.calendar.data() + (s.first[sequence] + t) * encoder_.calendar().cycles()};
    for (const Cell& cell : cells_) out.codes.push_back(code(cell, attributes, steps, place));
    ++out.rows;
  };
  // Windows share rows: each row of the series is learned once as a step that sees as many steps as it may, and about
  // once as one of the first steps of a window. The first one is an attribute.
  const bool windows = encoder_.begins_anywhere();
  int64_t end = 0;  // of the windows so far
  for (size_t i = 0; i < s.first.size(); ++i) {
    const int64_t first = s.first[i], length = s.length[i];
    if (whole_) {
      add_row(i, 0);
    } else if (!windows) {
      for (int64_t t = 0; t < length; ++t) add_row(i, t);
    } else {
      const int64_t fresh = std::clamp<int64_t>(first + length - end, 0, length),
                    early = std::min<int64_t>(memory_, length - 1);
      for (int64_t t = std::max(length - fresh, early + 1); t < length; ++t) add_row(i, t);
      // Which one is random, so that it does not follow a period of the series.
      const auto at = static_cast<int64_t>(mixed_bits(static_cast<uint64_t>(i)) %
                                           static_cast<uint64_t>(std::max<int64_t>(early, 1)));
      for (int64_t k = 0; k < std::min(fresh, early); ++k) add_row(i, 1 + (at + k) % early);
      end = std::max(end, first + length);
    }
  }
  return out;
}

namespace {

class MadeDrawer : public StepDrawer {
 public:
  MadeDrawer(const StepRows& rows, const Made& network, const SequenceEncoder& encoder, const FittedState& kept,
             const Target& target, int64_t batch)
      : rows_(rows),
        network_(network),
        encoder_(encoder),
        kept_(kept),
        target_(target),
        batch_(static_cast<size_t>(batch)),
        identity_(3 * batch_),
        given_(batch_ * static_cast<size_t>(rows.given())) {}

  void draw(const SequencesToDraw& of, float*, int32_t* codes) override { draw(of, codes, nullptr); }
  int steps_near_end() const override { return rows_.steps_near_end(); }
  std::vector<double> log_near_end(const SequencesToDraw& of) override {
    const size_t n = of.ids.size();
    std::vector<int32_t> codes(n * static_cast<size_t>(of.given->longest * encoder_.steps().codes()));
    std::vector<double> out(n, 0);
    draw(of, codes.data(), &out);
    return out;
  }

 private:
  // `log_end`: of each sequence, for log_near_end(): only given steps are drawn.
  void draw(const SequencesToDraw& of, int32_t* codes, std::vector<double>* log_end) {
    const size_t n = of.ids.size();
    const int64_t longest = of.given != nullptr ? of.given->longest : encoder_.longest(),
                  width = encoder_.steps().codes();
    int64_t steps = rows_.whole() ? 1 : *std::max_element(of.lengths.begin(), of.lengths.end());
    if (log_end != nullptr) {
      const auto lengths = of.given->sequences.length.begin() + static_cast<std::ptrdiff_t>(of.given_first);
      steps = *std::max_element(lengths, lengths + static_cast<std::ptrdiff_t>(n));
    }
    std::vector<StepCoding::Values> values(n);
    for (size_t i = 0; i < n; ++i) values[i].statics = &of.attributes, values[i].sequence = static_cast<int64_t>(i);
    std::vector<int32_t> step(n * static_cast<size_t>(width)), known(step.size());
    const auto at = [&](size_t i, int64_t t) { return codes + (static_cast<int64_t>(i) * longest + t) * width; };
    const auto given_at = [&](size_t i, int64_t t) {
      return of.given != nullptr && t < of.given->sequences.length[of.given_first + i];
    };
    const auto near_end = [&](size_t i, int64_t t) {
      return log_end != nullptr && given_at(i, t) && !given_at(i, t + rows_.steps_near_end());
    };
    for (int64_t t = 0; t < steps; ++t) {
      bool all = true;
      if (of.given != nullptr) evidence_.assign(batch_ * static_cast<size_t>(rows_.layout().data_width), 0.0f);
      for (size_t i = 0; i < n; ++i) {
        if (!given_at(i, t)) {
          all = all && (log_end != nullptr || t >= of.lengths[i]);
          continue;
        }
        float* levels = evidence_.data() + i * static_cast<size_t>(rows_.layout().data_width);
        int32_t* own = known.data() + i * static_cast<size_t>(width);
        encoder_.given_codes(*of.given, of.given_first + i, t, values[i], own);
        all = rows_.allow(own, t, levels) && all && !near_end(i, t);
        for (int64_t later = 1; rows_.whole() && given_at(i, later); ++later) allow_later(of, i, later, levels);
      }
      if (t == 0 && encoder_.begins_anywhere()) {
        for (size_t i = 0; i < n; ++i)
          encoder_.first_step(of.codes + i * static_cast<size_t>(encoder_.attributes().codes()), at(i, 0));
      } else if (!all || rows_.whole()) {
        run(of, t, codes, longest, values);
        for (size_t i = 0; i < n; ++i)
          if (near_end(i, t))
            (*log_end)[i] += row_value(*continuing_, continuing_->find("log_weight"), static_cast<int64_t>(i));
        for (size_t i = 0; i < n; ++i) rows_.take(drawn_.data() + i * (drawn_.size() / batch_), t, longest, at(i, 0));
      }
      if (rows_.whole()) return;
      for (size_t i = 0; i < n; ++i) {
        for (int64_t k = 0; given_at(i, t) && k < width; ++k)
          if (const int32_t code = known[i * static_cast<size_t>(width) + static_cast<size_t>(k)]; code >= 0)
            at(i, t)[k] = code;
        std::copy_n(at(i, t), width, step.begin() + static_cast<int64_t>(i) * width);
      }
      encoder_.advance(step.data(), of.ids.data(), static_cast<int64_t>(n), t, target_.seed, values, of.given,
                       of.given_first);
      // a first step keeps the codes that it drew
      for (size_t i = 0; t > 0 && i < n; ++i)
        std::copy_n(step.begin() + static_cast<int64_t>(i) * width, width, at(i, t));
    }
  }

  // Of a row that is a sequence: all given steps at once, from their values.
  void allow_later(const SequencesToDraw& of, size_t i, int64_t t, float* levels) const {
    StepCoding::Values before;
    before.statics = &of.attributes, before.sequence = static_cast<int64_t>(i);
    const auto known = of.given->of(of.given_first + i);
    const auto columns = static_cast<std::ptrdiff_t>(encoder_.coding().columns().size());
    for (std::ptrdiff_t s = 0; s < t; ++s)
      before.step(), before.here.assign(known.begin() + s * columns, known.begin() + (s + 1) * columns);
    std::vector<int32_t> own(static_cast<size_t>(encoder_.steps().codes()));
    encoder_.given_codes(*of.given, of.given_first + i, t, before, own.data());
    rows_.allow(own.data(), t, levels);
  }

  // Codes of the drawn columns of step t of the batch, the last sequence repeated.
  void run(const SequencesToDraw& of, int64_t t, const int32_t* codes, int64_t longest,
           const std::vector<StepCoding::Values>& before) {
    const bool given = of.given != nullptr;  // always the same program: the same bits in any batch
    const size_t n = of.ids.size(), attribute_codes = static_cast<size_t>(encoder_.attributes().codes());
    std::unique_ptr<Program>& program = given ? continuing_ : program_;
    if (program == nullptr) {
      program = compile(target_, Purpose::sample_steps, [&](Recorder& r) {
        record_sampling(r, network_, static_cast<int64_t>(batch_),
                        given ? Known{static_cast<int64_t>(batch_)} : Known{});
      });
      load_states(*program, kept_.states);
      program->bind_if("rows", identity_.data());
      program->bind_if("given", given_.data());
      if (given) program->bind_if("evidence", evidence_.data());
    }
    std::vector<Candidate> candidates;
    for (const int64_t id : of.ids) candidates.push_back({id, static_cast<int32_t>(t) + of.attempt * kLongestSequence});
    identify(candidates, identity_);
    std::vector<int8_t> calendar(static_cast<size_t>(encoder_.calendar().cycles()));
    for (size_t i = 0; i < batch_ && rows_.given() > 0; ++i) {
      const size_t k = std::min(i, n - 1);
      if (!calendar.empty()) encoder_.calendar_of(of.attributes, before[k], t, calendar.data());
      rows_.give(attribute_codes > 0 ? of.codes + k * attribute_codes : nullptr,
                 codes + static_cast<int64_t>(k) * longest * encoder_.steps().codes(),
                 {t, of.lengths[k], calendar.data()}, given_.data() + i * static_cast<size_t>(rows_.given()));
    }
    program->refresh({"rows", "given"});
    if (given) program->refresh({"evidence"});
    program->run(1);
    drawn_ = program->read<int32_t>(program->find("codes"));
  }

  const StepRows& rows_;
  const Made& network_;
  const SequenceEncoder& encoder_;
  const FittedState& kept_;
  const Target target_;
  size_t batch_;
  std::vector<int32_t> identity_, given_, drawn_;
  std::vector<float> evidence_;
  std::unique_ptr<Program> program_, continuing_;
};

// Of attributes, with which windows draw their first step.
MadeConfig attribute_config_of(const SequenceEncoder& encoder, MadeConfig config) {
  if (encoder.begins_anywhere()) config.batch = std::min(config.batch, kBatchOfSteps);
  config.alike = encoder.options().length > 0;
  return config;
}
MadeConfig config_of(const StepRows& rows, MadeConfig config) {
  if (rows.whole()) return config;
  config.batch = std::min(config.batch, kBatchOfSteps), config.alike = true;
  return config;
}

class MadeSteps : public SequenceMethod {
 public:
  MadeSteps(const SequenceEncoder& encoder, const MadeConfig& config)
      : encoder_(encoder),
        config_(attribute_config_of(encoder, config)),
        rows_(encoder, config.seen_codes),
        network_(rows_.layout(), config_of(rows_, config_), Sees::columns_before, rows_.given()),
        method_(
            make_made_after(rows_.layout(), rows_.given(), config_of(rows_, config_), encoder.options().length == 0)) {}

  const MethodSpec& spec() const override { return kMade; }
  std::vector<Phase> phases() const override { return method_->phases(); }
  double learning_rate() const override { return method_->learning_rate(); }
  void prepare(const EncodedSequences& sequences, Team& team) override {
    table_ = rows_.table(sequences, team);
    method_->prepare(table_, team);
    team_ = &team;
  }
  States start(uint64_t seed) const override { return method_->start(seed); }
  void record_training(Recorder& r, size_t phase, int64_t steps) const override {
    method_->record_training(r, phase, steps);
  }
  void bind(Program& p) const override { method_->bind(p); }
  void relax() const override { method_->relax(); }
  int64_t random_rows() const override { return method_->random_rows(); }
  FittedState keep(States end, const RunContext& context) const override {
    return method_->keep(std::move(end), context);
  }
  void assist(const RunContext& context) const override { method_->assist(context); }
  int64_t bytes_after(const RunContext& context) const override { return method_->bytes_after(context); }
  double rows_after() const override { return method_->rows_after(); }
  std::unique_ptr<HeldOut> held_out(const EncodedSequences& sequences, const RunContext& context) const override {
    held_ = rows_.table(sequences, *team_);
    return method_->held_out(held_, context);
  }
  bool holds_out_parts() const override { return true; }
  std::unique_ptr<StepDrawer> drawer(const FittedState& kept, const Target& target, int64_t batch) const override {
    return std::make_unique<MadeDrawer>(rows_, network_, encoder_, kept, target, batch);
  }
  int longest_continued() const override { return rows_.whole() ? encoder_.longest() : kLongestSequence; }
  MethodConfig attribute_config(int64_t) const override { return {kMade, std::make_unique<MadeConfig>(config_)}; }

  void visit_tensors(const FittedState& kept, const std::function<void(const TensorSpec&)>& visit) const override {
    method_->visit_tensors(kept, visit);
  }
  int64_t parameters() const override { return method_->parameters(); }
  std::vector<std::string> networks() const override { return method_->networks(); }

 private:
  const SequenceEncoder& encoder_;
  MadeConfig config_;
  StepRows rows_;
  Made network_;
  std::unique_ptr<RowMethod> method_;
  EncodedTable table_;
  mutable EncodedTable held_;
  Team* team_ = nullptr;
};

}  // namespace

std::unique_ptr<SequenceMethod> make_made_steps(const SequenceEncoder& encoder, const MethodConfig& config) {
  const MadeConfig& own = config.as<MadeConfig>();
  if (own.any_order)
    throw Error(ErrorCode::usage, "`any_order` is for rows: it proposes rows with given cells. Omit it.");
  return std::make_unique<MadeSteps>(encoder, own);
}

}  // namespace tessera
