#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "engine/run/compile.h"
#include "kernels/math/philox.h"
#include "models/fitted/sequence_model.h"
#include "models/sampling/given/given_rows.h"
#include "models/sampling/identities.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/notice.h"
#include "tables/types/types.h"

namespace tessera {
namespace {

constexpr int64_t kSequencesOfBatch = 512, kStepsOfBatch = 1 << 16;  // of a batch
constexpr int kAttributeTries = 32;                                  // candidates of the attributes that are not given
constexpr int32_t kFloorTries = 16;                                  // of steps that take a balance below zero
constexpr uint32_t kResampleAttributes = 2, kResampleEnds = 3;       // uses of Purpose::propose
constexpr double kRareLength = 0.02;                                 // of the nearest length's probability
constexpr const char* kGivenRow = "(given row)";

class GivenSequences : public GivenStream {
 public:
  GivenSequences(std::shared_ptr<const SequenceModel> model, Table given, const GivenOptions& options, Team& team,
                 const Monitor& monitor)
      : model_(std::move(model)), encoder_(model_->encoder), options_(options), team_(team), monitor_(monitor) {
    method_ = model_->method();
    if (method_->longest_continued() == 0)
      throw Error(ErrorCode::usage, fmt::format("Given steps are continued by models of `method=made`; this is one of "
                                                "`method={}`.\n  Fit the table with `method=made`.",
                                                model_->config.method().name));
    if (!options.where.empty())
      throw Error(ErrorCode::usage, "`where` cannot be combined with given sequences.\n  Omit it.");
    schema_ = model_->schema();
    read(std::move(given));
    set_lengths();
    const int64_t beyond = encoder_.know(given_);
    if (beyond > 0)
      notice(monitor, fmt::format("{} {} beyond what the model has learned. {} kept, and what "
                                  "follows is drawn as from the nearest value that it has.",
                                  counted(beyond, "given cell"), beyond == 1 ? "is" : "are",
                                  beyond == 1 ? "It is" : "They are"));
    repeat();
    Device& device = options_.device ? *options_.device : Device::processor();
    batch_ = std::min(kSequencesOfBatch, std::max<int64_t>(kStepsOfBatch / given_.longest, 2));
    if (options_.batch > 0) batch_ = options_.batch;
    batch_ = std::clamp<int64_t>(batch_, 2, std::max<int64_t>(sequences(), 2));
    steps_ = method_->drawer(model_->steps, {team, options_.seed, device, {}, options_.precision}, batch_);
    if ((attribute_method_ = model_->attribute_method()) == nullptr) return;
    generator_ = attribute_method_->given_generator(model_->attributes, options_.seed, team);
    program_ = compile({team, options_.seed}, Purpose::sample, [&](Recorder& r) { generator_->record(r, kTried); });
    load_states(*program_, model_->attributes.states);
    identity_.resize(3 * kTried);
    program_->bind_if("rows", identity_.data());
    generator_->bind(*program_);
    cells_.levels.resize(kTried * static_cast<size_t>(encoder_.attributes().data_width));
  }

  const Table& schema() const override { return schema_; }
  GivenReport report() const override { return report_; }

