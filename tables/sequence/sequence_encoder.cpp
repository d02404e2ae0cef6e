#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tables/encoding/number_code.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/number_writer.h"
#include "tables/sequence/sequence_encoder_state.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

// Sequences of keys that have one length, from which each is learned as a row of its own. Fewer have more steps than
// rows to learn from.
constexpr int64_t kManySequences = 9000;
constexpr int kMaxCategories = 100;    // levels per column in the networks; rarer values share one
constexpr int kMaxNumberLevels = 256;  // distinct numbers of a column that are levels, where numbers are bins

// `coded`: one choice for every column.
EncoderOptions common_options(uint64_t seed, int64_t least_rows, bool coded) {
  EncoderOptions o;
  o.least_rows = least_rows;
  o.max_categories = kMaxCategories, o.seed = seed;
  if (coded) o.numbers = EncoderOptions::Numbers::bins, o.integer_levels = kMaxNumberLevels;
  return o;
}

EncoderOptions step_options(uint64_t seed, int64_t least_rows, bool coded) {
  EncoderOptions o = common_options(seed, least_rows, coded);
  if (!coded) o.numbers = EncoderOptions::Numbers::range, o.spike_share = 0, o.integer_levels = 0;
  return o;
}

// The two encoders report no progress themselves: the total is reported.
Monitor silent(const Monitor& monitor) {
  Monitor out;
  out.cancel = monitor.cancel;
  return out;
}

// A rising column of its first values and the differences between steps. Differences are missing where so few keys have
// any that none may be learned.
void add_up(const Column& differences, const Column& first, const std::vector<int32_t>& lengths, Column& to) {
  const int decimals = decimals_of(to);
  to.numbers.reserve(differences.numbers.size());
  for (size_t i = 0, row = 0; i < lengths.size(); ++i) {
    double at = round_decimals(first.numbers[i], decimals);
    for (int32_t t = 0; t < lengths[i]; ++t, ++row) {
      if (t > 0) at = round_decimals(at + std::max(0.0, differences.numbers[row]), decimals);
      to.numbers.push_back(at);
    }
  }
}

// The least difference of two values of the index that are not written alike: a table has none twice within a key.
double written_unit(const Column& index) {
  const NumberWriter writer(index);
  const auto text = [&](double x) {
    std::string out;
    writer.write(x, out);
    return out;
  };
  const int digits = digits_of(index);
  if (digits == kAllDigits) return 0;
  for (const double unit : {std::pow(10.0, -digits), 1.0, 60.0, 3600.0})
    if (text(0) != text(unit)) return unit;
  return 0;
}

// Steps may exceed the range of the imported type.
void widen(Column& c) {
  if (is_quantity(c.type)) c.arrow.clear();
}

}  // namespace

SequenceEncoder::SequenceEncoder() : state_(std::make_unique<State>()) {}
SequenceEncoder::~SequenceEncoder() = default;
SequenceEncoder::SequenceEncoder(SequenceEncoder&&) noexcept = default;
SequenceEncoder& SequenceEncoder::operator=(SequenceEncoder&&) noexcept = default;

SequenceEncoder SequenceEncoder::fit(const Sequences& sequences, int64_t least_rows, uint64_t seed, Team& team,
                                     const Monitor& monitor) {
  SequenceEncoder out;
  State& s = *out.state_;
  s.options = sequences.options;
  s.longest = sequences.longest;
  s.keyed = !s.options.key.empty(), s.indexed = !s.options.index.empty();
  s.key = s.keyed ? KeyMaker(sequences.keys, least_rows) : KeyMaker(free_name(sequences.columns, "sequence"));
  if (!s.indexed) s.step_name = free_name(sequences.columns, "step");
  s.place_attributes();
  for (const Column& c : sequences.columns.columns) {
    if (c.name == s.options.key || c.name == s.options.index) continue;
    const auto& [fixed, firsts] = std::tie(s.options.statics, s.options.firsts);
    const auto in_fixed = std::find(fixed.begin(), fixed.end(), c.name) - fixed.begin();
    const auto in_firsts = std::find(firsts.begin(), firsts.end(), c.name) - firsts.begin();
    if (in_fixed < std::ssize(fixed)) s.sources.push_back({State::Part::fixed, static_cast<int>(in_fixed)});
    else if (in_firsts < std::ssize(firsts))
      s.sources.push_back({State::Part::fixed, s.firsts_at + static_cast<int>(in_firsts)});
    else s.sources.push_back({State::Part::step, s.difference_at++});
  }
  s.find_rising(sequences.steps, sequences.attributes);
  s.coding = sequences.coding;
  s.whole = s.options.length == 0 && sequences.size() >= kManySequences &&
            std::all_of(sequences.length.begin(), sequences.length.end(), [&](int32_t l) { return l == s.longest; });
  const bool coded = !s.coding.empty();
  s.steps = Encoder::fit(sequences.steps, step_options(seed, least_rows, coded), team, silent(monitor));
  s.attributes = Encoder::fit(sequences.attributes, common_options(seed ^ 0x9e3779b97f4a7c15ull, least_rows, coded),
                              team, silent(monitor));
  s.place_parts();
  if (s.steps.layout().data_width == 0)
    throw Error(ErrorCode::data,
                "Every column of the steps is constant or an identifier: nothing changes from one step to the next.\n"
                "  Name static columns with `static`; fit a table of static columns only with `method=tvae`.");
  return out;
}

