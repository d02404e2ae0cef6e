// Sampling: row i of the infinite table depends only on (model, seed, where, i). Its noise is keyed by i and the number
// of the try, so any batch, thread count or offset gives the same rows. Under conditions the method proposes candidates
// that are likely to satisfy them (Method::row_generator); every row written is checked against all terms. Under
// calibration a row's candidates are (i, 0), (i, 1), …: the first accepted one is the row; after a bound the most
// likely one is used.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <set>

#include "models/sampling/candidates.h"
#include "models/sampling/found_rows.h"
#include "models/sampling/possible.h"
#include "tables/notice.h"

namespace tessera {
namespace {

constexpr int64_t kPlainRows = 4096;                       // rows decoded at a time if nothing is generated
constexpr int64_t kBlock = 1024, kCalibratedBlock = 4096;  // rows searched for at a time
constexpr int64_t kRare = 1000;                            // of as many candidates one satisfies a rare term
constexpr int64_t kHopeless = int64_t{1} << 20;            // candidates of a block of rows without a match

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
      where_ = parse_where(options.where, schema_);
      check_possible(where_, *model_);
      if (const std::string line = misread_numbers(where_, schema_); !line.empty()) notice(monitor_, line);
    }
    for (const std::string& rule : model_->rules.checked()) rules_.push_back(broken_where(rule, schema_));
    failed_.assign(where_.terms.size() + rules_.size(), 0);
    breaks_.assign(rules_.size(), 0);
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
    candidates_.emplace(model_, options_, where_, checking(), tier_, team_, monitor_);
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
    int seen = 0;           // candidates that satisfied the conditions
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

  // Rows do not depend on the batch: if it does not fit into memory, it is halved and the failed work is repeated.
  template <class F>
  void with_less_memory(F&& work) {
    for (;;) {
      const SampleReport report = report_;
      const std::vector<int64_t> failed = failed_;
      const std::vector<int64_t> breaks = breaks_;
      const int64_t tried = tried_, met = met_, satisfied = satisfied_;
      try {
        // A search generates several candidates per row; a few rows do not need a whole block.
        candidates_->build(searching() ? std::clamp<int64_t>(16 * std::min(end_ - next_, block()), 64, block())
                                       : std::max<int64_t>(end_ - next_, 1));
        work();
        return;
      } catch (const Error& e) {
        if (e.code() != ErrorCode::memory || !candidates_->halve_batch()) throw;
      } catch (const std::bad_alloc&) {
        if (!candidates_->halve_batch()) throw;
      }
      report_ = report, failed_ = failed, breaks_ = breaks, tried_ = tried, met_ = met, satisfied_ = satisfied;
      ahead_.clear(), ready_.clear();
      begun_ = next_;
    }
  }

  void make_plain() {
    while (ahead_.size() < candidates_->flights() && begun_ < end_) {
      const int64_t n = std::min(end_ - begun_, candidates_->batch(kPlainRows));
      std::vector<Candidate> rows(static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i) rows[static_cast<size_t>(i)] = {begun_ + i, 0};
      candidates_->begin(rows);
      ahead_.push_back(std::move(rows));
      begun_ += n;
    }
    Candidates::Decoded rows = candidates_->decode(ahead_.front());
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
    const int64_t begin = next_, n = std::min(end_ - next_, block()), capacity = candidates_->batch(kBlock);
    std::vector<int64_t> pending;
    for (int64_t i = 0; i < n; ++i) pending.push_back(begin + i);
    FoundRows found(schema_, begin);
    std::vector<Search> searches(static_cast<size_t>(n));
    const int64_t hopeless = kHopeless / n;
    int64_t most = options_.max_tries > 0 ? options_.max_tries : std::min<int64_t>(kDefaultTries, hopeless);
    for (int64_t attempt = 0, ahead = 0; attempt < most; attempt += ahead) {
      const int64_t fit = std::max<int64_t>(capacity / static_cast<int64_t>(pending.size()), 1);
      ahead = std::min({fit, std::max<int64_t>(attempt, 1), most - attempt});
      std::vector<Candidate> tries;
      for (int64_t a = attempt; a < attempt + ahead; ++a)
        for (const int64_t row : pending) tries.push_back({row, static_cast<int32_t>(a)});
      in_batches(tries, capacity,
                 [&](const std::vector<Candidate>& batch) { consider(batch, begin, found, searches); });
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
    choose_likeliest(begin, searches, capacity, most, found);
    next_ += n;
    ready_.push_back(found.in_order());
  }

  template <class F>
  static void in_batches(const std::vector<Candidate>& all, int64_t capacity, F&& body) {
    for (size_t from = 0; from < all.size(); from += static_cast<size_t>(capacity)) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(from);
      body({first, first + std::min<std::ptrdiff_t>(capacity, all.end() - first)});
    }
  }

