// Sampling: row i of the infinite table depends only on (model, seed, where, i). Its noise is keyed by i and the number
// of the try, so any batch, thread count or offset gives the same rows. Under conditions the method proposes candidates
// that are likely to meet them (Method::row_generator); every row written is checked against all terms. Under
// calibration a row's candidates are (i, 0), (i, 1), …: the first accepted one is the row; after a bound the most
// likely one is taken. Generation, density ratio, acceptance and compaction are one plan: of a rejected candidate only
// its weight is copied to the host, except under conditions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <unordered_map>

#include "engine/run/compile.h"
#include "kernels/math/philox.h"
#include "models/fitted/row_model.h"
#include "models/sampling/allowed.h"
#include "models/sampling/identities.h"
#include "models/sampling/possible.h"
#include "models/sampling/row_stream.h"
#include "models/training/checkpoint.h"
#include "tables/expression/where.h"
#include "tables/identifiers/identifier.h"
#include "tables/kinds/row_formats.h"
#include "tables/notice.h"

namespace tessera {
namespace {

constexpr int kDefaultBatch = 4096;
constexpr int64_t kMinBatch = 16;                          // that a want of memory is tried with
constexpr int64_t kSlice = 512;                            // rows decoded at a time by one thread
constexpr int64_t kBlock = 1024, kCalibratedBlock = 4096;  // rows searched for at a time
constexpr double kFewEffective = 0.5;            // share of effective candidates below which a notice names it
constexpr int64_t kHopeless = int64_t{1} << 20;  // candidates of a block of rows without a match

class Rows : public RowStream {
 public:
  Rows(std::shared_ptr<const RowModel> model, Table schema, int64_t offset, int64_t count, const SampleOptions& options,
       Team& team, const Monitor& monitor)
      : model_(std::move(model)),
        options_(options),
        team_(team),
        monitor_(monitor),
        next_(offset),
        begun_(offset),
        offset_(offset),
        schema_(std::move(schema)) {
    if (offset < 0 || count < 0 || offset > INT64_MAX - count)
      throw Error(ErrorCode::usage,
                  fmt::format("rows {} to {} + {}: offset and count must not be negative.", offset, offset, count));
    end_ = offset + count;
    if (!options.where.empty()) {
      where_ = parse_where(options.where, schema_), condition_ = fingerprint_of(options.where);
      if (where_.empty())
        throw Error(ErrorCode::usage, "`where`: the condition is empty. Omit it for rows under no condition.");
      check_possible(where_, *model_);
    }
    for (const std::string& rule : model_->rules.checked()) rules_.push_back(broken_where(rule, schema_));
    failed_.assign(where_.terms.size() + rules_.size(), 0);
    const Calibration& calibration = model_->calibration;
    tier_ = options.calibrate.value_or(calibration.chosen);
    if (!calibration.holds(tier_))
      throw Error(
          ErrorCode::usage,
          fmt::format("`calibrate={}`: this model is not calibrated to that tier{}. Fit it with `calibrate={}`, or "
                      "sample with `calibrate={}`.",
                      name(tier_), calibration.note.empty() ? "" : " (" + calibration.note + ")", name(tier_),
                      name(calibration.chosen)));
    report_.tier = tier_;
    for (const std::string& line : model_->encoder.narrow_identifiers(end_)) notice(monitor_, line);
    with_less_memory([] {});
  }

  bool next(Table& batch) override {
    while (ready_.empty()) {
      if (next_ >= end_) return false;
      with_less_memory([&] { searching() ? search() : make_plain(); });
    }
    batch = std::move(ready_.front());
    ready_.pop_front();
    report_.rows += batch.rows;
    monitor_.report({"sample", static_cast<double>(report_.rows), static_cast<double>(end_ - offset_), "rows",
                     searching() ? yield_note(report_.rows) : "", report_.rows == end_ - offset_});
    return true;
  }

  SampleReport report() const override { return report_; }

 private:
  // The state of the search for one row of a block.
  struct Search {
    bool done = false;
    int seen = 0;           // candidates that met the conditions
    int32_t likeliest = 0;  // the one of them with the highest weight
    float weight = 0;
  };