double SequenceEncoder::State::least_gap(const Column& index) const {
  return !indexed || options.grid.any() ? 1 : written_unit(index);
}

EncodedSequences SequenceEncoder::encode(Sequences&& sequences, Team& team, const Monitor& monitor) const {
  EncodedSequences out;
  const double columns = static_cast<double>(sequences.columns.columns.size());
  out.steps = state_->steps.encode(std::move(sequences.steps), team, silent(monitor));
  out.attributes = state_->attributes.encode(std::move(sequences.attributes), team, silent(monitor));
  monitor.report({"encode", columns, columns, "columns",
                  fmt::format("{} sequences of up to {} steps", sequences.size(), sequences.longest), true});
  out.first = std::move(sequences.first), out.length = std::move(sequences.length);
  out.longest = sequences.longest;
  const auto cycles = static_cast<size_t>(calendar().cycles());
  out.calendar = std::move(sequences.calendar);
  if (state_->first_step.empty() && state_->start_cycles == 0) return out;
  const EncodedTable own = std::exchange(out.attributes, {});
  const int own_codes = own_attributes(), step_codes = steps().codes();
  out.attributes.codes = Bulk<int32_t>(team.limit(), "encoded rows");
  out.attributes.codes.expect_random_reads();
  out.attributes.rows = out.size();
  for (int64_t i = 0; i < out.size(); ++i) {
    for (int k = 0; k < own_codes; ++k)
      out.attributes.codes.push_back(own.codes[static_cast<size_t>(i * own_codes + k)]);
    for (size_t c = 0; c < static_cast<size_t>(state_->start_cycles); ++c)
      out.attributes.codes.push_back(sequences.start_calendar[static_cast<size_t>(i) * cycles + c]);
    for (const size_t k : state_->first_step)
      out.attributes.codes.push_back(
          out.steps.codes[static_cast<size_t>(int64_t{out.first[static_cast<size_t>(i)]} * step_codes) + k]);
  }
  return out;
}

const RowLayout& SequenceEncoder::steps() const { return state_->steps.layout(); }
const RowLayout& SequenceEncoder::attributes() const { return state_->layout; }
int SequenceEncoder::own_attributes() const { return state_->attributes.layout().codes(); }
bool SequenceEncoder::begins_anywhere() const { return !state_->first_step.empty(); }
void SequenceEncoder::first_step(const int32_t* attributes, int32_t* step) const {
  const int32_t* code = attributes + own_attributes() + state_->start_cycles;
  for (const size_t k : state_->first_step) step[k] = *code++;
}
int SequenceEncoder::longest() const { return state_->longest; }
bool SequenceEncoder::one_length() const {
  const auto& spans = attributes().spans;
  return std::none_of(spans.begin(), spans.end(), [&](const Span& s) { return s.column == state_->length_at; });
}
bool SequenceEncoder::whole() const { return state_->whole; }
const StepCoding& SequenceEncoder::coding() const { return state_->coding; }
const std::vector<StepPart>& SequenceEncoder::parts() const { return state_->parts; }
const SequenceOptions& SequenceEncoder::options() const { return state_->options; }

