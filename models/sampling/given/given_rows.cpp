#include "models/sampling/given/given_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/run/compile.h"
#include "kernels/math/philox.h"
#include "models/sampling/given/kept_rules.h"
#include "models/sampling/identities.h"
#include "models/training/checkpoint.h"
#include "tables/notice.h"

namespace tessera {
namespace {

constexpr int64_t kGivenBatch = 4096, kGivenBlock = 1024;  // candidates generated, and rows completed, at a time
constexpr int64_t kMaxGivenBatch = 1 << 15;                // candidates; the given cells of their rows fit into memory
constexpr int kNearestOf = 256;                            // candidates per row if the method cannot weight them
constexpr double kEmpty = 1e3;     // distance of a missing cell that must be filled: larger than all others
constexpr uint32_t kResample = 1;  // use of Purpose::propose; CTGAN's conditions are use 0

// State of one row's candidates: the current choice, and sums of their weights.
struct Row {
  bool leads = false, done = false;
  bool whole = false;       // all cells are given
  int tried = 0, kept = 0;  // candidates, and those that satisfy all rules
  int empty = 0;            // cells of the current choice that must be filled and are missing
  // For each code, the nearest candidate that fills such a cell.
  struct Donor {
    double near = -INFINITY;
    int32_t code = 0;
    float alpha = 0;
  };
  std::vector<Donor> donors;
  double key = -INFINITY;
  int32_t attempt = 0;
  std::vector<int32_t> codes;
  std::vector<float> alphas;
  double top = -INFINITY, sum = 0, squares = 0;  // of exp(ln w − top)

  void weigh(double log_weight) {
    if (log_weight > top) {
      const double scale = top > -INFINITY ? std::exp(top - log_weight) : 0;
      sum *= scale, squares *= scale * scale, top = log_weight;
    }
    const double w = std::exp(log_weight - top);
    sum += w, squares += w * w;
  }
  double effective() const { return squares > 0 ? sum * sum / squares : 0; }
};

class Given : public GivenStream {
 public:
  Given(std::shared_ptr<const RowModel> model, Table given, const GivenOptions& options, Team& team,
        const Monitor& monitor)
      : model_(std::move(model)),
        options_(options),
        team_(team),
        monitor_(monitor),
        columns_(*model_),
        cells_(*model_, columns_, std::move(given), {options.completes, place_of(options)}, team),
        open_(*model_, columns_, cells_.table()),
        rules_(*model_, columns_, cells_, options.where) {
    report_.empty.assign(columns_.table().columns.size(), 0);
    if (const std::string line = rules_.misread_numbers(); !line.empty()) notice(monitor_, line);
    if (model_->learned()) build();
  }

  const Table& schema() const override { return columns_.table(); }
  GivenReport report() const override {
    GivenReport r = report_;
    if (r.resampled > 0) r.effective /= static_cast<double>(r.resampled);
    r.nearest = generator_ == nullptr && model_->learned();
    return r;
  }

  bool next(Table& batch) override {
    if (next_ >= cells_.rows()) return false;
    const int64_t first = next_, n = std::min(cells_.rows() - first, kGivenBlock);
    std::vector<Row> rows(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      Row& r = rows[static_cast<size_t>(i)];
      r.leads =
          generator_ != nullptr && generator_->draws_in_order() && cells_.leads(first + i) && !open_.any(first + i);
      r.whole = std::ranges::none_of(cells_.table().columns, [&](const Column& c) { return c.is_missing(first + i); });
    }
    for (std::vector<Candidate> wanted = candidates_of(rows, first); !wanted.empty();
         wanted = candidates_of(rows, first))
      for (size_t at = 0; at < wanted.size(); at += static_cast<size_t>(batch_))
        consider({wanted.data() + at, std::min(static_cast<size_t>(batch_), wanted.size() - at)}, rows, first);
    fill(rows, first);
    batch = taken(rows, first);
    next_ += n;
    note(rows);
    monitor_.check_cancelled("sample");
    monitor_.report(
        {"sample", static_cast<double>(next_), static_cast<double>(cells_.rows()), "rows", "", next_ == cells_.rows()});
    return true;
  }

