#include "models/model/preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/option_text.h"
#include "models/training/protection.h"
#include "tables/identifiers/permutation.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/row_formats.h"
#include "tables/protection/rare_categories.h"
#include "tables/rules/rule/columns.h"
#include "tables/sequence/likely_key.h"
#include "tables/types/types.h"

namespace tessera {

namespace {

// rows, or keys, that must share a text or part of one for the model file to store it
int64_t least_shared(const FitOptions& options) { return std::max(options.rare_rows, kRareRows); }

}  // namespace

Table sample_rows(const Encoder& encoder, const Table& table, uint64_t seed) {
  const Permutation order(static_cast<uint64_t>(table.rows), seed);
  std::vector<int64_t> rows(static_cast<size_t>(std::min(table.rows, Calibration::kMaxRows)));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(order(i));
  Table picked = encoder.pick(table, rows);
  table.relax();
  return picked;
}

Rules take_rules(Table& table, const FitOptions& options, Team& team, const Monitor& monitor) {
  RuleOptions asked = options.rules;
  asked.least_rows = options.rare_rows;
  const SequenceOptions& s = options.sequences;
  if (options.of_sequences()) {
    asked.by_rejection = false, asked.steps = true, asked.orders = !options.codes_steps();
    asked.statics = s.statics, asked.whole = s.length == 0;
    asked.excluded = {s.key, s.index};
    asked.key = s.key, asked.index = s.index;
  }
  return Rules::find(table, asked, team, monitor);
}

nlohmann::json own_numbers(const Table& table) {
  nlohmann::json out = nlohmann::json::array();
  for (const Column& c : table.columns)
    if (c.least_rows != 0) out.push_back({{"column", c.name}, {"least_rows", c.least_rows}});
  return out;
}

void report_rules(const Rules& rules, const Monitor& monitor) {
  const nlohmann::json list = rules.describe();
  for (const nlohmann::json& rule : list)
    notice(monitor, fmt::format("rule kept {}: {}", rule["kept"].get<std::string>(), rule["rule"].get<std::string>()));
}

namespace {

// Dates as text are learned as identifiers or shapes are: no calendar.
void report_unread_dates(const Table& table, const Monitor& monitor) {
  for (const Column& c : table.columns)
    if (!is_instant(c.type) && c.reason.starts_with(kDatesButText))
      notice(monitor,
             fmt::format("Column \"{}\" is text: it holds dates, but in formats that exclude each other, or with "
                         "days that may be months. Write all of them alike, such as "
                         "2024-12-31, or give the type, {}.",
                         c.name, type_option(c.name, "date")));
}

template <class Kind>  // RowModel or SequenceModel
Kind& begin(Model::State& state, const Table& table, const FitOptions& options, const Monitor& monitor) {
  if (table.rows == 0) throw Error(ErrorCode::data, "the table has no rows: there is nothing to learn from.");
  const auto model = std::make_shared<Kind>();
  state.fitted = model;
  state.preset = options.preset;
  model->config = options.config;
  check_config(model->config);
  state.provenance.update({{"source", options.source}, {"rows", table.rows}, {"seed", options.seed}});
  report_unread_dates(table, monitor);
  if (!table.dialect.empty()) state.provenance["csv"] = nlohmann::json::parse(table.dialect, nullptr, false);
  return *model;
}

// Otherwise rows of one patient would be learned as independent, and names of patients with many rows as categories.
void report_likely_key(const Table& table, const Rules& rules, const Monitor& monitor) {
  for (const FoundRule& f : rules.found())
    if (f.rule->kind() == std::string_view("key"))
      return notice(monitor, fmt::format("The rows of one \"{}\" are learned as independent; {} learns them as one "
                                         "sequence.",
                                         f.rule->column(), option_text("sequence_key", f.rule->column())));
  LikelyKey key = likely_key(table);
  std::erase_if(key.statics, [&](const std::string& name) { return rules.adds(name); });
  if (key.column.empty() || rules.adds(key.column) || key.statics.empty()) return;
  notice(monitor, fmt::format("Column \"{}\" may identify sequences: {} values, within which {} not vary. Rows are "
                              "learned as independent; {} learns the rows of a value as one "
                              "sequence.",
                              key.column, grouped(key.values),
                              key.statics.size() > 3 ? fmt::format("{} columns do", key.statics.size())
                                                     : fmt::format("\"{}\" do", fmt::join(key.statics, "\", \"")),
                              option_text("sequence_key", key.column)));
}

// A column that orders the rows is the index: learned at every step, it would be out of order in samples.
FitOptions with_index(FitOptions options, const Table& table, const Monitor& monitor) {
  SequenceOptions& s = options.sequences;
  if (s.find_index && s.index.empty() && !(s.index = likely_index(table, s)).empty())
    notice(monitor, fmt::format("Column \"{}\" increases from row to row and is used as {}; "
                                "`sequence_index=none` learns it as any other column.",
                                s.index, option_text("sequence_index", s.index)));
  s.find_index = false;
  s.grid = find_grid(table, s, options.rare_rows);
  if (options.codes_steps()) s.calendar = find_calendar(table, s, options.rare_rows);
  if (s.grid.any())
    notice(monitor, fmt::format("index \"{}\": {}. Steps are counted in this unit, and samples keep it.", s.index,
                                s.grid.text()));
  return options;
}

// Columns that do not vary within a key are learned once per sequence; learned at every step, they would vary in
// samples.
FitOptions with_statics(FitOptions options, const Table& table, const Monitor& monitor) {
  SequenceOptions& s = options.sequences;
  if (!s.find_statics || !s.statics.empty()) return options;
  s.statics = static_columns(table, s), s.find_statics = false;
  if (!s.statics.empty())
    notice(monitor, fmt::format("static, learned once per sequence: \"{}\". It is constant within each \"{}\"; "
                                "`static=none` learns it at every step.",
                                fmt::join(s.statics, "\", \""), s.key));
  return options;
}

// Key, index and statics are in no rule, so each is written in one format: its most frequent one.
void report_lost_formats(const SequenceOptions& s, const Table& table, const Monitor& monitor) {
  std::vector<std::string> names = s.statics;
  names.insert(names.end(), {s.key, s.index});
  for (const Column& c : table.columns) {
    if (!by_row(c) || std::find(names.begin(), names.end(), c.name) == names.end()) continue;
    std::vector<int64_t> rows(c.values.size());
    for (const int32_t code : c.codes)
      if (code >= 0) ++rows[static_cast<size_t>(code)];
    const auto used = std::count_if(rows.begin(), rows.end(), [](int64_t n) { return n > 0; });
    if (used < 2) continue;
    notice(monitor,
           fmt::format("Column \"{}\" is written in {} formats, or with offsets from UTC that differ. Samples "
                       "write all of it as most rows do, {}: the same moments, but no row keeps its own form.",
                       c.name, used,
                       c.values[static_cast<size_t>(std::max_element(rows.begin(), rows.end()) - rows.begin())]));
  }
}

// Errors about rows name the file.
template <class Body>
auto in_source(const FitOptions& options, Body&& body) {
  try {
    return body();
  } catch (const Error& e) {
    if (e.code() != ErrorCode::data || options.source.empty()) throw;
    throw Error(e.code(), fmt::format("{}: {}", options.source, e.what()));
  }
}

void tell_coding(const StepCoding& coding, const Monitor& monitor) {
  constexpr size_t kMaxTold = 8;
  std::vector<std::string> columns = coding.describe();
  if (columns.empty()) return;
  const size_t more = columns.size() - std::min(columns.size(), kMaxTold);
  columns.resize(columns.size() - more);
  notice(monitor, fmt::format("numbers are learned as {}{}", fmt::join(columns, ", "),
                              more > 0 ? fmt::format(", and {} more alike", more) : std::string()));
}

}  // namespace

FitOptions with_sequences(FitOptions options, const Table& table, const Monitor& monitor) {
  if (!options.of_sequences()) return options;
  return with_statics(with_index(std::move(options), table, monitor), table, monitor);
}

EncodedTable prepare_rows(Model::State& state, Table&& table, const Rules& rules, const nlohmann::json& own,
                          const FitOptions& options, Table* sample, Team& team, const Monitor& monitor) {
  RowModel& model = begin<RowModel>(state, table, options, monitor);
  report_likely_key(table, rules, monitor);
  state.provenance["rare_categories"] = leave_out_rare(table, options, team, monitor);
  if (!own.empty()) state.provenance["rare_categories"]["own"] = own;
  state.provenance["protected_numbers"] =
      describe_protection(protect_numbers(table, options.rare_rows, options.seed, team), options, monitor);
  rules.fill(table, options.seed);
  EncoderOptions encoder = options.encoder;
  encoder.seed = options.seed;
  encoder.least_rows = least_shared(options);
  model.encoder = Encoder::fit(table, encoder, team, monitor);
  Table schema = model.encoder.schema();
  rules.restore(schema);
  rules.check_values(schema);
  if (sample != nullptr) *sample = sample_rows(model.encoder, table, options.seed);
  return model.encoder.encode(std::move(table), team, monitor);
}

EncodedSequences prepare_sequences(Model::State& state, Table&& table, const FitOptions& asked, Team& team,
                                   const Monitor& monitor) {
  SequenceModel& model = begin<SequenceModel>(state, table, asked, monitor);
  FitOptions options = in_source(asked, [&] { return with_sequences(asked, table, monitor); });
  report_lost_formats(options.sequences, table, monitor);
  const nlohmann::json own = own_numbers(table);
  Rules rules = take_rules(table, options, team, monitor);
  options.sequences.rising = rules.rising(), options.sequences.firsts = rules.firsts();
  options.sequences.statics = rules.statics(options.sequences.statics);
  Sequences sequences =
      in_source(asked, [&] { return cut_protected(std::move(table), options, team, monitor, state.provenance); });
  tell_coding(sequences.coding, monitor);
  if (!own.empty()) state.provenance["rare_categories"]["own"] = own;
  rules.fill(sequences.steps, options.seed);
  rules.fill(sequences.attributes, options.seed, true);
  // keys of one row have no differences
  for (Column& c : sequences.steps.columns)
    if (c.name == kDifferenceColumn || std::find(options.sequences.rising.begin(), options.sequences.rising.end(),
                                                 c.name) != options.sequences.rising.end())
      fill_missing(c, options.seed);
  model.rules = std::move(rules);
  model.encoder = SequenceEncoder::fit(sequences, least_shared(options), options.seed, team, monitor);
  if (!model.rules.checked().empty()) {
    Table schema = model.encoder.schema();
    model.rules.restore(schema);
    model.rules.check_values(schema);
  }
  return model.encoder.encode(std::move(sequences), team, monitor);
}

}  // namespace tessera