Table SequenceEncoder::decode_attributes(const float* alphas, const int32_t* codes, const int64_t* sequence_ids,
                                         int64_t n, uint64_t seed) const {
  Table out = state_->attributes.decode(alphas, state_->own_codes(codes, n).data(), sequence_ids, n, seed);
  if (!state_->indexed) return out;
  const IndexGrid& grid = state_->options.grid;
  const int start = state_->length_at + 1;
  auto& numbers = out.columns[static_cast<size_t>(start)].numbers;
  const Encoder::Reach reach = state_->attributes.reach(start);
  for (int64_t i = 0; i < n; ++i) {
    double& x = numbers[static_cast<size_t>(i)];
    if (grid.any()) x = grid.at(grid.place(x));
    if (const int cycles = state_->start_cycles; cycles > 0)
      x = calendar().nearest(x,
                             {codes + i * this->attributes().codes() + own_attributes(), static_cast<size_t>(cycles)},
                             reach.low, reach.high, grid);
  }
  return out;
}

std::vector<int32_t> SequenceEncoder::lengths(const Table& attributes) const {
  std::vector<int32_t> out;
  for (const double length : attributes.columns[static_cast<size_t>(state_->length_at)].numbers)
    out.push_back(length != length ? 1
                                   : static_cast<int32_t>(
                                         std::clamp(std::round(length), 1.0, static_cast<double>(state_->longest))));
  return out;
}

Table SequenceEncoder::decode(const float* alphas, const int32_t* codes, const Table& attributes,
                              const int64_t* sequence_ids, int64_t n, uint64_t seed, uint64_t condition,
                              const GivenSteps* given, size_t given_first) const {
  const State& s = *state_;
  const auto from_given = [&](int64_t i) { return given_first + static_cast<size_t>(i); };
  std::vector<int32_t> length = lengths(attributes);
  std::vector<std::span<const double>> known;
  for (int64_t i = 0; given != nullptr && i < n; ++i)
    length[static_cast<size_t>(i)] = given->lengths[from_given(i)], known.push_back(given->of(from_given(i)));
  const int64_t longest = given != nullptr ? given->longest : s.longest, alpha_width = steps().alphas(),
                code_width = steps().codes();

  // Steps after a sequence's end are not decoded: they hold no data.
  int64_t rows = 0;
  for (const int32_t l : length) rows += l;
  std::vector<float> alpha(static_cast<size_t>(rows * alpha_width));
  std::vector<int32_t> code(static_cast<size_t>(rows * code_width));
  std::vector<int64_t> ids(static_cast<size_t>(rows));
  for (int64_t i = 0, row = 0; i < n; ++i) {
    const int64_t steps_here = length[static_cast<size_t>(i)];
    if (alpha_width > 0)
      std::copy_n(alphas + i * longest * alpha_width, steps_here * alpha_width, alpha.begin() + row * alpha_width);
    if (code_width > 0)
      std::copy_n(codes + i * longest * code_width, steps_here * code_width, code.begin() + row * code_width);
    for (int64_t t = 0; t < steps_here; ++t) ids[static_cast<size_t>(row++)] = s.row_id(sequence_ids[i], t, given);
  }
  Table step = s.steps.decode(alpha.data(), code.data(), ids.data(), rows, seed, nullptr, condition);
  s.coding.restore(step, length, attributes, known);
  for (int64_t i = 0, row = 0; given != nullptr && i < n; row += length[static_cast<size_t>(i++)]) {
    const size_t sequence = from_given(i);
    for (size_t j = 0; j < given->sequences.steps.columns.size(); ++j) {
      const Column& from = given->sequences.steps.columns[j];
      for (int32_t t = 0; !from.numbers.empty() && t < given->sequences.length[sequence]; ++t)
        if (const double x = from.numbers[static_cast<size_t>(given->sequences.first[sequence] + t)]; x == x)
          step.columns[j].numbers[static_cast<size_t>(row + t)] = x;
    }
  }

  Table out = schema();
  out.rows = rows;
  Column& key = out.columns[0];
  Column& index = out.columns[1];
  const Column* difference = s.indexed ? &step.columns[static_cast<size_t>(s.difference_at)] : nullptr;
  const double least = s.least_gap(index);
  const Column* start = s.indexed ? &attributes.columns[static_cast<size_t>(s.length_at) + 1] : nullptr;
  for (int64_t i = 0, row = 0; i < n; ++i) {
    const int64_t steps_here = length[static_cast<size_t>(i)];
    s.key.append(sequence_ids[i], steps_here, seed, key, condition);
    const IndexGrid& grid = s.options.grid;
    double at = s.indexed ? s.first_index(start->numbers[static_cast<size_t>(i)], index) : 1;
    for (int64_t t = 0; t < steps_here; ++t, ++row) {
      if (t > 0) at = s.index_after(at, s.indexed ? difference->numbers[static_cast<size_t>(row)] : 1, least, index);
      index.numbers.push_back(grid.any() ? round_decimals(grid.at(at), decimals_of(index)) : at);
    }
  }
  for (size_t j = 0; j < s.sources.size(); ++j) {
    Column& to = out.columns[j + 2];
    const auto from = static_cast<size_t>(s.sources[j].column);
    if (s.sources[j].part == State::Part::step) {
      if (s.sources[j].start < 0) to = std::move(step.columns[from]);
      else add_up(step.columns[from], attributes.columns[static_cast<size_t>(s.sources[j].start)], length, to);
      continue;
    }
    const Column& fixed = attributes.columns[from];
    to.values = fixed.values;
    for (int64_t i = 0; i < n; ++i)
      to.push_from(fixed, static_cast<size_t>(i), static_cast<size_t>(length[static_cast<size_t>(i)]));
  }
  return out;
}