  bool next(Table& batch) override {
    if (next_ >= sequences()) return false;
    monitor_.check_cancelled("sample");
    const int64_t n = std::min(sequences() - next_, batch_);
    const auto first = static_cast<size_t>(next_);
    std::vector<int64_t> ids, own;
    std::vector<int32_t> lengths;
    for (int64_t i = 0; i < n; ++i) {
      ids.push_back(next_ + i), own.push_back(i);
      lengths.push_back(given_.lengths[first + static_cast<size_t>(i)]);
    }
    std::vector<int32_t> attribute_codes;
    if (options_.steps > 0) {
      attribute_codes = draw_attributes(ids).codes;
    } else {
      attribute_codes = draw_ends(ids, lengths);
      std::ranges::copy(lengths, given_.lengths.begin() + static_cast<std::ptrdiff_t>(first));
    }
    Table attributes = attributes_of(ids, attribute_codes);
    const int64_t codes_each = given_.longest * encoder_.steps().codes();
    std::vector<int32_t> codes(static_cast<size_t>(n * codes_each)), drawn(codes.size());
    std::vector<int64_t> wanted = own;  // to be drawn, or drawn again
    for (int32_t attempt = 0; attempt < kFloorTries && !wanted.empty(); ++attempt) {
      steps_->draw({ids, lengths, nullptr, attribute_codes.data(), attributes, &given_, first, attempt}, nullptr,
                   drawn.data());
      for (const int64_t i : wanted)
        std::copy_n(drawn.begin() + i * codes_each, codes_each, codes.begin() + i * codes_each);
      batch = encoder_.decode(nullptr, codes.data(), attributes, ids.data(), n, options_.seed, 0, &given_, first);
      restore(batch, first, lengths, attempt + 1 == kFloorTries);
      wanted = below_floor(batch, first, lengths);
    }
    put_given(batch, first, lengths);
    next_ += n, report_.rows += batch.rows;
    monitor_.report({"sample", static_cast<double>(next_), static_cast<double>(sequences()), "sequences", "",
                     next_ == sequences()});
    return true;
  }

 private:
  static constexpr int64_t kTried = 256;

  static Column* column(Table& table, const std::string& name) {
    return &*std::find_if(table.columns.begin(), table.columns.end(), [&](const Column& c) { return c.name == name; });
  }

  int64_t sequences() const { return given_.sequences.size(); }
  std::string place(int64_t row) const {
    return options_.place ? options_.place(row) : row < 0 ? "the given rows" : fmt::format("row {}", row + 1);
  }

  // The given rows, cut like the table that the model was fitted on.
  void read(Table given) {
    if (given.rows == 0) throw Error(ErrorCode::data, fmt::format("{}: there are no rows to continue.", place(-1)));
    const SequenceOptions o = encoder_.given_options();
    const bool keyed = !encoder_.options().key.empty(), indexed = !o.index.empty();
    for (const std::string& needed : {keyed ? o.key : std::string(), o.index})
      if (!needed.empty() &&
          std::none_of(given.columns.begin(), given.columns.end(), [&](const Column& c) { return c.name == needed; }))
        throw Error(ErrorCode::usage,
                    fmt::format("{}: column \"{}\" is needed: it {}. Add it.", place(-1), needed,
                                needed == o.key ? "names the sequence of a row" : "orders the rows of a sequence"));
    const std::string step = indexed ? std::string() : encoder_.schema().columns[1].name;
    if (given.find(step) != nullptr) step_ = step;
    table_ = arranged(std::move(given), schema_, place(-1));
    Column& key = *column(table_, o.key);
    if (!keyed && std::all_of(key.numbers.begin(), key.numbers.end(), [](double x) { return x != x; }))
      std::fill(key.numbers.begin(), key.numbers.end(), 1.0);
    Table reduced = table_;
    std::erase_if(reduced.columns, [&](const Column& c) { return c.name == step || (!keyed && c.name == o.key); });
    if (!model_->rules.found().empty()) model_->rules.reduce(reduced, team_);
    for (const std::string& name : encoder_.options().rising) rising_.columns.push_back(*column(reduced, name));
    if (!keyed) reduced.columns.push_back(key);
    Column number;
    number.name = kGivenRow;
    become_count(number);
    for (int64_t i = 0; i < table_.rows; ++i) number.numbers.push_back(static_cast<double>(i));
    reduced.columns.push_back(std::move(number));
    try {
      given_.sequences = cut(std::move(reduced), o);
    } catch (const Error& e) { throw Error(e.code(), fmt::format("{}: {}", place(-1), e.what())); }
    Table& steps = given_.sequences.steps;
    const Column& order = *steps.find(kGivenRow);
    row_.assign(order.numbers.begin(), order.numbers.end());
    steps.columns.erase(steps.columns.begin() + (&order - steps.columns.data()));
  }