  bool searching() const { return checking() || tier_ != Tier::off; }
  bool checking() const { return !where_.empty() || !rules_.empty(); }
  int64_t block() const { return tier_ != Tier::off ? kCalibratedBlock : kBlock; }

  std::string yield_note(int64_t rows) const {
    return fmt::format("yield {:.3g} %", 100.0 * static_cast<double>(rows) /
                                             static_cast<double>(std::max<int64_t>(report_.candidates, 1)));
  }

  // Rows do not depend on the batch: where memory has no room for it, it is halved, and what failed is begun again.
  template <class F>
  void with_less_memory(F&& work) {
    for (;;) {
      const SampleReport report = report_;
      const std::vector<int64_t> failed = failed_;
      const int64_t tried = tried_;
      try {
        if (program_ == nullptr && model_->learned()) build();
        work();
        return;
      } catch (const Error& e) {
        if (e.code() != ErrorCode::memory || !halve_batch()) throw;
      } catch (const std::bad_alloc&) {
        if (!halve_batch()) throw;
      }
      report_ = report, failed_ = failed, tried_ = tried;
      ahead_.clear(), ready_.clear();
      begun_ = next_;
    }
  }
  bool halve_batch() {
    if (batch_ <= kMinBatch) return false;
    most_ = batch_ / 2;
    program_.reset();
    notice(monitor_, fmt::format("Memory has no room for a batch of {} rows: going on with {}.", batch_, most_));
    return true;
  }

  void build() {
    // A search generates several candidates per row; a few rows do not need a whole block.
    const int64_t most = searching() ? std::clamp<int64_t>(16 * std::min(end_ - next_, block()), 64, block())
                                     : std::max<int64_t>(end_ - next_, 1);
    // At least two: with one row a bias and a batch have the same shape, sums would be computed in another order, and
    // the row's last bits would differ.
    batch_ = std::max<int64_t>(std::min<int64_t>(options_.batch > 0 ? options_.batch : kDefaultBatch, most), 2);
    batch_ = std::min(batch_, most_);
    method_ = model_->method();
    allowed_ = {};
    if (!where_.empty()) allowed_ = allowed_levels(where_, *model_, ShownColumns(*model_));
    generator_ = method_->row_generator(model_->kept, allowed_.levels, options_.seed, team_);
    if (generator_->effective() < kFewEffective)
      notice(monitor_,
             fmt::format("`where`: columns before those of the condition are corrected by importance; {:.2g} % "
                         "of the candidates are effective.",
                         100 * generator_->effective()));
    if (tier_ != Tier::off)
      acceptance_ = std::make_unique<Acceptance>(model_->encoder, model_->calibration, tier_, options_.min_yield);
    Device& device = options_.device ? *options_.device : Device::processor();
    program_ = compile({team_, options_.seed, device, {}, options_.precision}, Purpose::sample,
                       [&](Recorder& r) { record(r); });
    load_states(*program_, model_->kept.states);
    identity_.resize(static_cast<size_t>(3 * batch_));
    program_->bind_if("rows", identity_.data());
    generator_->bind(*program_);
    const std::string kept = closed_up() ? "kept." : "";
    std::vector<Id> watched{program_->find(kept + "codes"), program_->find(kept + "alphas")};
    code_width_ = program_->plan().shape(watched[0]).cols;
    alpha_width_ = program_->plan().shape(watched[1]).cols;
    if (acceptance_ != nullptr) {
      acceptance_->bind(*program_);
      watched.insert(watched.end(), {program_->find("log_weight"), program_->find("kept")});
      if (closed_up()) watched.insert(watched.end(), {program_->find("kept.count"), program_->find("kept.row")});
    }
    program_->watch(watched);
  }