void SequenceEncoder::advance(int32_t* codes, const int64_t* sequence_ids, int64_t n, int64_t t, uint64_t seed,
                              std::vector<StepCoding::Values>& values, const GivenSteps* given,
                              size_t given_first) const {
  const State& s = *state_;
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < n; ++i) ids.push_back(s.row_id(sequence_ids[i], t, given));
  const Table step = s.steps.decode(nullptr, codes, ids.data(), n, seed);
  const size_t columns = s.coding.columns().size(), gap_at = static_cast<size_t>(s.difference_at);
  const bool dated = calendar().any();
  const Column index = dated ? s.attributes.schema().columns[static_cast<size_t>(s.length_at) + 1] : Column();
  const double least = dated ? s.least_gap(index) : 0;
  for (int64_t i = 0; i < n; ++i) {
    StepCoding::Values& v = values[static_cast<size_t>(i)];
    v.step();
    if (dated && t == 0) {
      const Column& start = v.statics->columns[static_cast<size_t>(s.length_at) + 1];
      v.index = s.first_index(start.numbers[static_cast<size_t>(v.sequence)], index);
    } else if (dated) {
      double gap = step.columns[gap_at].numbers[static_cast<size_t>(i)];
      if (const auto g = given_first + static_cast<size_t>(i); given != nullptr && t < given->sequences.length[g])
        gap = given->sequences.steps.columns[gap_at].numbers[static_cast<size_t>(given->sequences.first[g] + t)];
      v.index = s.index_after(v.index, gap, least, index);
    }
    const auto known = given != nullptr ? given->of(given_first + static_cast<size_t>(i)) : std::span<const double>();
    const bool is_known = known.size() >= (static_cast<size_t>(t) + 1) * columns;
    s.coding.decode(step, i, v, is_known ? known.data() + static_cast<size_t>(t) * columns : nullptr);
    for (size_t k = 0; k < s.parts.size(); ++k) {
      // of a value on a line, the code beside it, too
      const int at = steps().spans[k].column;
      const bool first = s.parts[k] == StepPart::first;
      if (!first && (s.parts[k] == StepPart::line || !s.coding.on_line(step, i, at, v))) continue;
      const double code = s.coding.code(first ? s.coding.column_starting_at(at) : at, first, v);
      if (first || code == code) codes[static_cast<size_t>(i) * s.parts.size() + k] = s.steps.level_of_number(at, code);
    }
  }
}

void SequenceEncoder::calendar_of(const Table& attributes, const StepCoding::Values& before, int64_t t,
                                  int8_t* to) const {
  const IndexGrid& grid = options().grid;
  if (t == 0) {
    const Column& start = attributes.columns[static_cast<size_t>(state_->length_at) + 1];
    return calendar().levels(start.numbers[static_cast<size_t>(before.sequence)], to);
  }
  calendar().levels(calendar().expected(grid.any() ? grid.at(before.index) : before.index, grid), to);
}