 private:
  static std::function<std::string(int64_t)> place_of(const GivenOptions& options) {
    if (options.place) return options.place;
    return [](int64_t row) { return row < 0 ? std::string("the given rows") : fmt::format("row {}", row + 1); };
  }

  void build() {
    method_ = model_->method();
    generator_ = method_->given_generator(model_->kept, options_.seed, team_);
    if (generator_ == nullptr) plain_ = method_->row_generator(model_->kept, {}, options_.seed, team_);
    const int64_t wanted = options_.batch > 0 ? std::min<int64_t>(options_.batch, kMaxGivenBatch) : kGivenBatch;
    batch_ = std::max<int64_t>(std::min(wanted, cells_.rows() * first_candidates()), 2);
    Device& device = options_.device ? *options_.device : Device::processor();
    program_ = compile({team_, options_.seed, device, {}, options_.precision}, Purpose::sample,
                       [&](Recorder& r) { source().record(r, batch_); });
    load_states(*program_, model_->kept.states);
    identity_.resize(static_cast<size_t>(3 * batch_));
    program_->bind_if("rows", identity_.data());
    source().bind(*program_);
    const RowLayout& layout = model_->encoder.layout();
    width_ = layout.data_width, code_width_ = layout.codes(), alpha_width_ = layout.alphas();
    given_.levels.resize(static_cast<size_t>(batch_ * width_));
    given_.alphas.resize(static_cast<size_t>(batch_ * alpha_width_));
    given_.known.resize(static_cast<size_t>(batch_ * alpha_width_));
  }
  RowGenerator& source() const { return generator_ != nullptr ? *generator_ : *plain_; }

  // The next candidates of the rows that need more: the number is doubled in each round.
  std::vector<Candidate> candidates_of(std::vector<Row>& rows, int64_t first) const {
    std::vector<Candidate> out;
    for (size_t i = 0; i < rows.size(); ++i) {
      Row& r = rows[i];
      if (r.done) continue;
      const int more = !model_->learned() || (r.leads && !rules_.any()) ? 1
                       : r.tried == 0                                   ? std::min(first_candidates(), most())
                                                                        : std::min(r.tried, most() - r.tried);
      for (int k = 0; k < more; ++k) out.push_back({first + static_cast<int64_t>(i), r.tried + k});
    }
    return out;
  }

  void consider(std::span<const Candidate> candidates, std::vector<Row>& rows, int64_t first) {
    std::vector<int32_t> codes(static_cast<size_t>(batch_ * code_width_));
    std::vector<float> alphas(static_cast<size_t>(batch_ * alpha_width_));
    if (program_ != nullptr) run(candidates, codes, alphas);
    std::vector<double> weights(candidates.size(), 0);
    std::vector<int> empty(candidates.size(), 0);
    if (generator_ != nullptr)
      for (size_t k = 0; k < weights.size(); ++k)
        weights[k] = generator_->log_weight(*program_, static_cast<int64_t>(k));
    const bool nearest = program_ != nullptr && generator_ == nullptr;
    if (rules_.any() || nearest) check(candidates, codes, alphas, nearest, weights, empty);
    report_.candidates += static_cast<int64_t>(candidates.size());
    for (size_t k = 0; k < candidates.size(); ++k)
      add(rows[static_cast<size_t>(candidates[k].row - first)], candidates[k], weights[k], empty[k],
          codes.data() + static_cast<int64_t>(k) * code_width_, alphas.data() + static_cast<int64_t>(k) * alpha_width_,
          nearest);
    for (const Candidate& c : candidates) choose(rows[static_cast<size_t>(c.row - first)]);
  }