  // A batch of candidates; under calibration also their acceptance and compaction.
  void record(Recorder& r) const {
    generator_->record(r, batch_);
    if (acceptance_ == nullptr) return;
    const Var codes = r.var(r.plan.find("codes")), alphas = r.var(r.plan.find("alphas"));
    const Var kept = acceptance_->record(r, codes, alphas);
    if (!closed_up()) return;
    const auto closed = r.emit(CompactRows{}, {kept, codes, alphas});
    for (const auto& [value, name] : {std::pair{closed[0], "kept.count"},
                                      {closed[1], "kept.row"},
                                      {closed[2], "kept.codes"},
                                      {closed[3], "kept.alphas"}})
      r.output(value, name);
  }

  // The plan compacts accepted rows; under conditions the host checks every candidate.
  bool closed_up() const { return acceptance_ != nullptr && !checking(); }

  // Generated candidates: decoded rows, of the accepted or of all, in slices of kSlice.
  struct Decoded {
    std::vector<Table> slices;
    std::vector<int32_t> row;  // the candidate number of each
    const Table& slice(size_t i) const { return slices[i / kSlice]; }
    static int64_t place(size_t i) { return static_cast<int64_t>(i % kSlice); }
  };
  Decoded make(const std::vector<Candidate>& candidates) {
    begin(candidates);
    return decode(candidates);
  }

  // Candidates in flight: a device generates them while others are decoded.
  void begin(const std::vector<Candidate>& candidates) {
    if (program_ == nullptr) return;
    identify(candidates, identity_);
    generator_->choose(*program_, candidates);
    program_->refresh({"rows"});
    program_->start(1);
  }

  // The oldest batch in flight.
  Decoded decode(const std::vector<Candidate>& candidates) {
    Decoded out;
    const float* alphas = nullptr;
    const int32_t* codes = nullptr;
    if (program_ != nullptr) {
      program_->finish();
      codes = program_->watched<int32_t>(0);
      alphas = program_->watched<float>(1);
    }
    if (closed_up()) {
      const int32_t* row = program_->watched<int32_t>(5);
      // beyond the candidates the batch repeats the last one
      out.row.assign(
          row, std::lower_bound(row, row + *program_->watched<int32_t>(4), static_cast<int32_t>(candidates.size())));
    } else {
      out.row.resize(candidates.size());
      std::iota(out.row.begin(), out.row.end(), 0);
    }
    const int64_t n = static_cast<int64_t>(out.row.size());
    std::vector<int64_t> ids;
    std::vector<int32_t> tries;
    for (const int32_t k : out.row)
      ids.push_back(candidates[static_cast<size_t>(k)].row),
          tries.push_back(candidates[static_cast<size_t>(k)].attempt);
    out.slices.resize(static_cast<size_t>((n + kSlice - 1) / kSlice));
    team_.for_each(static_cast<int64_t>(out.slices.size()), [&](int64_t s) {
      const int64_t begin = s * kSlice, rows = std::min(kSlice, n - begin);
      Table& slice = out.slices[static_cast<size_t>(s)];
      slice = model_->encoder.decode(alphas + begin * alpha_width_, codes + begin * code_width_, ids.data() + begin,
                                     rows, options_.seed, tries.data() + begin, condition_,
                                     allowed_.parts.empty() ? nullptr : &allowed_.parts);
      if (tier_ != Tier::off) model_->calibration.map(slice, ids.data() + begin, tries.data() + begin, options_.seed);
      model_->rules.restore(slice);
    });
    return out;
  }

  void make_plain() {
    for (const size_t flights = program_ != nullptr ? static_cast<size_t>(program_->flights()) : 1;
         ahead_.size() < flights && begun_ < end_;) {
      const int64_t n = std::min(end_ - begun_, program_ != nullptr ? batch_ : kDefaultBatch);
      std::vector<Candidate> candidates(static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i) candidates[static_cast<size_t>(i)] = {begun_ + i, 0};
      begin(candidates);
      ahead_.push_back(std::move(candidates));
      begun_ += n;
    }
    Decoded rows = decode(ahead_.front());
    const int64_t n = static_cast<int64_t>(ahead_.front().size());
    ahead_.pop_front();
    for (Table& t : rows.slices) ready_.push_back(std::move(t));
    report_.candidates += n;
    next_ += n;
  }