namespace {

// The level of each cell of a given column; −1: missing, or a text that the encoder does not know.
std::vector<int32_t> known_levels(const Encoder& encoder, const std::vector<std::string>& texts, int column,
                                  const Column& from, int64_t& beyond) {
  std::vector<int32_t> out(static_cast<size_t>(from.size()), -1), of_text(from.values.size(), -1);
  const Encoder::Reach reach = encoder.reach(column);
  for (size_t v = 0; v < of_text.size(); ++v)
    if (const auto at = std::find(texts.begin(), texts.end(), from.values[v]); at != texts.end())
      of_text[v] = std::min(static_cast<int32_t>(at - texts.begin()), encoder.levels(column));
  for (size_t row = 0; row < out.size(); ++row) {
    if (from.is_missing(static_cast<int64_t>(row)) || !reach.present) continue;
    if (!from.numbers.empty()) {
      out[row] = encoder.level_of_number(column, from.numbers[row]);
      beyond += from.numbers[row] < reach.low || from.numbers[row] > reach.high ? 1 : 0;
    } else {
      out[row] = of_text[static_cast<size_t>(from.codes[row])];
      beyond += out[row] < 0 ? 1 : 0;
    }
  }
  return out;
}

// Levels of the columns of a layout: to [rows, codes], at the places of their spans.
template <class Wanted>
void fill_levels(const Encoder& encoder, const Table& from, std::vector<int32_t>& to, size_t each, int64_t& beyond,
                 Wanted&& wanted) {
  const auto& spans = encoder.layout().spans;
  const Table schema = encoder.schema();
  to.assign(static_cast<size_t>(from.rows) * each, -1);
  for (size_t k = 0; k < spans.size(); ++k) {
    const auto j = static_cast<size_t>(spans[k].column);
    if (!wanted(j)) continue;
    const auto levels = known_levels(encoder, schema.columns[j].values, spans[k].column, from.columns[j], beyond);
    for (size_t row = 0; row < levels.size(); ++row) to[row * each + k] = levels[row];
  }
}

}  // namespace

int64_t SequenceEncoder::know(GivenSteps& given) const {
  const State& s = *state_;
  const Table& table = given.sequences.steps;
  const auto& coded = s.coding.columns();
  int64_t beyond = 0;
  given.numbers.assign(static_cast<size_t>(table.rows) * coded.size(), kMissing);
  for (size_t j = 0; j < coded.size(); ++j) {
    if (!coded[j].coded()) continue;
    for (size_t row = 0; row < static_cast<size_t>(table.rows); ++row) {
      const double x = given.numbers[row * coded.size() + j] = table.columns[j].numbers[row];
      beyond += x < coded[j].low || x > coded[j].high ? 1 : 0;
    }
  }
  fill_levels(s.steps, table, given.codes, s.parts.size(), beyond,
              [&](size_t j) { return j < coded.size() && !coded[j].coded(); });
  const Table& attributes = given.sequences.attributes;
  const size_t each = s.layout.spans.size();
  fill_levels(s.attributes, attributes, given.attributes, each, beyond,
              [&](size_t j) { return static_cast<int>(j) != s.length_at; });
  const auto cycles = static_cast<size_t>(calendar().cycles());
  for (size_t i = 0; i < given.sequences.first.size(); ++i)
    for (size_t c = 0; c < static_cast<size_t>(s.start_cycles); ++c)
      given.attributes[i * each + static_cast<size_t>(own_attributes()) + c] =
          given.sequences.start_calendar[i * cycles + c];
  std::vector<int32_t> step(s.parts.size());
  // what a missing cell leaves of a column with terms of it is no evidence
  const auto guessed = [&](size_t k, std::span<const double> first) {
    if (s.parts[k] == StepPart::line) return false;
    const bool own = s.parts[k] == StepPart::first;
    const int column = steps().spans[k].column, of = own ? s.coding.column_starting_at(column) : column;
    const StepCoding::Coded& c = coded[static_cast<size_t>(of)];
    const auto& terms = (own ? c.first : c.next).terms;
    return std::any_of(terms.begin(), terms.end(), [&](const StepCoding::Term& t) {
      const double x = t.of == StepCoding::Term::Of::here ? first[static_cast<size_t>(t.column)] : 0;
      return x != x;
    });
  };
  for (size_t i = 0; begins_anywhere() && i < given.sequences.first.size(); ++i) {
    StepCoding::Values v;
    v.statics = &attributes, v.sequence = static_cast<int64_t>(i);
    given_codes(given, i, 0, std::move(v), step.data());
    int32_t* to = given.attributes.data() + i * each + each - s.first_step.size();
    for (const size_t k : s.first_step) *to++ = guessed(k, given.of(i)) ? -1 : step[k];
  }
  return beyond;
}

