// Learns the encoding of each column.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "tables/encoding/encoder_state.h"
#include "tables/kinds/arrow_type.h"
#include "tables/kinds/kind.h"
#include "tables/notice.h"
#include "tables/protection/sort_numbers.h"
#include "tables/table/decimals.h"
#include "tables/types/types.h"

namespace tessera {
namespace {

constexpr double kMinSpikeRows = 3;    // in a tiny table any value has a large share; a spike must repeat
constexpr int64_t kRowsOfALevel = 10;  // minimum on average, for numbers with decimals
// In a short table (BinCode::kMinBinRows decides the number of its bins) more numbers than these are points of a law
// whose gaps bins fill, unless kRowsOfAnAtom rows share each and they leave places of their grid free.
constexpr int64_t kAlwaysLevels = 16, kRowsOfAnAtom = 8, kMaxGap = 2;
constexpr double kOutstanding = 4;  // times the mean rows of a value

void check_options(const EncoderOptions& o) {
  auto refuse = [](const std::string& what) { throw Error(ErrorCode::usage, what); };
  if (o.max_modes < 1 || o.max_modes > kMaxComponents)
    refuse("A numeric column can have 1 to 64 mixture modes, not " + std::to_string(o.max_modes) + ".");
  if (!(o.spike_share >= 0 && o.spike_share <= 1))
    refuse("The share that makes a value a level of its own lies between 0 (never) and 1.");
  if (o.max_categories < 2)
    refuse("At least 2 categories must be kept per column, not " + std::to_string(o.max_categories) + ".");
}

struct Run {
  double value;
  size_t rows;
};

std::vector<Run> runs_of(const std::vector<double>& ascending) {
  std::vector<Run> runs;
  for (const double x : ascending) {
    if (runs.empty() || runs.back().value != x) runs.push_back({x, 0});
    ++runs.back().rows;
  }
  return runs;
}

// Results of one pass over the values.
struct Survey {
  int64_t present = 0;
  double low = 0, high = 0;
  bool on_grid = true;           // every value has no more than the column's decimals
  std::vector<double> distinct;  // ascending; one more than `most` if there are more
};

Survey survey_numbers(const Column& column, int decimals, size_t most) {
  Survey s;
  column.numbers.each_part([&](std::span<const double> numbers, size_t first) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] != numbers[i]) continue;
      if (std::isinf(numbers[i]))
        throw Error(ErrorCode::data, "Column \"" + column.name + "\", row " + std::to_string(first + i + 1) +
                                         " is infinite. Mark such values as missing, or cap them.");
      const double x = numbers[i] + 0.0;  // −0 + 0 is 0
      s.low = s.present == 0 ? x : std::min(s.low, x);
      s.high = s.present == 0 ? x : std::max(s.high, x);
      ++s.present;
      s.on_grid = s.on_grid && round_decimals(x, decimals) == x;
      if (s.distinct.size() > most) continue;
      const auto at = std::lower_bound(s.distinct.begin(), s.distinct.end(), x);
      if (at == s.distinct.end() || *at != x) s.distinct.insert(at, x);
    }
  });
  return s;
}

// Values of many rows get their own level. `rest`: up to two other values.
struct Spikes {
  std::vector<double> values, rest;
};

Spikes find_spikes(const Column& column, const std::vector<double>& sorted, int64_t present, double share,
                   double least) {
  Spikes out;
  const auto note = [&](double x) {
    if (out.rest.size() < 2 && (out.rest.empty() || out.rest[0] != x)) out.rest.push_back(x);
  };
  const double enough = std::max(least, share * static_cast<double>(present));
  const bool all = static_cast<int64_t>(sorted.size()) == present;
  // Candidates with about the required share in a sample of the values are recounted over all values.
  const double near = all ? enough : 0.5 * share * static_cast<double>(sorted.size());
  std::vector<Run> candidates;
  for (const Run& r : runs_of(sorted)) {
    if (share > 0 && static_cast<double>(r.rows) >= near) candidates.push_back(r);
    else note(r.value);
  }
  if (!all) {
    for (Run& r : candidates) r.rows = 0;
    column.numbers.each_part([&](std::span<const double> numbers, size_t) {
      for (const double x : numbers) {
        const auto at = std::lower_bound(candidates.begin(), candidates.end(), x,
                                         [](const Run& r, double v) { return r.value < v; });
        if (at != candidates.end() && at->value == x) ++at->rows;
        else if (x == x) note(x + 0.0);
      }
    });
  }
  for (const Run& r : candidates) {
    if (static_cast<double>(r.rows) >= enough) out.values.push_back(r.value);
    else note(r.value);
  }
  return out;
}