  void set_lengths() {
    const int most = method_->longest_continued();
    given_.longest = options_.steps == 0 ? encoder_.longest() : 0;
    for (const int32_t length : given_.sequences.length) {
      const int64_t wanted = options_.steps == 0 ? length : int64_t{length} + options_.steps;
      if (wanted > most)
        throw Error(ErrorCode::usage,
                    fmt::format("{}: a sequence of {} given steps would have {}, and the model continues to {} at "
                                "most.\n  Give its last steps alone, or draw fewer.",
                                place(-1), length, wanted, most));
      given_.lengths.push_back(static_cast<int32_t>(wanted));
      given_.longest = std::max(given_.longest, given_.lengths.back());
    }
  }

  // Each sequence as often as it is continued; their steps are stored once.
  void repeat() {
    if (options_.copies == 1) return;
    std::vector<int32_t> of;
    for (int32_t i = 0; i < static_cast<int32_t>(sequences()); ++i) of.insert(of.end(), options_.copies, i);
    const size_t width = static_cast<size_t>(encoder_.attributes().codes());
    const auto repeated = [&](std::vector<int32_t>& x, size_t each) {
      std::vector<int32_t> out;
      for (const int32_t i : of)
        out.insert(out.end(), x.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(i) * each),
                   x.begin() + static_cast<std::ptrdiff_t>((static_cast<size_t>(i) + 1) * each));
      x = std::move(out);
    };
    for (std::vector<int32_t>* x : {&given_.sequences.first, &given_.sequences.length, &given_.lengths})
      repeated(*x, 1);
    repeated(given_.attributes, width);
    for (Column& c : given_.sequences.attributes.columns) c = c.pick(of);
    given_.sequences.attributes.rows = std::ssize(of);
  }

  // Attributes in user's units, the given ones as they are given, without lengths.
  Table attributes_of(const std::vector<int64_t>& ids, const std::vector<int32_t>& codes) const {
    const std::ptrdiff_t n = std::ssize(ids);
    Table out = encoder_.decode_attributes(nullptr, codes.data(), ids.data(), n, options_.seed), given;
    for (const Column& c : given_.sequences.attributes.columns) given.columns.push_back(c.pick(ids));
    given.columns[static_cast<size_t>(encoder_.length_column())].assign_missing(ids.size());
    std::vector<int64_t> own(ids.size());
    std::iota(own.begin(), own.end(), 0);
    put_cells(given, out, own);
    return out;
  }

  // Codes of attributes and lengths of sequences that may end after their given steps. How many steps are left is drawn
  // by what the attributes and the last given steps tell: few sequences go on after a state that ends them.
  std::vector<int32_t> draw_ends(const std::vector<int64_t>& ids, std::vector<int32_t>& lengths) {
    const auto first = static_cast<size_t>(ids.front());
    const int near_end = steps_->steps_near_end();
    const std::vector<int32_t> given = lengths;
    const auto with_drawn = [&](std::vector<int32_t>& to, const std::vector<int32_t>& codes, int left) {
      const std::vector<int32_t> drawn = encoder_.lengths(attributes_of(ids, codes));
      for (size_t i = 0; i < to.size(); ++i) to[i] = std::max({given[i] + left, drawn[i], 1});
    };
    if (near_end == 0 || program_ == nullptr) {
      std::vector<int32_t> codes = draw_attributes(ids).codes;
      with_drawn(lengths, codes, 0);
      return codes;
    }
    const auto width = static_cast<std::ptrdiff_t>(encoder_.attributes().codes());
    std::vector<int32_t> out(ids.size() * static_cast<size_t>(width));
    std::vector<double> best(ids.size(), -INFINITY);
    for (int left = 0; left <= near_end; ++left) {
      const Attributes drawn = draw_attributes(ids, left);
      std::vector<int32_t> own = given;
      for (int32_t& length : own) length += left;
      if (left == near_end) with_drawn(own, drawn.codes, left);
      for (int32_t& length : own) length = std::min(length, given_.longest);
      const std::vector<double> said = steps_->log_near_end(
          {ids, own, nullptr, drawn.codes.data(), attributes_of(ids, drawn.codes), &given_, first});
      for (size_t i = 0; i < ids.size(); ++i) {
        const Philox w = random_words(options_.seed, Purpose::propose, kResampleEnds, static_cast<uint64_t>(ids[i]),
                                      static_cast<uint32_t>(left));
        const double key = drawn.log_weights[i] + said[i] - std::log(-std::log(open_uniform(w.word[0], w.word[1])));
        if (left > 0 && !(key > best[i])) continue;
        best[i] = key, lengths[i] = own[i];
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(i) * width;
        std::copy_n(drawn.codes.begin() + at, width, out.begin() + at);
      }
    }
    return out;
  }