  // Adds to `found` the accepted candidates of rows that were not found before.
  void consider(const std::vector<Candidate>& candidates, int64_t begin, FoundRows& found,
                std::vector<Search>& searches) {
    const Candidates::Decoded made = candidates_->make(candidates);
    const std::vector<char> meets = check_conditions(made);
    const std::optional<Candidates::Weights> weights = candidates_->weights();
    tried_ += static_cast<int64_t>(candidates.size());
    size_t next = 0;  // of the decoded ones
    for (size_t k = 0; k < candidates.size(); ++k) {
      const size_t at = next;
      const bool decoded = at < made.row.size() && made.row[at] == static_cast<int32_t>(k);
      next += decoded ? 1 : 0;
      Search& s = searches[static_cast<size_t>(candidates[k].row - begin)];
      if (s.done) continue;
      ++report_.candidates;
      if (!candidates_->accepts(k, candidates[k])) {
        // rejected because the proposed levels are rare
        for (const size_t term : candidates_->proposed_terms()) ++failed_[term];
        continue;
      }
      if (decoded && meets[at] == 0) continue;
      if (weights && !std::isfinite(weights->log_weight[k]))
        throw Error(ErrorCode::numeric,
                    fmt::format("calibration weighs row {} with a value that is not finite: the weights in the model "
                                "file are damaged.\n  Use an intact copy, or sample with `calibrate=off`.",
                                candidates[k].row));
      ++s.seen;
      if (weights && !ends_search(candidates[k], weights->log_weight[k], weights->kept[k] > 0, s)) continue;
      s.done = true;
      if (s.seen > kMaxTries) continue;  // choose_likeliest() takes the most likely one
      found.add(candidates[k].row, made.slice(at), Candidates::Decoded::place(at));
    }
  }

  // For every decoded row, whether it satisfies all terms and breaks no rule.
  std::vector<char> check_conditions(const Candidates::Decoded& made) {
    std::vector<char> all, meets, broken;
    std::vector<int64_t> failed, kept;
    for (const Table& t : made.slices) {
      match_where(where_, t, meets, failed);
      const std::vector<char> terms = meets;
      met_ += std::count(terms.begin(), terms.end(), 1);
      for (size_t term = 0; term < failed.size(); ++term) failed_[term] += failed[term];
      for (size_t rule = 0; rule < rules_.size(); ++rule) {
        match_where(rules_[rule], t, broken, kept);
        failed_[where_.terms.size() + rule] += std::count(broken.begin(), broken.end(), 1);
        for (size_t i = 0; i < broken.size(); ++i)
          if (broken[i] != 0) meets[i] = 0, breaks_[rule] += terms[i];
      }
      satisfied_ += std::count(meets.begin(), meets.end(), 1);
      all.insert(all.end(), meets.begin(), meets.end());
    }
    return all;
  }

  // Whether the s.seen-th candidate that satisfies the conditions ends the search for its row under calibration.
  static bool ends_search(const Candidate& c, float log_weight, bool kept, Search& s) {
    if (s.seen == 1 || log_weight > s.weight) s.weight = log_weight, s.likeliest = c.attempt;
    if (kept) return true;
    if (s.seen < kMaxTries) return false;
    ++s.seen;  // beyond the bound: marks the row for choose_likeliest()
    return true;
  }

  // Rows whose candidates were all rejected use the most likely one; rows without a candidate that satisfies the
  // conditions end the search.
  void choose_likeliest(int64_t begin, const std::vector<Search>& searches, int64_t capacity, int64_t most,
                        FoundRows& found) {
    std::vector<Candidate> likeliest;
    for (size_t i = 0; i < searches.size(); ++i) {
      const Search& s = searches[i];
      const int64_t row = begin + static_cast<int64_t>(i);
      if (!s.done && s.seen == 0) give_up(found.size(), row, most);
      if (!s.done || s.seen > kMaxTries) likeliest.push_back({row, s.likeliest});
    }
    report_.settled += static_cast<int64_t>(likeliest.size());
    if (likeliest.empty()) return;
    candidates_->accept_all(true);
    in_batches(likeliest, capacity, [&](const std::vector<Candidate>& batch) {
      const Candidates::Decoded made = candidates_->make(batch);
      for (size_t i = 0; i < batch.size(); ++i) found.add(batch[i].row, made.slice(i), Candidates::Decoded::place(i));
    });
    candidates_->accept_all(false);
  }