// The largest power of ten that divides every value of a column of whole numbers; 1 for others.
double whole_step(const std::vector<double>& values, int decimals) {
  constexpr double kLargest = 1e9;
  double step = 1;
  const auto divides = [&](double by) {
    return std::all_of(values.begin(), values.end(), [by](double x) { return std::fmod(x, by) == 0; });
  };
  while (decimals == 0 && step < kLargest && divides(10 * step)) step *= 10;
  return step;
}

bool is_short(int64_t rows, const EncoderOptions& o) {
  return static_cast<double>(rows) < o.max_bins * BinCode::kMinBinRows;
}

// Whether numbers on a grid fill most of its places between the smallest and the largest.
bool is_run(const Survey& seen, int decimals) {
  const double step = decimals > 0 ? std::pow(10.0, -decimals) : whole_step(seen.distinct, decimals);
  return seen.on_grid && (seen.high - seen.low) / step < static_cast<double>(kMaxGap * std::ssize(seen.distinct));
}

// A bin's quantiles keep values that several rows share; what is taken out of the bins must stand out from its
// neighbors.
double least_of_spike(const std::vector<double>& ascending, int64_t present, const EncoderOptions& o) {
  const double mean = static_cast<double>(ascending.size()) / static_cast<double>(runs_of(ascending).size());
  return is_short(present, o) ? std::max(BinCode::kMinBinRows, kOutstanding * mean) : kMinSpikeRows;
}

LevelCode levels(const std::vector<double>& values, bool missing) {
  LevelCode out;
  out.numbers = values;
  out.missing = missing;
  return out;
}

void fit_numbers(const Column& column, uint32_t index, const EncoderOptions& o, ColumnCode& out) {
  const int decimals = decimals_of(column);
  const Survey seen = survey_numbers(column, decimals, static_cast<size_t>(std::max(o.integer_levels, 1)));
  const bool missing = seen.present < static_cast<int64_t>(column.numbers.size());

  if (seen.distinct.empty()) {
    out.code = ConstantCode{kMissing, {}, true};
    return;
  }
  if (seen.distinct.size() == 1 && !missing) {
    out.code = ConstantCode{seen.distinct[0], {}, false};
    return;
  }
  if (o.numbers == EncoderOptions::Numbers::range && seen.distinct.size() > 1) {
    RangeCode code;
    code.missing = missing;
    code.decimals = seen.on_grid ? decimals : -1;
    code.fit(sorted_values(column.numbers, seen.present, index, o.seed, seen.present));
    out.code = std::move(code);
    return;
  }
  const bool bins = o.numbers == EncoderOptions::Numbers::bins;
  const auto distinct = static_cast<int64_t>(seen.distinct.size());
  const bool repeats = has_fractions(column) && distinct * kRowsOfALevel <= seen.present;
  const bool few = distinct <= kAlwaysLevels || !is_short(seen.present, o) ||
                   (distinct * kRowsOfAnAtom <= seen.present && !is_run(seen, decimals));
  if ((bins ? few : is_count(column) || repeats) && distinct <= o.integer_levels) {
    out.code = levels(seen.distinct, missing);
    return;
  }

  std::vector<double> values = sorted_values(column.numbers, seen.present, index, o.seed);
  Spikes spikes = find_spikes(column, values, seen.present, bins ? 1.0 / o.max_bins : o.spike_share,
                              bins ? least_of_spike(values, seen.present, o) : kMinSpikeRows);
  if (spikes.rest.size() <= 1) {  // one value is left: its mixture would have no width
    for (const double x : spikes.rest)
      spikes.values.insert(std::lower_bound(spikes.values.begin(), spikes.values.end(), x), x);
    out.code = levels(spikes.values, missing);
    return;
  }
  const double step = whole_step(values, seen.on_grid ? decimals : -1);
  if (!spikes.values.empty())
    std::erase_if(values, [&](double x) { return std::binary_search(spikes.values.begin(), spikes.values.end(), x); });
  if (values.empty() || values.front() == values.back()) {  // the sample contained fewer than two of the others
    values.insert(values.end(), spikes.rest.begin(), spikes.rest.end());
    sort_numbers(values);
  }
  const auto fit = [&](auto code, auto&& learn) {
    code.missing = missing;
    code.spikes = std::move(spikes.values);
    code.decimals = seen.on_grid ? decimals : -1;
    learn(code);
    out.code = std::move(code);
  };
  if (bins) {
    fit(BinCode(), [&](BinCode& c) { c.step = step, c.fit_bins(values, o.max_bins, !is_short(seen.present, o)); });
    return;
  }
  fit(NumberCode(), [&](NumberCode& c) {
    c.low = seen.low, c.high = seen.high;
    c.fit_modes(values, {o.max_modes, o.seed, index});
  });
}