  // Rows [next_, next_ + block()): every row generates try after try; the first accepted one is the row, independent of
  // the rest of the batch. When few rows are left, several of their next tries are generated at once, never more than
  // twice what is needed.
  void search() {
    const int64_t begin = next_, n = std::min(end_ - next_, block()), room = program_ != nullptr ? batch_ : kBlock;
    std::vector<int64_t> pending;
    for (int64_t i = 0; i < n; ++i) pending.push_back(begin + i);
    Table found = schema_;
    std::vector<int64_t> order;  // which row each row of `found` is
    std::vector<Search> searches(static_cast<size_t>(n));
    const int64_t hopeless = kHopeless / n;
    int64_t most = options_.max_tries > 0 ? options_.max_tries : std::min<int64_t>(kDefaultTries, hopeless);
    for (int64_t attempt = 0, ahead = 0; attempt < most; attempt += ahead) {
      const int64_t fit = std::max<int64_t>(room / static_cast<int64_t>(pending.size()), 1);
      ahead = std::min({fit, std::max<int64_t>(attempt, 1), most - attempt});
      std::vector<Candidate> tries;
      for (int64_t a = attempt; a < attempt + ahead; ++a)
        for (const int64_t row : pending) tries.push_back({row, static_cast<int32_t>(a)});
      in_batches(tries, room,
                 [&](const std::vector<Candidate>& batch) { consider(batch, begin, found, order, searches); });
      std::erase_if(pending, [&](int64_t row) { return searches[static_cast<size_t>(row - begin)].done; });
      if (options_.max_tries == 0 &&
          std::any_of(searches.begin(), searches.end(), [](const Search& s) { return s.seen > 0; }))
        most = kDefaultTries;
      monitor_.check_cancelled("sample");
      if (pending.empty()) break;
      const int64_t rows = report_.rows + n - static_cast<int64_t>(pending.size());
      monitor_.report(
          {"sample", static_cast<double>(rows), static_cast<double>(end_ - offset_), "rows", yield_note(rows), false});
    }
    settle(begin, searches, room, most, found, order);
    next_ += n;
    ready_.push_back(in_order(found, order, begin));
  }

  template <class F>
  static void in_batches(const std::vector<Candidate>& all, int64_t room, F&& body) {
    for (size_t from = 0; from < all.size(); from += static_cast<size_t>(room)) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(from);
      body({first, first + std::min<std::ptrdiff_t>(room, all.end() - first)});
    }
  }

  // Adds to `found` the accepted candidates of rows that were not found before.
  void consider(const std::vector<Candidate>& candidates, int64_t begin, Table& found, std::vector<int64_t>& order,
                std::vector<Search>& searches) {
    const Decoded made = make(candidates);
    const std::vector<char> meets = check_conditions(made);
    const float* log_weight = acceptance_ != nullptr ? program_->watched<float>(2) : nullptr;
    const float* kept = acceptance_ != nullptr ? program_->watched<float>(3) : nullptr;
    tried_ += static_cast<int64_t>(candidates.size());
    size_t next = 0;  // of the decoded ones
    for (size_t k = 0; k < candidates.size(); ++k) {
      const size_t at = next;
      const bool decoded = at < made.row.size() && made.row[at] == static_cast<int32_t>(k);
      next += decoded ? 1 : 0;
      Search& s = searches[static_cast<size_t>(candidates[k].row - begin)];
      if (s.done) continue;
      ++report_.candidates;
      if (!accepted(k, candidates[k])) {
        // rejected because the proposed levels are rare
        for (const size_t term : allowed_.terms) ++failed_[term];
        continue;
      }
      if (decoded && meets[at] == 0) continue;
      if (kept != nullptr && !std::isfinite(log_weight[k]))
        throw Error(ErrorCode::numeric,
                    fmt::format("calibration weighs row {} with a value that is not finite: the weights in the model "
                                "file are damaged.\n  Use an intact copy, or sample with `calibrate=off`.",
                                candidates[k].row));
      ++s.seen;
      if (kept != nullptr && !ends_search(candidates[k], log_weight[k], kept[k] > 0, s)) continue;
      s.done = true;
      if (s.seen > kMaxTries) continue;  // settle() takes the most likely one
      append(found, made.slice(at), Decoded::place(at));
      order.push_back(candidates[k].row);
    }
  }

