// Learning how each column is coded.
#include <algorithm>
#include <cmath>
#include <mutex>

#include "models/encoding/encoder_state.h"
#include "models/encoding/sort_numbers.h"

namespace tessera {
namespace {

constexpr double kLeastSpikeRows = 3;  // in a tiny table any value fills a good share; a spike is a value that repeats

void check_options(const EncoderOptions& o) {
  auto refuse = [](const std::string& what) { throw Error(ErrorCode::usage, what); };
  if (o.max_modes < 1 || o.max_modes > kMaxComponents) refuse("A numeric column can have 1 to 64 mixture modes, not " + std::to_string(o.max_modes) + ".");
  if (!(o.spike_share >= 0 && o.spike_share <= 1)) refuse("The share that makes a value a level of its own lies between 0 (never) and 1.");
  if (o.max_categories < 2) refuse("At least 2 categories must be kept per column, not " + std::to_string(o.max_categories) + ".");
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

LevelCode levels(const std::vector<Run>& runs, bool missing) {
  LevelCode out;
  for (const Run& r : runs) out.numbers.push_back(r.value);
  out.missing = missing;
  return out;
}

void fit_numbers(const Column& column, uint32_t index, const EncoderOptions& o, ColumnCode& out) {
  std::vector<double> values;
  values.reserve(column.numbers.size());
  for (size_t i = 0; i < column.numbers.size(); ++i) {
    const double x = column.numbers[i];
    if (x != x) continue;
    if (std::isinf(x))
      throw Error(ErrorCode::data, "Column \"" + column.name + "\", row " + std::to_string(i + 1) + " is infinite. Mark such values missing, or cap them.");
    values.push_back(x);
  }
  const bool missing = values.size() < column.numbers.size();
  sort_numbers(values);
  const std::vector<Run> runs = runs_of(values);

  if (runs.empty()) {
    out.code = ConstantCode{kMissing, {}, true};
    return;
  }
  if (runs.size() == 1 && !missing) {
    out.code = ConstantCode{runs[0].value, {}, false};
    return;
  }
  const int decimals = column.type == ColumnType::integer || column.type == ColumnType::date ? 0 : column.decimals;
  if (o.numbers == EncoderOptions::Numbers::range && runs.size() > 1) {
    RangeCode code;
    code.missing = missing;
    code.decimals = has_decimals(values, decimals) ? decimals : -1;
    code.fit(values);
    out.code = std::move(code);
    return;
  }
  if (column.type == ColumnType::integer && static_cast<int64_t>(runs.size()) <= o.integer_levels) {
    out.code = levels(runs, missing);
    return;
  }

  NumberCode code;
  code.missing = missing;
  code.low = values.front(), code.high = values.back();
  const double enough = std::max(kLeastSpikeRows, o.spike_share * static_cast<double>(values.size()));
  size_t rest = 0;  // distinct values that are no spikes
  double last = 0;
  for (const Run& r : runs) {
    if (o.spike_share > 0 && static_cast<double>(r.rows) >= enough) code.spikes.push_back(r.value);
    else ++rest, last = r.value;
  }
  if (rest <= 1) {  // one value left: a mixture of it would have no width
    if (rest == 1) code.spikes.insert(std::lower_bound(code.spikes.begin(), code.spikes.end(), last), last);
    LevelCode all;
    all.numbers = std::move(code.spikes);
    all.missing = missing;
    out.code = std::move(all);
    return;
  }
  code.decimals = has_decimals(values, decimals) ? decimals : -1;
  if (!code.spikes.empty()) std::erase_if(values, [&](double x) { return std::binary_search(code.spikes.begin(), code.spikes.end(), x); });
  code.fit_modes(values, {o.max_modes, o.seed, index});
  out.code = std::move(code);
}

void fit_texts(const Column& column, const EncoderOptions& o, ColumnCode& out) {
  for (size_t i = 0; i < column.codes.size(); ++i)
    if (column.codes[i] < -1 || column.codes[i] >= static_cast<int64_t>(column.values.size()))
      throw Error(ErrorCode::data, "Column \"" + column.name + "\", row " + std::to_string(i + 1) + " has code " + std::to_string(column.codes[i]) + ", but the column has " +
                                       std::to_string(column.values.size()) + " values.");
  LevelCode code = LevelCode::of_texts(column, o.max_categories);
  if (code.levels() == 0) {
    out.code = ConstantCode{kMissing, {}, true};
  } else if (code.levels() == 1 && code.rare.empty() && !code.missing) {
    out.code = ConstantCode{kMissing, code.texts[0], false};
  } else {
    out.code = std::move(code);
  }
}

void fit_identifiers(const Column& column, uint32_t index, const EncoderOptions& o, ColumnCode& out) {
  size_t missing = 0;
  std::vector<char> seen(column.values.size());
  for (const int32_t c : column.codes) {
    if (c < 0) ++missing;
    else seen.at(static_cast<size_t>(c)) = 1;
  }
  std::vector<std::string> values;
  for (size_t v = 0; v < seen.size(); ++v)
    if (seen[v] != 0) values.push_back(column.values[v]);
  if (values.empty()) {
    out.code = ConstantCode{kMissing, {}, true};
    return;
  }
  const uint64_t salt = (o.seed + 1) * 0x9e3779b97f4a7c15ull + index;
  out.code = IdentifierCode{Identifier::learn(values, salt), static_cast<double>(missing) / static_cast<double>(column.codes.size())};
}

}  // namespace

Encoder Encoder::fit(const Table& table, const EncoderOptions& options, Team& team, const Monitor& monitor) {
  check_options(options);
  if (table.columns.empty() || table.rows < 1) throw Error(ErrorCode::data, "The table has no rows or no columns, so there is nothing to learn from.");
  for (const Column& c : table.columns)
    if (c.size() != table.rows)
      throw Error(ErrorCode::data, "Column \"" + c.name + "\" has " + std::to_string(c.size()) + " rows, but the table has " + std::to_string(table.rows) + ".");

  Encoder out;
  out.state_->seed = options.seed;
  out.state_->columns.resize(table.columns.size());
  std::mutex reporting;
  int64_t modes = 0;
  double done = 0;
  const double total = static_cast<double>(table.columns.size());
  team.for_each(static_cast<int64_t>(table.columns.size()), [&](int64_t j) {
    const Column& column = table.columns[static_cast<size_t>(j)];
    ColumnCode& code = out.state_->columns[static_cast<size_t>(j)];
    code.name = column.name, code.type = column.type, code.reason = column.reason, code.format = column.format, code.arrow = column.arrow, code.decimals = column.decimals;
    if (is_numeric(column.type)) fit_numbers(column, static_cast<uint32_t>(j), options, code);
    else if (column.type == ColumnType::identifier) fit_identifiers(column, static_cast<uint32_t>(j), options, code);
    else fit_texts(column, options, code);
    const std::lock_guard lock(reporting);
    done += 1;
    if (const auto* numbers = std::get_if<NumberCode>(&code.code)) modes += numbers->modes();
    monitor.report({"mixtures", done, total, "columns", done == total ? std::to_string(modes) + " modes" : column.name, done == total});
  });
  out.state_->lay_out();
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
      if (range->missing) layout.spans.push_back({column, Span::Part::mode, layout.data_width + 1, range->width(), -1});
      layout.data_width += 1 + range->width();
    } else if (const auto* l = std::get_if<LevelCode>(&columns[j].code)) {
      layout.spans.push_back({column, Span::Part::category, layout.data_width, l->width(), layout.cond_width});
      layout.data_width += l->width();
      layout.cond_width += l->width();
      discrete.push_back(column);
    }
  }
}

}  // namespace tessera