void fit_texts(const Column& column, const EncoderOptions& o, ColumnCode& out) {
  column.codes.each_part([&](std::span<const int32_t> codes, size_t first) {
    for (size_t i = 0; i < codes.size(); ++i)
      if (codes[i] < -1 || codes[i] >= static_cast<int64_t>(column.values.size()))
        throw Error(ErrorCode::data, "Column \"" + column.name + "\", row " + std::to_string(first + i + 1) +
                                         " has code " + std::to_string(codes[i]) + ", but the column has " +
                                         std::to_string(column.values.size()) + " values.");
  });
  LevelCode code = LevelCode::of_texts(column, o.max_categories);
  if (code.levels() == 0) {
    out.code = ConstantCode{kMissing, {}, true};
  } else if (code.levels() == 1 && code.rare.empty() && !code.missing) {
    out.code = ConstantCode{kMissing, code.texts[0], false};
  } else {
    out.code = std::move(code);
  }
}

// The largest number that a column of this Arrow format can hold.
uint64_t largest_of(const std::string& format) {
  const std::optional<ArrowType> arrow = ArrowType::parse(format);
  if (!arrow || arrow->kind != ArrowKind::whole || arrow->width == 8) return NumberCounter::kLimit;
  return (uint64_t{1} << (8 * arrow->width - (arrow->is_signed() ? 1 : 0))) - 1;
}

void fit_identifiers(const Column& column, const EncoderOptions& o, ColumnCode& out) {
  int64_t missing = 0, adjacent = 0;
  int32_t before = -1;
  std::vector<int64_t> rows_with(column.values.size());
  column.codes.each_part([&](std::span<const int32_t> codes, size_t) {
    for (const int32_t c : codes) {
      ++(c < 0 ? missing : rows_with.at(static_cast<size_t>(c)));
      adjacent += c >= 0 && c == before;
      before = c;
    }
  });
  std::vector<std::string_view> texts;
  std::vector<int64_t> rows;
  for (size_t v = 0; v < rows_with.size(); ++v)
    if (rows_with[v] > 0) texts.push_back(column.values[v]), rows.push_back(rows_with[v]);
  if (texts.empty()) {
    out.code = ConstantCode{kMissing, {}, true};
    return;
  }
  const int64_t again = column.size() - missing - static_cast<int64_t>(texts.size());  // rows that repeat a text
  // A counted column is complete within a group of a sample as well, as if sorted, and its values are not reused.
  const bool counts = column.kind == kCountsRows;
  const bool sorted = counts || 10 * adjacent > 9 * again;
  IdentifierOptions options{o.least_rows, largest_of(column.arrow)};
  if (TextKind kind; parse_text_kind(column.kind, kind)) options.kind = kind;
  out.code = IdentifierCode{Identifier::learn(texts, counts ? std::span<const int64_t>() : rows, options),
                            static_cast<double>(missing) / static_cast<double>(column.codes.size()),
                            Repeats::learn(rows, missing, sorted, o.least_rows), counts};
}

}  // namespace