  // For every decoded row, whether it meets all terms and breaks no rule.
  std::vector<char> check_conditions(const Decoded& made) {
    std::vector<char> all, meets, broken;
    std::vector<int64_t> failed, kept;
    for (const Table& t : made.slices) {
      match_where(where_, t, meets, failed);
      for (size_t term = 0; term < failed.size(); ++term) failed_[term] += failed[term];
      for (size_t rule = 0; rule < rules_.size(); ++rule) {
        match_where(rules_[rule], t, broken, kept);
        failed_[where_.terms.size() + rule] += std::count(broken.begin(), broken.end(), 1);
        for (size_t i = 0; i < broken.size(); ++i)
          if (broken[i] != 0) meets[i] = 0;
      }
      all.insert(all.end(), meets.begin(), meets.end());
    }
    return all;
  }

  // Whether the s.seen-th candidate that meets the conditions ends the search for its row under calibration.
  static bool ends_search(const Candidate& c, float log_weight, bool kept, Search& s) {
    if (s.seen == 1 || log_weight > s.weight) s.weight = log_weight, s.likeliest = c.attempt;
    if (kept) return true;
    if (s.seen < kMaxTries) return false;
    ++s.seen;  // beyond the bound: marks the row for settle()
    return true;
  }

  // Rows whose candidates were all rejected take the most likely one; rows without a candidate that meets the
  // conditions end the search.
  void settle(int64_t begin, const std::vector<Search>& searches, int64_t room, int64_t most, Table& found,
              std::vector<int64_t>& order) {
    std::vector<Candidate> likeliest;
    for (size_t i = 0; i < searches.size(); ++i) {
      const Search& s = searches[i];
      const int64_t row = begin + static_cast<int64_t>(i);
      if (!s.done && s.seen == 0) give_up(static_cast<int64_t>(order.size()), row, most);
      if (!s.done || s.seen > kMaxTries) likeliest.push_back({row, s.likeliest});
    }
    report_.settled += static_cast<int64_t>(likeliest.size());
    if (likeliest.empty()) return;
    const auto keep_all = [&](bool all) {
      if (acceptance_ != nullptr) acceptance_->keep_all(*program_, all);
    };
    keep_all(true);
    in_batches(likeliest, room, [&](const std::vector<Candidate>& batch) {
      const Decoded made = make(batch);
      for (size_t i = 0; i < batch.size(); ++i) {
        append(found, made.slice(i), Decoded::place(i));
        order.push_back(batch[i].row);
      }
    });
    keep_all(false);
  }

  bool accepted(size_t i, const Candidate& c) const {
    return program_ == nullptr || generator_->accepts(*program_, static_cast<int64_t>(i), c);
  }

  [[noreturn]] void give_up(int64_t found, int64_t row, int64_t tries) const {
    size_t rarest = 0;
    for (size_t t = 1; t < failed_.size(); ++t)
      if (failed_[t] > failed_[rarest]) rarest = t;
    const bool rule = rarest >= where_.terms.size();
    const std::string& text = rule ? model_->rules.checked()[rarest - where_.terms.size()] : where_.terms[rarest].text;
    // rejection meets a number of many only by chance; as a given cell it is there from the start
    const bool equals =
        !rule && where_.terms[rarest].kind == WhereTerm::Kind::in && !where_.terms[rarest].numbers.empty();
    throw Error(
        ErrorCode::condition,
        fmt::format("{}: {} of {} rows were found; row {} found none in {} candidates.\n  The rare {} is \"{}\": "
                    "{} of {} candidates met it. {}, or allow more candidates with `max_tries`.{}",
                    where_.empty() ? "sample" : "`where`", report_.rows + found, end_ - offset_, row, tries,
                    rule ? "rule" : "term", text, tried_ - failed_[rarest], tried_,
                    rule ? "Fit without this `rule`" : "Relax the condition",
                    equals ? "\n  For rows that hold this value, write it into a CSV file and give that "
                             "as `given` instead."
                           : ""));
  }