  void run(std::span<const Candidate> candidates, std::vector<int32_t>& codes, std::vector<float>& alphas) {
    identify(candidates, identity_);
    for (int64_t i = 0; generator_ != nullptr && i < batch_; ++i) {
      const int64_t row = candidates[std::min(static_cast<size_t>(i), candidates.size() - 1)].row;
      cells_.write(row, given_.levels.data() + i * width_, given_.alphas.data() + i * alpha_width_,
                   given_.known.data() + i * alpha_width_);
    }
    if (generator_ != nullptr) generator_->give(*program_, given_);
    source().choose(*program_, candidates);
    program_->refresh({"rows"});
    program_->run(1);
    codes = program_->read<int32_t>(program_->find("codes"));
    alphas = program_->read<float>(program_->find("alphas"));
  }

  // Candidates that break a rule with the given cells have weight 0; if the method has no weights, the distance to the
  // given cells decides.
  void check(std::span<const Candidate> candidates, const std::vector<int32_t>& codes, const std::vector<float>& alphas,
             bool nearest, std::vector<double>& weights, std::vector<int>& empty) {
    constexpr int64_t kSlice = 256;
    const auto n = static_cast<int64_t>(candidates.size());
    team_.for_each((n + kSlice - 1) / kSlice, [&](int64_t s) {
      const int64_t from = s * kSlice, count = std::min(kSlice, n - from);
      Table rows = decode(candidates.subspan(static_cast<size_t>(from), static_cast<size_t>(count)),
                          codes.data() + from * code_width_, alphas.data() + from * alpha_width_);
      std::vector<int64_t> of;
      for (int64_t i = 0; i < count; ++i) of.push_back(candidates[static_cast<size_t>(from + i)].row);
      if (nearest) {
        Table drawn = rows;
        columns_.restore(drawn);
        const std::vector<double> far = rules_.distances(drawn, of);
        for (int64_t i = 0; i < count; ++i) weights[static_cast<size_t>(from + i)] = -far[static_cast<size_t>(i)];
      }
      const std::vector<double> share = restore(rows, of);
      for (int64_t i = 0; i < count; ++i) weights[static_cast<size_t>(from + i)] += share[static_cast<size_t>(i)];
      if (nearest && options_.completes) {
        std::ranges::copy(rules_.empty(rows, of, nullptr), empty.begin() + from);
        for (int64_t i = from; i < from + count; ++i)
          weights[static_cast<size_t>(i)] -= kEmpty * empty[static_cast<size_t>(i)];
      }
      const std::vector<int> broken = rules_.broken(std::move(rows), of, !nearest, team_);
      for (int64_t i = 0; i < count; ++i)
        if (const int rules = broken[static_cast<size_t>(i)]; rules > 0)
          weights[static_cast<size_t>(from + i)] +=
              rules != KeptRules::kNotTheCondition && options_.completes ? kBroken * rules : -INFINITY;
    });
  }

  // Adds a candidate of a row; the largest key ln w + Gumbel noise is a draw by weight, whatever comes later.
  void add(Row& r, const Candidate& c, double log_weight, int empty, const int32_t* codes, const float* alphas,
           bool nearest) const {
    ++r.tried;
    if (!(log_weight > static_cast<double>(kImpossible) / 2)) return;
    if (nearest && options_.completes) keep_donors(r, c.row, log_weight + kEmpty * empty, codes, alphas);
    if (log_weight > kBroken / 2) ++r.kept, r.weigh(log_weight);
    const Philox w = random_words(options_.seed, Purpose::propose, kResample, static_cast<uint64_t>(c.row),
                                  static_cast<uint32_t>(c.attempt));
    const double noise = nearest ? 0 : -std::log(-std::log(open_uniform(w.word[0], w.word[1])));
    if (!(log_weight + noise > r.key)) return;
    r.key = log_weight + noise, r.attempt = c.attempt, r.empty = empty;
    r.codes.assign(codes, codes + code_width_), r.alphas.assign(alphas, alphas + alpha_width_);
  }