  // Their codes: given ones, and others drawn given them; the length is one that has not passed. `left`: how many steps
  // follow the given ones, up to as many as drawers see, or more; −1: any number. ln of the probability of all that.
  struct Attributes {
    std::vector<int32_t> codes;
    std::vector<double> log_weights;
  };
  Attributes draw_attributes(const std::vector<int64_t>& ids, int left = -1) {
    const RowLayout& layout = encoder_.attributes();
    const auto width = static_cast<size_t>(layout.codes());
    Attributes out{std::vector<int32_t>(std::max<size_t>(ids.size() * width, 1)), std::vector<double>(ids.size(), 0)};
    if (program_ == nullptr) return out;
    std::vector<double> best(ids.size(), -INFINITY);
    std::vector<Candidate> candidates;
    const int tries = left < 0 ? kAttributeTries : kAttributeTries / (steps_->steps_near_end() + 1);
    for (const int64_t id : ids)
      for (int32_t k = 0; k < (leads(id) ? 1 : tries); ++k) candidates.push_back({id, k});
    std::vector<double> sums(ids.size(), 0);
    for (size_t from = 0; from < candidates.size(); from += kTried) {
      const std::span<const Candidate> some(candidates.data() + from,
                                            std::min<size_t>(kTried, candidates.size() - from));
      std::vector<char> possible(kTried);
      for (size_t i = 0; i < kTried; ++i) possible[i] = allow(some[std::min(i, some.size() - 1)].row, i, left);
      identify(some, identity_);
      generator_->give(*program_, cells_);
      program_->refresh({"rows"});
      program_->run(1);
      const std::vector<int32_t> codes = program_->read<int32_t>(program_->find("codes"));
      for (size_t i = 0; i < some.size(); ++i) {
        const Candidate& c = some[i];
        const Philox w = random_words(options_.seed, Purpose::propose, kResampleAttributes,
                                      static_cast<uint64_t>(c.row), static_cast<uint32_t>(c.attempt));
        const double weight = generator_->log_weight(*program_, static_cast<int64_t>(i));
        const double key = weight - std::log(-std::log(open_uniform(w.word[0], w.word[1])));
        const auto to = static_cast<size_t>(c.row - ids.front());
        if (possible[i]) sums[to] += std::exp(weight);
        if (c.attempt > 0 && !(key > best[to])) continue;
        best[to] = key;
        std::copy_n(codes.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                    out.codes.begin() + static_cast<std::ptrdiff_t>(to * width));
      }
      report_.candidates += std::ssize(some);
    }
    for (size_t i = 0; i < sums.size(); ++i) out.log_weights[i] = std::log(sums[i]);
    return out;
  }

  // Whether the given codes come first: all candidates have one weight.
  bool leads(int64_t sequence) const {
    const std::ptrdiff_t width = encoder_.attributes().codes();
    const auto codes = given_.attributes.begin() + sequence * width;
    const auto drawn = [](int32_t code) { return code < 0; };
    return generator_->draws_in_order() && encoder_.one_length() &&
           std::all_of(std::find_if(codes, codes + width, drawn), codes + width, drawn);
  }