Encoder Encoder::fit(const Table& table, const EncoderOptions& options, Team& team, const Monitor& monitor) {
  check_options(options);
  if (table.columns.empty() || table.rows < 1) throw Error(ErrorCode::data, "The table has no rows or no columns.");
  for (const Column& c : table.columns)
    if (c.size() != table.rows)
      throw Error(ErrorCode::data, "Column \"" + c.name + "\" has " + std::to_string(c.size()) +
                                       " rows, but the table has " + std::to_string(table.rows) + ".");

  Encoder out;
  out.state_->seed = options.seed;
  out.state_->columns.resize(table.columns.size());
  std::mutex reporting;
  const bool bins = options.numbers == EncoderOptions::Numbers::bins;
  int64_t parts = 0;  // modes, or bins
  double done = 0;
  const double total = static_cast<double>(table.columns.size());
  team.for_each(static_cast<int64_t>(table.columns.size()), [&](int64_t j) {
    const Column& column = table.columns[static_cast<size_t>(j)];
    ColumnCode& code = out.state_->columns[static_cast<size_t>(j)];
    code.name = column.name, code.type = column.type, code.reason = column.reason, code.format = column.format,
    code.arrow = column.arrow, code.decimals = column.decimals;
    if (is_ordered(column)) fit_numbers(column, static_cast<uint32_t>(j), options, code);
    else if (kind_of(column).regenerated) fit_identifiers(column, options, code);
    else fit_texts(column, options, code);
    const std::lock_guard lock(reporting);
    done += 1;
    if (const auto* numbers = std::get_if<NumberCode>(&code.code)) parts += numbers->modes();
    if (const auto* numbers = std::get_if<BinCode>(&code.code)) parts += numbers->bins();
    monitor.report({bins ? "quantiles" : "mixtures", done, total, "columns",
                    done == total ? counted(parts, bins ? "bin" : "mode") : column.name, done == total});
  });
  out.state_->lay_out();
  for (const std::string& line : out.narrow_identifiers(table.rows)) notice(monitor, line);
  return out;
}

std::vector<std::string> Encoder::narrow_identifiers(int64_t rows) const {
  std::vector<std::string> out;
  for (const ColumnCode& column : state_->columns) {
    const auto* id = std::get_if<IdentifierCode>(&column.code);
    if (id == nullptr || (!id->pattern.distinct() && !id->repeats)) continue;
    const auto held = std::llround(static_cast<double>(rows) * (1 - id->missing_share));
    const uint64_t capacity = id->pattern.capacity(), all = static_cast<uint64_t>(held),
                   values = id->repeats ? id->repeats->groups_of(all) : all;
    if (id->pattern.widened())
      out.push_back(
          fmt::format("Column \"{}\": its values use more than a fifth of all texts of their form, so new "
                      "ones are longer: {}.",
                      column.name, id->pattern.describe()));
    else if (values > capacity)
      out.push_back(fmt::format("Column \"{}\": only {} new values of its form exist; {} have {}: {}.", column.name,
                                grouped(static_cast<int64_t>(capacity)), counted(held, "row"),
                                grouped(static_cast<int64_t>(values)),
                                id->pattern.distinct() ? "later values are longer" : "later values repeat"));
  }
  return out;
}

void Encoder::State::lay_out() {
  layout = {};
  discrete.clear(), first_alpha.clear(), first_code.clear();
  int alphas = 0, codes = 0;
  for (size_t j = 0; j < columns.size(); ++j) {
    const int column = static_cast<int>(j);
    first_alpha.push_back(alphas), first_code.push_back(codes);
    alphas += columns[j].alphas(), codes += columns[j].codes();
    if (const auto* n = std::get_if<NumberCode>(&columns[j].code)) {
      layout.spans.push_back({column, Span::Part::alpha, layout.data_width, 1, -1});
      layout.spans.push_back({column, Span::Part::mode, layout.data_width + 1, n->width(), -1});
      layout.data_width += 1 + n->width();
    } else if (const auto* range = std::get_if<RangeCode>(&columns[j].code)) {
      layout.spans.push_back({column, Span::Part::alpha, layout.data_width, 1, -1});
      if (range->width() > 0)
        layout.spans.push_back({column, Span::Part::mode, layout.data_width + 1, range->width(), -1});
      layout.data_width += 1 + range->width();
    } else if (const auto* b = std::get_if<BinCode>(&columns[j].code)) {
      layout.spans.push_back({column, Span::Part::bin, layout.data_width, b->width(), -1, b->levels()});
      layout.data_width += b->width();
    } else if (const auto* l = std::get_if<LevelCode>(&columns[j].code)) {
      const int ascending = static_cast<int>(l->numbers.size());
      layout.spans.push_back(
          {column, Span::Part::category, layout.data_width, l->width(), layout.cond_width, ascending});
      layout.data_width += l->width();
      layout.cond_width += l->width();
      discrete.push_back(column);
    }
  }
}

}  // namespace tessera