  [[noreturn]] void give_up(int64_t found, int64_t row, int64_t tries) const {
    size_t rarest = 0;
    for (size_t t = 1; t < failed_.size(); ++t)
      if (failed_[t] > failed_[rarest]) rarest = t;
    const bool broken = satisfied_ == 0 && met_ > 0;  // those that meet the condition all break a rule
    if (broken) rarest = where_.terms.size() + static_cast<size_t>(std::ranges::max_element(breaks_) - breaks_.begin());
    const bool rule = rarest >= where_.terms.size();
    const int64_t alone = tried_ - failed_[rarest];
    const bool together = satisfied_ == 0 && !rule && where_.terms.size() > 1;
    const std::vector<std::string> binding = together ? rules_between_terms() : std::vector<std::string>();
    std::string why;
    if (broken && !where_.empty()) {
      why = fmt::format("{} of {} candidates satisfied the condition, but all break a rule, {} of them \"{}\".", met_,
                        tried_, *std::ranges::max_element(breaks_), name_of(rarest));
    } else if (together && kRare * alone > tried_) {
      for (size_t t = 0; t < where_.terms.size(); ++t)
        why += fmt::format("{}\"{}\" {}", t == 0 ? "" : ", ", name_of(t), tried_ - failed_[t]);
      why = fmt::format("None satisfied all terms together, though none is rare alone: of {} candidates, {}.", tried_,
                        why);
    } else {
      why = fmt::format("The rare {} is \"{}\": {} of {} candidates satisfied it{}.", rule ? "rule" : "term",
                        name_of(rarest), alone, tried_, together ? " (all were drawn for the other terms)" : "");
    }
    if (!binding.empty())
      why += fmt::format(" Rules may exclude the combination: \"{}\".", fmt::join(binding, "\", \""));
    // rejection finds one number of many only by chance; a given cell has it from the start
    const bool equals = !rule && binding.empty() && where_.terms[rarest].kind == WhereTerm::Kind::in &&
                        !where_.terms[rarest].numbers.empty();
    throw Error(
        ErrorCode::condition,
        fmt::format("{}: {} of {} rows were found; row {} found none in {} candidates.\n  {} {}, or allow more "
                    "candidates with `max_tries`.{}",
                    where_.empty() ? "sample" : "`where`", report_.rows + found, end_ - offset_, row, tries, why,
                    !rule            ? "Relax the condition"
                    : where_.empty() ? "Fit without this `rule`"
                                     : "Relax the condition, fit without this `rule`",
                    equals
                        ? "\n  To get rows with this value, write it into a CSV file and pass that as `given` instead."
                        : ""));
  }
  const std::string& name_of(size_t condition) const {
    const size_t terms = where_.terms.size();
    return condition < terms ? where_.terms[condition].text : model_->rules.checked()[condition - terms];
  }

  // The rules of the shortest chain that leads from the columns of a term to those of another.
  std::vector<std::string> rules_between_terms() const {
    constexpr size_t kMaxChain = 3;
    struct Reached {
      std::string column;
      std::vector<std::string> by;
    };
    std::vector<std::set<std::string>> columns;
    for (const WhereTerm& term : where_.terms) {
      columns.emplace_back();
      for (const int c : columns_of(term)) columns.back().insert(schema_.columns[static_cast<size_t>(c)].name);
    }
    std::vector<std::string> shortest;
    for (size_t t = 0; t < columns.size(); ++t) {
      std::deque<Reached> next;
      for (const std::string& column : columns[t]) next.push_back({column, {}});
      for (std::set<std::string> known = columns[t]; !next.empty(); next.pop_front()) {
        const Reached from = next.front();
        if (from.by.size() >= (shortest.empty() ? kMaxChain : shortest.size() - 1)) continue;
        for (const FoundRule& f : model_->rules.found()) {
          const std::vector<std::string> bound = f.rule->columns(schema_);
          if (!f.rule->strict() || std::ranges::find(bound, from.column) == bound.end()) continue;
          std::vector<std::string> by = from.by;
          by.push_back(f.rule->text());
          for (const std::string& column : bound) {
            if (!known.insert(column).second) continue;
            next.push_back({column, by});
            const bool arrives = std::ranges::any_of(columns, [&](const auto& of) { return of.contains(column); });
            if (arrives && (shortest.empty() || by.size() < shortest.size())) shortest = by;
          }
        }
      }
    }
    return shortest;
  }

  std::shared_ptr<const RowModel> model_;
  SampleOptions options_;
  Team& team_;
  const Monitor& monitor_;
  int64_t next_, begun_, offset_, end_ = 0;  // next to be returned, next to be started
  Table schema_;                             // columns of the table
  Where where_;
  std::vector<Where> rules_;                  // for each checked rule, the condition of rows that break it
  std::deque<std::vector<Candidate>> ahead_;  // plain rows: started but not decoded yet
  Tier tier_ = Tier::off;
  std::optional<Candidates> candidates_;
  std::deque<Table> ready_;
  int64_t tried_ = 0;                // candidates checked, including those generated ahead
  int64_t met_ = 0, satisfied_ = 0;  // those of them that met the condition; and broke no rule
  std::vector<int64_t> breaks_;      // of those that met it, those that broke each checked rule
  std::vector<int64_t> failed_;      // the number of them that violated each term
  SampleReport report_;
};

}  // namespace

std::unique_ptr<RowStream> open_rows(std::shared_ptr<const RowModel> model, int64_t offset, int64_t count,
                                     const SampleOptions& options, Team& team, const Monitor& monitor) {
  Table schema = model->schema();
  return std::make_unique<Rows>(std::move(model), std::move(schema), offset, count, options, team, monitor);
}

}  // namespace tessera