  void keep_donors(Row& r, int64_t row, double near, const int32_t* codes, const float* alphas) const {
    r.donors.resize(static_cast<size_t>(code_width_));
    for (size_t k = 0; k < r.donors.size(); ++k)
      if (near > r.donors[k].near && cells_.fills(row, k, codes[k]))
        r.donors[k] = {near, codes[k], cells_.alpha_of(k) < 0 ? 0 : alphas[cells_.alpha_of(k)]};
  }

  // Cells that the nearest candidate lacks are taken from the nearest one that has them, unless this breaks a rule.
  void fill(std::vector<Row>& rows, int64_t first) const {
    for (size_t i = 0; i < rows.size(); ++i) {
      Row& r = rows[i];
      if (r.empty == 0) continue;
      const int64_t row = first + static_cast<int64_t>(i);
      std::vector<int32_t> codes = r.codes;
      std::vector<float> alphas = r.alphas;
      for (size_t k = 0; k < r.donors.size(); ++k) {
        const Row::Donor& donor = r.donors[k];
        if (!(donor.near > -INFINITY) || !cells_.lacks(row, k, codes[k])) continue;
        codes[k] = donor.code;
        if (const int alpha = cells_.alpha_of(k); alpha >= 0) alphas[static_cast<size_t>(alpha)] = donor.alpha;
      }
      codes.push_back(0), alphas.push_back(0);  // pointers may be offset into this memory
      const Candidate taken{row, r.attempt};
      Table filled = decode({&taken, 1}, codes.data(), alphas.data());
      restore(filled, {row});
      if (r.kept > 0 && rules_.broken(std::move(filled), {row}, false, team_).front() > 0) continue;
      codes.pop_back(), alphas.pop_back();
      r.codes = std::move(codes), r.alphas = std::move(alphas);
    }
  }

  void choose(Row& r) const {
    if (!model_->learned() || r.tried >= most() || (r.whole && options_.completes)) r.done = true;
    else if (r.leads) r.done = r.kept > 0;
    else r.done = generator_ != nullptr && ends_a_round(r.tried) && 2 * r.effective() >= first_candidates();
  }
  // A row is checked at the end of a round, however its candidates are split into batches.
  bool ends_a_round(int tried) const {
    const int first = first_candidates();
    return tried >= first && tried % first == 0 && (tried / first & (tried / first - 1)) == 0;
  }
  int most() const { return generator_ != nullptr ? options_.most_candidates : kNearestOf; }
  int first_candidates() const { return generator_ != nullptr ? generator_->first_candidates() : kNearestOf; }

  // Decodes candidates to rows of the model.
  Table decode(std::span<const Candidate> candidates, const int32_t* codes, const float* alphas) const {
    std::vector<int64_t> ids;
    std::vector<int32_t> tries;
    for (const Candidate& c : candidates) ids.push_back(c.row), tries.push_back(c.attempt);
    return model_->encoder.decode(alphas, codes, ids.data(), static_cast<int64_t>(ids.size()), options_.seed,
                                  tries.data(), 0, nullptr,
                                  options_.completes ? Encoder::Identifiers::all : Encoder::Identifiers::as_fitted);
  }
  // Turns them into rows of the table; columns computed by rules use the given cells. Returns the ln of a factor of
  // each row's weight.
  std::vector<double> restore(Table& rows, const std::vector<int64_t>& of) const {
    cells_.put(rows, of);
    const std::vector<double> share = generator_ != nullptr ? open_.solve(rows, of) : std::vector<double>(of.size(), 0);
    columns_.restore(rows);
    return share;
  }

