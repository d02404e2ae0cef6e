#include "models/made/candidates.h"

#include <algorithm>
#include <cmath>

#include "models/method/importance.h"

namespace tessera {
namespace {

constexpr int64_t kPilotRows = 4096;
constexpr int kFirstProposals = 8;  // per row, by the any-order network, whose proposals are close to the target

// Levels that violate the condition get probability 0; a bin that the condition cuts gets its allowed share. The
// candidate is then accepted with probability Π P(allowed levels of a column | columns before) over a bound.
class MadeRows : public RowGenerator {
 public:
  MadeRows(const Made& network, const FittedState& kept, const std::vector<AllowedLevels>& allowed, uint64_t seed,
           Team& team)
      : network_(network), seed_(seed) {
    known_.columns.assign(network.columns.size(), 0);
    evidence_.assign(static_cast<size_t>(network.levels), 0);
    for (const AllowedLevels& a : allowed) forbid(a);
    if (known_.rows > 0) survey(kept, team);
  }

  void record(Recorder& r, int64_t batch) const override { record_sampling(r, network_, batch, known_); }
  void bind(Program& p) override {
    if (known_.rows == 0) return;
    p.bind_if("evidence", evidence_.data());
    log_weight_ = p.find("log_weight");
  }

  bool accepts(const Program& p, int64_t i, const Candidate& c) const override {
    if (known_.rows == 0) return true;
    return accepts_weight(row_value(p, log_weight_, i) - log_bound_, seed_, c);
  }
  double effective() const override { return effective_; }

 private:
  // A condition that all levels meet, or none, is ignored; if none does, the search reports it.
  void forbid(const AllowedLevels& a) {
    const bool all = std::all_of(a.share.begin(), a.share.end(), [](float s) { return s == 1; });
    const bool none = std::all_of(a.share.begin(), a.share.end(), [](float s) { return s == 0; });
    if (all || none) return;
    known_.rows = 1;
    for (size_t j = 0; j < network_.columns.size(); ++j)
      if (network_.columns[j].start == a.span->start) known_.columns[j] = 1;
    for (size_t k = 0; k < a.share.size(); ++k)
      evidence_[static_cast<size_t>(a.span->start) + k] = a.share[k] > 0 ? std::log(a.share[k]) : kImpossible;
  }

  void survey(const FittedState& kept, Team& team) {
    const auto program =
        compile({team, seed_}, Purpose::pilot, [&](Recorder& r) { record_sampling(r, network_, kPilotRows, known_); });
    std::vector<int32_t> identity(static_cast<size_t>(3 * kPilotRows), 0);
    for (int64_t i = 0; i < kPilotRows; ++i) identity[static_cast<size_t>(3 * i)] = static_cast<int32_t>(i);
    program->bind_if("rows", identity.data());
    program->bind_if("evidence", evidence_.data());
    load_states(*program, kept.states);
    program->run(1);
    std::vector<double> weights;
    double mass = 0;
    for (const float l : program->read<float>(program->find("log_weight")))
      mass += weights.emplace_back(std::exp(static_cast<double>(l)));
    effective_ = effective_share(weights);
    if (!(mass > 0)) return;  // all weights underflow: accept every candidate
    std::vector<WeighedDraw> draws;
    for (const double w : weights) draws.push_back({w});
    log_bound_ = std::log(acceptance_bound(std::move(draws), mass));
  }

  const Made& network_;
  uint64_t seed_;
  Known known_;
  std::vector<float> evidence_;
  double log_bound_ = -INFINITY, effective_ = 1;
  Id log_weight_ = kNone;
};

class MadeGiven : public GivenGenerator {
 public:
  MadeGiven(const Made& network, const Made* any_order) : network_(network), any_order_(any_order) {}

  void record(Recorder& r, int64_t batch) const override {
    if (any_order_ != nullptr) record_any_order(r, network_, *any_order_, batch);
    else record_sampling(r, network_, batch, {batch});
  }
  void bind(Program& p) override {
    const Shape shape = p.plan().shape(p.plan().find_leaf("evidence"));
    evidence_.assign(static_cast<size_t>(shape.count()), 0);
    p.bind("evidence", evidence_.data());
    log_weight_ = p.find("log_weight");
    if (any_order_ == nullptr) return;
    const auto cells = static_cast<size_t>(shape.rows * network_.count());
    shown_.assign(cells, -1), hidden_.assign(cells, 1);
    p.bind("shown", shown_.data());
    p.bind("hidden", hidden_.data());
  }
  void give(Program& p, const GivenCells& cells) override {
    std::copy(cells.levels.begin(), cells.levels.end(), evidence_.begin());
    if (any_order_ == nullptr) return p.refresh({"evidence"});
    const size_t columns = network_.columns.size();
    for (size_t cell = 0; cell < shown_.size(); ++cell) {
      const Span& span = network_.columns[cell % columns];
      shown_[cell] = only_level(span, evidence_.data() + static_cast<int64_t>(cell / columns) * network_.levels);
      hidden_[cell] = shown_[cell] < 0 ? 1 : 0;
    }
    p.refresh({"evidence", "shown", "hidden"});
  }
  double log_weight(const Program& p, int64_t i) const override { return row_value(p, log_weight_, i); }
  bool draws_in_order() const override { return any_order_ == nullptr; }
  int first_candidates() const override {
    return any_order_ != nullptr ? kFirstProposals : GivenGenerator::first_candidates();
  }

 private:
  // The only level that the evidence allows; −1 if it allows several, or none.
  static int32_t only_level(const Span& span, const float* evidence) {
    int32_t only = -1;
    for (int k = span.start; k < span.start + span.width; ++k) {
      if (!(evidence[k] > kImpossible / 2)) continue;
      if (only >= 0) return -1;
      only = k;
    }
    return only;
  }

  const Made& network_;
  const Made* any_order_;  // null: none
  std::vector<float> evidence_, hidden_;
  std::vector<int32_t> shown_;
  Id log_weight_ = kNone;
};

}  // namespace

std::unique_ptr<RowGenerator> make_made_rows(const Made& network, const FittedState& kept,
                                             const std::vector<AllowedLevels>& allowed, uint64_t seed, Team& team) {
  return std::make_unique<MadeRows>(network, kept, allowed, seed, team);
}

std::unique_ptr<GivenGenerator> make_made_given(const Made& network, const Made* any_order) {
  return std::make_unique<MadeGiven>(network, any_order);
}

}  // namespace tessera