  // Whether there is such a length.
  bool allow(int64_t sequence, size_t to, int left) {
    const RowLayout& layout = encoder_.attributes();
    float* levels = cells_.levels.data() + to * static_cast<size_t>(layout.data_width);
    std::fill_n(levels, layout.data_width, 0.0f);
    bool possible = true;
    for (size_t k = 0; k < layout.spans.size(); ++k) {
      const Span& s = layout.spans[k];
      const int32_t code = given_.attributes[static_cast<size_t>(sequence) * layout.spans.size() + k];
      std::vector<double> kept(static_cast<size_t>(s.width), code < 0 ? 1 : 0);
      if (code >= 0) kept[static_cast<size_t>(code)] = 1;
      if (s.column == encoder_.length_column()) kept = lengths_left(s, sequence, left);
      if (std::ranges::none_of(kept, [](double share) { return share > 0; })) {
        possible = false;
        continue;
      }
      for (size_t level = 0; level < kept.size(); ++level)
        if (kept[level] < 1)
          levels[static_cast<size_t>(s.start) + level] =
              kept[level] > 0 ? static_cast<float>(std::log(kept[level])) : kImpossible;
    }
    return possible;
  }

  // The share of each level of the length that leaves `left` steps.
  std::vector<double> lengths_left(const Span& span, int64_t sequence, int left) const {
    const Encoder& encoder = encoder_.attribute_encoder();
    const double given = given_.lengths[static_cast<size_t>(sequence)], low = given + std::max(left, 0),
                 high = left < 0 || left == steps_->steps_near_end() ? INFINITY : low;
    std::vector<double> out(static_cast<size_t>(span.width));
    for (int32_t level = 0; level < span.width; ++level) {
      const double from = std::ceil(encoder.number_of_level(span.column, level, 0)),
                   to = std::floor(encoder.number_of_level(span.column, level, kTop));
      if (left < 0) out[static_cast<size_t>(level)] = to < low ? 0 : 1;
      else
        out[static_cast<size_t>(level)] =
            std::max(0.0, std::min(to, high) - std::max(from, low) + 1) / std::max(to - from + 1, 1.0);
    }
    // few sequences have such a length: protection replaced it by another one
    if (left == 0 && std::ranges::none_of(out, [](double share) { return share > 0; }))
      out[static_cast<size_t>(encoder.level_of_number(span.column, given))] = kRareLength;
    return out;
  }

  // What adds up from step to step goes on from the last given value, not from the first one.
  void restore(Table& rows, size_t first, const std::vector<int32_t>& lengths, bool last) const {
    const auto known = [&](const Column& from) {
      std::vector<double> out;
      for (size_t i = 0; i < lengths.size(); ++i)
        for (int32_t t = 0; t < lengths[i]; ++t)
          out.push_back(
              t < given_.sequences.length[first + i]
                  ? from.numbers[static_cast<size_t>(row_[static_cast<size_t>(given_.sequences.first[first + i] + t)])]
                  : kMissing);
      return out;
    };
    for (const Column& c : rising_.columns) pass_through(*column(rows, c.name), rows.columns.front(), known(c));
    Table sums;
    for (const std::string& name : model_->rules.firsts()) {
      const Column& c = *table_.find(name);
      if (has_texts(c)) continue;  // copies of the step before: they do not add up
      sums.columns.push_back(c.head());
      for (const double x : known(c)) sums.columns.back().numbers.push_back(x);
    }
    model_->rules.restore(rows, &sums, last);
  }