  void append(Table& to, const Table& from, int64_t row) {
    if (to.rows == 0) listed_.assign(to.columns.size(), {});
    for (size_t c = 0; c < to.columns.size(); ++c) {
      Column& column = to.columns[c];
      const Column& source = from.columns[c];
      if (to.rows == 0) column.values = source.values;
      if (is_numeric(column.type)) {
        column.numbers.push_back(source.numbers[static_cast<size_t>(row)]);
        if (by_row(source)) column.codes.push_back(source.codes[static_cast<size_t>(row)]);
        continue;
      }
      int32_t code = source.codes[static_cast<size_t>(row)];
      // Values generated per row (identifiers, rare ones) differ from slice to slice; those with their own level do
      // not.
      if (code >= 0 && (static_cast<size_t>(code) >= column.values.size() ||
                        column.values[static_cast<size_t>(code)] != source.values[static_cast<size_t>(code)]))
        code = list(c, column, source.values[static_cast<size_t>(code)]);
      column.codes.push_back(code);
    }
    ++to.rows;
  }

  // The code of a text among a column's values, added to them if it is new.
  int32_t list(size_t c, Column& column, const std::string& text) {
    auto& known = listed_[c];
    if (known.empty())
      for (size_t v = 0; v < column.values.size(); ++v) known.emplace(column.values[v], static_cast<int32_t>(v));
    const auto [entry, fresh] = known.try_emplace(text, static_cast<int32_t>(column.values.size()));
    if (fresh) column.values.push_back(text);
    return entry->second;
  }

  Table in_order(const Table& found, const std::vector<int64_t>& order, int64_t begin) const {
    std::vector<size_t> place(order.size());
    for (size_t k = 0; k < order.size(); ++k) place[static_cast<size_t>(order[k] - begin)] = k;
    Table sorted = found;
    for (size_t c = 0; c < sorted.columns.size(); ++c)
      for (size_t i = 0; i < place.size(); ++i) {
        if (is_numeric(sorted.columns[c].type)) sorted.columns[c].numbers[i] = found.columns[c].numbers[place[i]];
        if (!sorted.columns[c].codes.empty()) sorted.columns[c].codes[i] = found.columns[c].codes[place[i]];
      }
    return sorted;
  }

  std::shared_ptr<const RowModel> model_;
  SampleOptions options_;
  Team& team_;
  const Monitor& monitor_;
  int64_t next_, begun_, offset_, end_ = 0;  // next to be returned, next to be started
  Table schema_;                             // columns of the table
  Where where_;
  std::vector<Where> rules_;  // of each rule that rows are checked against, the rows that break it
  uint64_t condition_ = 0;    // fingerprint of the text of `where`; 0: none
  std::unique_ptr<RowMethod> method_;
  std::unique_ptr<RowGenerator> generator_;
  Allowed allowed_;                       // what the method proposes from
  int64_t batch_ = 0, most_ = INT64_MAX;  // most_: that memory has room for, as far as is known
  std::unique_ptr<Program> program_;
  int64_t code_width_ = 0, alpha_width_ = 0;
  std::deque<std::vector<Candidate>> ahead_;  // of plain rows: started but not decoded yet
  std::vector<int32_t> identity_;
  Tier tier_ = Tier::off;
  std::unique_ptr<Acceptance> acceptance_;  // null: every candidate that meets the conditions is accepted
  std::deque<Table> ready_;
  // by column: codes of the texts of the block being assembled
  std::vector<std::unordered_map<std::string, int32_t>> listed_;
  int64_t tried_ = 0;            // candidates checked, including those generated ahead
  std::vector<int64_t> failed_;  // of them, the number that missed each term
  SampleReport report_;
};

}  // namespace

std::unique_ptr<RowStream> open_rows(std::shared_ptr<const RowModel> model, int64_t offset, int64_t count,
                                     const SampleOptions& options, Team& team, const Monitor& monitor) {
  Table schema = model->schema();
  return std::make_unique<Rows>(std::move(model), std::move(schema), offset, count, options, team, monitor);
}

}  // namespace tessera