void SequenceEncoder::given_codes(const GivenSteps& given, size_t sequence, int64_t t, StepCoding::Values v,
                                  int32_t* codes) const {
  const State& s = *state_;
  const size_t columns = s.coding.columns().size(), row = static_cast<size_t>(given.sequences.first[sequence] + t);
  v.step();
  v.here.assign(given.numbers.begin() + static_cast<std::ptrdiff_t>(row * columns),
                given.numbers.begin() + static_cast<std::ptrdiff_t>((row + 1) * columns));
  for (size_t k = 0; k < s.parts.size(); ++k) {
    const int column = steps().spans[k].column;
    const bool first = s.parts[k] == StepPart::first;
    const bool line = s.parts[k] == StepPart::line;
    const int of = line ? s.coding.column_on_line(column) : first ? s.coding.column_starting_at(column) : column;
    codes[k] = -1;
    if (!s.coding.columns()[static_cast<size_t>(of)].coded()) {
      codes[k] = given.codes[row * s.parts.size() + k];
    } else if (line || s.parts[k] == StepPart::always || first == (t == 0)) {
      const double code = line ? s.coding.line_code(of, v) : s.coding.code(of, first, v);
      if (code == code) codes[k] = s.steps.level_of_number(column, code);
    }
  }
}

SequenceOptions SequenceEncoder::given_options() const {
  const State& s = *state_;
  SequenceOptions out = s.options;
  out.length = 0, out.stride = 1, out.given = true;
  if (!s.keyed) out.key = s.key.schema().name;
  return out;
}

const Encoder& SequenceEncoder::attribute_encoder() const { return state_->attributes; }
int SequenceEncoder::length_column() const { return state_->length_at; }

Table SequenceEncoder::schema() const {
  const State& s = *state_;
  Table out;
  out.columns.push_back(s.key.schema());
  Table steps = s.steps.schema();
  const Table attributes = s.attributes.schema();
  s.coding.restore_schema(steps);
  Column index;
  if (s.indexed) index = attributes.columns[static_cast<size_t>(s.length_at) + 1];
  else become_count(index), index.reason = "number of the step";
  index.name = s.index_name();
  widen(index);
  out.columns.push_back(std::move(index));
  for (const State::Source& source : s.sources) {
    Column c = (source.part == State::Part::step ? steps : attributes).columns[static_cast<size_t>(source.column)];
    if (source.part == State::Part::fixed && source.column >= s.firsts_at)
      c.name = s.options.firsts[static_cast<size_t>(source.column - s.firsts_at)];
    if (source.start >= 0) {
      const std::string name = std::move(c.name);
      const int digits = c.decimals;  // of the differences: first values may have fewer
      c = attributes.columns[static_cast<size_t>(source.start)];
      c.name = name;
      if (is_quantity(c.type)) allow_digits(c, digits);
      widen(c);
    }
    out.columns.push_back(std::move(c));
  }
  return out;
}

void to_features(const RowLayout& layout, const float* alphas, const int32_t* codes, int64_t rows, float* features) {
  const int64_t width = layout.data_width;
  std::fill_n(features, rows * width, 0.0f);
  for (int64_t r = 0; r < rows; ++r) {
    float* row = features + r * width;
    for (const Span& s : layout.spans) {
      if (s.part == Span::Part::alpha) row[s.start] = *alphas++;
      else row[s.start + *codes++] = 1;
    }
  }
}

void from_features(const RowLayout& layout, const float* features, int64_t rows, float* alphas, int32_t* codes) {
  for (int64_t r = 0; r < rows; ++r, features += layout.data_width)
    for (const Span& s : layout.spans) {
      const float* block = features + s.start;
      if (s.part == Span::Part::alpha) *alphas++ = *block;
      else *codes++ = static_cast<int32_t>(std::max_element(block, block + s.width) - block);
    }
}

}  // namespace tessera