  // Sequences whose balances fall below zero though those of the table and the given ones do not.
  std::vector<int64_t> below_floor(const Table& rows, size_t first, const std::vector<int32_t>& lengths) const {
    std::vector<char> below(lengths.size());
    for (const FoundRule& f : model_->rules.found()) {
      if (f.rule->kind() != std::string_view("floor")) continue;
      const Column &balance = *rows.find(f.rule->column()), &given = *table_.find(f.rule->column());
      for (size_t i = 0, row = 0; i < lengths.size(); row += static_cast<size_t>(lengths[i++])) {
        const auto at = row_.begin() + given_.sequences.first[first + i], to = at + given_.sequences.length[first + i];
        const auto from = balance.numbers.begin() + static_cast<std::ptrdiff_t>(row);
        const auto falls = [](double x) { return x < 0; };
        below[i] |= std::any_of(from, from + lengths[i], falls) &&
                    std::none_of(at, to, [&](int64_t k) { return falls(given.numbers[static_cast<size_t>(k)]); });
      }
    }
    std::vector<int64_t> out;
    for (size_t i = 0; i < below.size(); ++i)
      if (below[i] != 0) out.push_back(static_cast<int64_t>(i));
    return out;
  }

  // Given cells as they are; every row has the key and the statics of its sequence.
  void put_given(Table& rows, size_t first, const std::vector<int32_t>& lengths) {
    std::vector<int64_t> of, begin;
    for (size_t i = 0; i < lengths.size(); ++i) {
      const auto at = static_cast<size_t>(given_.sequences.first[first + i]);
      const int32_t known = given_.sequences.length[first + i];
      for (int32_t t = 0; t < lengths[i]; ++t) {
        of.push_back(t < known ? row_[at + static_cast<size_t>(t)] : -1);
        begin.push_back(row_[at]);
      }
      if (step_.empty()) continue;
      const size_t row = static_cast<size_t>(row_[at + static_cast<size_t>(known) - 1]), end = of.size();
      const double last = column(table_, step_)->numbers[row];
      for (int32_t t = known; t < lengths[i] && last == last; ++t)
        column(rows, step_)->numbers[end - static_cast<size_t>(lengths[i] - t)] = last + t - known + 1;
    }
    put_cells(table_, rows, of);
    const std::string key = encoder_.given_options().key;
    Column& keys = *column(rows, key);
    Table one, to;
    one.columns.push_back(*column(table_, key)), to.columns.push_back(std::move(keys));
    put_cells(one, to, begin);
    keys = std::move(to.columns.front());
    if (!options_.drawn_only) return;
    std::vector<int64_t> kept;
    for (size_t row = 0; row < of.size(); ++row)
      if (of[row] < 0) kept.push_back(static_cast<int64_t>(row));
    for (Column& c : rows.columns) c = c.pick(kept);
    rows.rows = std::ssize(kept);
  }

  static constexpr double kTop = 1 - 1e-9;  // rank within a bin

  std::shared_ptr<const SequenceModel> model_;
  const SequenceEncoder& encoder_;
  const GivenOptions options_;
  Team& team_;
  const Monitor& monitor_;
  Table schema_, table_;      // table_: the given rows, with all columns
  Table rising_;              // and their rising columns, reduced by the rules
  std::vector<int64_t> row_;  // of table_, for each row of the cut steps
  std::string step_;          // their column of the number of the step; "": none
  GivenSteps given_;
  GivenReport report_;
  std::unique_ptr<SequenceMethod> method_;
  std::unique_ptr<StepDrawer> steps_;
  std::unique_ptr<RowMethod> attribute_method_;
  std::unique_ptr<GivenGenerator> generator_;
  std::unique_ptr<Program> program_;  // null: nothing varies between sequences
  GivenCells cells_;
  std::vector<int32_t> identity_;
  int64_t batch_ = 0, next_ = 0;
};

}  // namespace

std::unique_ptr<GivenStream> open_given_sequences(std::shared_ptr<const SequenceModel> model, Table given,
                                                  const GivenOptions& options, Team& team, const Monitor& monitor) {
  return std::make_unique<GivenSequences>(std::move(model), std::move(given), options, team, monitor);
}

}  // namespace tessera
