#include "tables/rules/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/json_fields.h"
#include "tables/expression/where.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/number_writer.h"
#include "tables/rules/kinds/running.h"
#include "tables/rules/rule/columns.h"
#include "tables/sequence/sequences.h"

namespace tessera {

namespace {

// The day of a first index with a time.
void add_day(Table& rows, const Column& start) {
  if (!has_time(start)) return;
  Column day;
  become_moment(day, true, false);
  day.name = kStartDay, day.least_rows = start.least_rows;
  for (const double x : start.numbers) day.numbers.push_back(std::floor(x / kind_of(start).day));
  rows.columns.push_back(std::move(day));
}

}  // namespace

bool Rules::adds(const std::string& learned) const {
  return !found_.empty() && std::find(columns_.begin(), columns_.end(), learned) == columns_.end();
}

std::vector<std::string> Rules::rising() const {
  std::vector<std::string> out;
  for (const FoundRule& f : found_)
    if (f.rule->makes() == TableRule::Makes::steps) out.push_back(f.rule->column());
  return out;
}

std::vector<std::string> Rules::firsts() const {
  std::vector<std::string> out;
  for (const FoundRule& f : found_)
    if (f.rule->makes() == TableRule::Makes::sums) out.push_back(f.rule->column());
  return out;
}

std::vector<std::string> Rules::statics(std::vector<std::string> of) const { return statics_.value_or(std::move(of)); }

bool Rules::repeats(const std::string& learned) const {
  return std::any_of(found_.begin(), found_.end(), [&](const FoundRule& f) {
    return f.rule->makes() == TableRule::Makes::copies && f.rule->column() == learned;
  });
}

bool Rules::sees(const std::string& learned) const {
  return std::any_of(found_.begin(), found_.end(), [&](const FoundRule& f) { return f.rule->seen() == learned; });
}

void Rules::reduce(Table& table, Team& team) const {
  check_columns(table);
  add_starts(table);
  for (const FoundRule& f : found_) f.rule->reduce(table, team);
  drop_starts(table);
}

void Rules::reduce_whole(Table& rows, Team& team) const {
  check_columns(rows);
  for (const FoundRule& f : found_) f.rule->reduce_whole(rows, team);
}

void Rules::reduce_given(Table& rows, Team& team, bool filled) const {
  check_columns(rows);
  for (const FoundRule& f : found_) f.rule->reduce_given(rows, team, filled);
}

void Rules::check_columns(const Table& table) const {
  if (empty()) return;
  std::vector<std::string> names;
  for (const Column& c : table.columns) names.push_back(c.name);
  if (names != columns_)
    throw Error(ErrorCode::data,
                "The table has other columns than the one that the model's rules were found in. Give "
                "the table that the model was fitted on.");
}

void Rules::fill(Table& table, uint64_t seed, bool once) const {
  for (const FoundRule& f : found_) {
    if (f.once != once) continue;
    f.rule->fill(table, seed);
    table.relax();
  }
}

void Rules::restore(Table& rows, const Table* known, bool last) const {
  for (Column& c : rows.columns) round_as_written(c);  // what rules compute from
  if (found_.empty()) return;
  add_starts(rows);
  for (auto f = found_.rbegin(); f != found_.rend(); ++f) {
    if (known != nullptr) f->rule->restore_given(rows, *known, last);
    else f->rule->restore(rows);
  }
  drop_starts(rows);
  for (Column& c : rows.columns) round_as_written(c);  // and what they compute
  Table ordered;
  ordered.rows = rows.rows;
  for (Column& c : rows.columns)  // those that the table does not have: the numbers of sequences and of their steps
    if (std::find(columns_.begin(), columns_.end(), c.name) == columns_.end()) ordered.columns.push_back(std::move(c));
  for (const std::string& name : columns_) ordered.columns.push_back(std::move(column_of(rows, name)));
  ordered.held = std::move(rows.held), ordered.dialect = std::move(rows.dialect);
  rows = std::move(ordered);
}

void Rules::restore_once(Table& attributes) const {
  for (Column& c : attributes.columns) round_as_written(c);
  if (const Column* start = index_.empty() ? nullptr : attributes.find(kStartColumn); start != nullptr)
    add_day(attributes, *start);
  for (auto f = found_.rbegin(); f != found_.rend(); ++f)
    if (f->once) f->rule->restore(attributes);
}

void Rules::add_starts(Table& rows) const {
  if (index_.empty()) return;
  const std::vector<int32_t> first = first_steps(previous_rows(rows, key_, index_));
  const Column& index = column_of(rows, index_);
  Column start = index.head();
  start.name = kStartColumn;
  for (const int32_t row : first) start.numbers.push_back(index.numbers[static_cast<size_t>(row)]);
  add_day(rows, start);
  rows.columns.push_back(std::move(start));
}

void Rules::drop_starts(Table& rows) {
  std::erase_if(rows.columns, [](const Column& c) { return c.name == kStartColumn || c.name == kStartDay; });
}

std::vector<std::string> Rules::shown(const std::string& learned) const {
  std::vector<std::string> columns{learned};
  for (const FoundRule& f : found_) f.rule->show(learned, columns);
  return columns;
}

nlohmann::json Rules::to_json() const {
  nlohmann::json found = nlohmann::json::array();
  for (const FoundRule& f : found_) {
    nlohmann::json rule = f.rule->to_json();
    rule["rows"] = f.evidence.rows, rule["held_out"] = f.evidence.held_out, rule["chance"] = f.evidence.chance;
    if (f.once) rule["once"] = true;
    found.push_back(std::move(rule));
  }
  nlohmann::json out{{"columns", columns_}, {"found", std::move(found)}, {"checked", checked_}};
  if (!index_.empty()) out["key"] = key_, out["index"] = index_;
  return out;
}

Rules Rules::from_json(const nlohmann::json& json) {
  const Fields f(json, "its rules");
  Rules out;
  out.columns_ = f.texts("columns"), out.checked_ = f.texts("checked");
  if (f.has("index")) out.key_ = f.text("key"), out.index_ = f.text("index");
  for (const auto& one : f.array("found")) {
    const Fields rule(one, "a rule");
    FoundRule found{read_rule(rule)};
    found.evidence.rows = rule.integer("rows", 0, INT64_MAX);
    found.evidence.held_out = rule.integer("held_out", 0, INT64_MAX);
    found.evidence.chance = rule.number("chance");
    found.once = rule.has("once") && rule.flag("once");
    out.found_.push_back(std::move(found));
  }
  return out;
}

void Rules::check_values(const Table& schema) const {
  Table named = schema;
  add_starts(named);
  for (const std::string& check : checked_) (void)parse_where(check, named, "Rule");
}

void Rules::check_fits(const Table& learned) const {
  Table rows = learned;
  try {
    restore(rows);
    std::vector<std::string> names;
    for (const Column& c : rows.columns) names.push_back(c.name);
    std::sort(names.begin(), names.end());
    const bool twice = std::adjacent_find(names.begin(), names.end()) != names.end();
    if (twice || (!found_.empty() && std::find(names.begin(), names.end(), "") != names.end()))
      throw Error(ErrorCode::format, "The model file is damaged or foreign: its rules name a column twice.");
    check_values(rows);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::usage && e.code() != ErrorCode::condition) throw;
    throw Error(ErrorCode::format, fmt::format("The model file is damaged or foreign: {}", e.what()));
  }
}

std::vector<std::string> Rules::checked_alone() const {
  std::vector<std::string> out = checked_;
  std::erase_if(out, [&](const std::string& check) {
    return std::any_of(found_.begin(), found_.end(), [&](const FoundRule& f) { return f.rule->text() == check; });
  });
  return out;
}

nlohmann::json Rules::describe() const {
  nlohmann::json out = nlohmann::json::array();
  for (const FoundRule& f : found_)
    out.push_back({{"rule", f.rule->text()},
                   {"kind", f.rule->kind()},
                   {"kept", f.rule->kept()},
                   {"rows", f.evidence.rows},
                   {"held_out", f.evidence.held_out},
                   {"chance", f.evidence.chance}});
  for (const std::string& check : checked_alone())
    out.push_back({{"rule", check}, {"kind", "given"}, {"kept", "by rejection"}});
  return out;
}

}  // namespace tessera