  Table taken(const std::vector<Row>& rows, int64_t first) {
    std::vector<Candidate> candidates;
    std::vector<int32_t> codes;
    std::vector<float> alphas;
    std::vector<int64_t> of;
    for (size_t i = 0; i < rows.size(); ++i) {
      const Row& r = rows[i];
      const int64_t row = first + static_cast<int64_t>(i);
      if (r.kept == 0 && r.key > -INFINITY && !r.whole && ++report_.broken == 1)
        report_.first_broken = cells_.place(row), report_.broken_by = broken_by(row);
      if (!(r.key > -INFINITY))
        throw Error(
            ErrorCode::condition,
            fmt::format("{}: none of {} candidates with the given cells satisfies the rules of the table{}{}.\n  "
                        "Leave more of its cells empty (the model's description lists the rules){}{}.",
                        cells_.place(row), r.tried, options_.where.empty() ? "" : " and `where`", broken_by(row),
                        options_.where.empty() ? "" : ", loosen the condition",
                        generator_ == nullptr ? "" : ", or allow more `max_candidates`"));
      candidates.push_back({row, r.attempt}), of.push_back(row);
      codes.insert(codes.end(), r.codes.begin(), r.codes.end());
      alphas.insert(alphas.end(), r.alphas.begin(), r.alphas.end());
    }
    codes.resize(codes.size() + 1), alphas.resize(alphas.size() + 1);  // pointers may be offset into this memory
    Table out = decode(candidates, codes.data(), alphas.data());
    restore(out, of);
    rules_.put_given(out, of);
    if (options_.completes) rules_.empty(out, of, &report_.empty);
    return out;
  }

  // The rules that the first candidates of a row break, as far as all break one.
  std::string broken_by(int64_t row) {
    std::vector<Candidate> candidates;
    for (int k = 0; k < std::min<int64_t>(first_candidates(), batch_); ++k) candidates.push_back({row, k});
    std::vector<int32_t> codes(static_cast<size_t>(batch_ * code_width_ + 1));
    std::vector<float> alphas(static_cast<size_t>(batch_ * alpha_width_ + 1));
    if (program_ != nullptr) run(candidates, codes, alphas);
    Table rows = decode(candidates, codes.data(), alphas.data());
    const std::vector<int64_t> of(candidates.size(), row);
    restore(rows, of);
    std::map<std::string, int64_t> by_rule;
    rules_.broken(std::move(rows), of, generator_ != nullptr, team_, &by_rule);
    std::vector<std::string> all;
    for (const auto& [rule, times] : by_rule)
      if (times >= std::ssize(candidates)) all.push_back(rule);
    return all.empty() ? "" : fmt::format(" (they break {})", fmt::join(all, " and "));
  }

  void note(const std::vector<Row>& rows) {
    report_.rows += static_cast<int64_t>(rows.size());
    if (generator_ == nullptr) return;
    for (const Row& r : rows) {
      if (r.leads) continue;
      ++report_.resampled;
      report_.effective += r.effective();
      if (r.effective() < GivenReport::kFewEffective) ++report_.few;
    }
  }

  // log weight of a candidate per broken rule, if none may be rejected
  static constexpr double kBroken = -1e6;

  std::shared_ptr<const RowModel> model_;
  GivenOptions options_;
  Team& team_;
  const Monitor& monitor_;
  ShownColumns columns_;
  KnownCells cells_;
  OpenInputs open_;
  KeptRules rules_;
  std::unique_ptr<RowMethod> method_;
  std::unique_ptr<GivenGenerator> generator_;  // null: the method has none, and plain_ is used
  std::unique_ptr<RowGenerator> plain_;        // without generator_
  std::unique_ptr<Program> program_;
  int64_t batch_ = kGivenBatch, width_ = 0, code_width_ = 0, alpha_width_ = 0, next_ = 0;
  std::vector<int32_t> identity_;
  GivenCells given_;
  GivenReport report_;
};

}  // namespace

std::unique_ptr<GivenStream> open_given(std::shared_ptr<const RowModel> model, Table given, const GivenOptions& options,
                                        Team& team, const Monitor& monitor) {
  return std::make_unique<Given>(std::move(model), std::move(given), options, team, monitor);
}

}  // namespace tessera
