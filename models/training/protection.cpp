#include "models/training/protection.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text/option_text.h"
#include "models/training/checkpoint.h"
#include "tables/kinds/kind.h"
#include "tables/protection/rare_categories.h"
#include "tables/protection/sort_numbers.h"
#include "tables/texts/text_kind.h"
#include "tables/types/types.h"

namespace tessera {
namespace {

// `of`: the key whose values are counted; empty: rows are counted.
nlohmann::json describe(const std::vector<RareColumn>& found, const std::string& of, const FitOptions& options,
                        const Monitor& monitor) {
  nlohmann::json out{{"least_rows", options.rare_rows}, {"columns", nlohmann::json::array()}};
  if (!of.empty()) out["of"] = of;
  int64_t values = 0, rows = 0;
  for (const RareColumn& c : found) {
    out["columns"].push_back(
        {{"column", c.name}, {"values", c.values}, {"rows", c.rows}, {"made_anew", c.regenerated}});
    values += c.values, rows += c.rows;
  }
  const auto columns = static_cast<double>(found.size());
  if (values > 0)
    monitor.report(
        {"protect", columns, columns, "columns",
         fmt::format("{} of fewer than {} {} ({} in total) {} not learned; `rare_categories`",
                     counted(values, "category", "categories"), options.rare_rows,
                     of.empty() ? "rows" : "values of " + of, counted(rows, "row"), values == 1 ? "is" : "are"),
         true});
  return out;
}

// Of a column: rows per value, where values repeat; else 0.
double rows_per_value(const Column& c) {
  std::vector<char> seen(c.values.size(), 0);
  int64_t rows = 0, values = 0;
  for (const int32_t code : c.codes)
    if (code >= 0) ++rows, values += std::exchange(seen[static_cast<size_t>(code)], 1) == 0;
  return rows > values ? static_cast<double>(rows) / static_cast<double>(values) : 0;
}

// Names each column, because nothing of it is learned, and the way to change that.
void report_regenerated(const Table& table, const std::vector<RareColumn>& found, const FitOptions& options,
                        const Monitor& monitor) {
  std::vector<std::string> names;
  for (const Column& c : table.columns) {
    if (!kind_of(c).regenerated) continue;
    const auto rare = std::find_if(found.begin(), found.end(), [&](const RareColumn& r) { return r.name == c.name; });
    std::string why = c.reason;
    if (rare != found.end()) {
      why = fmt::format("{} {} a value that fewer than {} share", counted(rare->rows, "row"),
                        rare->rows == 1 ? "has" : "have", options.rare_rows);
      if (TextKind kind; parse_text_kind(c.kind, kind)) why += fmt::format(" ({})", described(kind));
    }
    if (const double mean = rows_per_value(c); mean > 0)
      notice(monitor, fmt::format("Column \"{}\" repeats ({:.3g} rows per value): regenerated with repeats, not "
                                  "learned: {}.",
                                  c.name, mean, why));
    else notice(monitor, fmt::format("Column \"{}\" is regenerated, not learned: {}.", c.name, why));
    names.push_back(c.name);
  }
  if (names.empty()) return;
  notice(monitor,
         fmt::format(
             "Regenerated values are invented and do not depend on other columns; texts of an unknown kind keep the "
             "shapes of the column, with random letters. If {} numbers, dates or categories, give the type, "
             "for example {}, and for names of persons \"name\" (also address, email, phone); "
             "`rare_categories=keep`, or a schema file for one column (docs/data/schema.md), keeps texts that "
             "few rows share.",
             names.size() == 1 ? "the column holds" : "one of the columns holds", type_option(names[0], "category")));
}

}  // namespace

nlohmann::json leave_out_rare(Table& table, const FitOptions& options, Team& team, const Monitor& monitor) {
  if (table.rows < options.rare_rows)
    notice(monitor, fmt::format("The table has {}, and nothing is learned from fewer than {}: nearly all sampled cells "
                                "will be missing. Add rows; `rare_categories=keep` learns from single rows.",
                                counted(table.rows, "row"), options.rare_rows));
  else if (constexpr int64_t kFewGroups = 16; table.rows < kFewGroups * options.rare_rows)
    notice(
        monitor,
        fmt::format("The table has {}, and nothing is learned that fewer than {} of them share: a column of numbers "
                    "has {} at most, a text needs {} rows, and hardly any dependence between columns is learned. Add "
                    "rows; `rare_categories=keep` learns from single rows, and stores their values in the model.",
                    counted(table.rows, "row"), options.rare_rows, counted(table.rows / options.rare_rows, "level"),
                    options.rare_rows));
  const std::vector<RareColumn> found = protect_rare_categories(table, options.rare_rows, options.seed, team);
  report_regenerated(table, found, options, monitor);
  return describe(found, "", options, monitor);
}

nlohmann::json leave_out_rare(Sequences& sequences, const FitOptions& options, Team& team, const Monitor& monitor) {
  const bool keyed = !sequences.options.key.empty();
  std::vector<RareColumn> found = protect_rare_categories(sequences.steps, options.rare_rows, options.seed, team,
                                                          keyed ? key_of_rows(sequences) : std::vector<int32_t>{});
  const auto fixed =
      protect_rare_categories(sequences.attributes, options.rare_rows, options.seed ^ 0x9e3779b97f4a7c15ull, team,
                              keyed ? sequences.key : std::vector<int32_t>{});
  found.insert(found.end(), fixed.begin(), fixed.end());
  report_regenerated(sequences.steps, found, options, monitor);
  report_regenerated(sequences.attributes, found, options, monitor);
  return describe(found, sequences.options.key, options, monitor);
}

nlohmann::json describe_protection(const std::vector<EmptiedColumn>& emptied, const FitOptions& options,
                                   const Monitor& monitor) {
  nlohmann::json out{{"least_rows", options.rare_rows}, {"emptied", nlohmann::json::array()}};
  for (const EmptiedColumn& c : emptied) {
    out["emptied"].push_back({{"column", c.name}, {"rows", c.rows}});
    notice(monitor,
           fmt::format("Column \"{}\" is learned as empty: {} a value, and fewer than {} would reveal single "
                       "{}; `rare_categories`.",
                       c.name, c.holders ? "few keys have" : counted(c.rows, "row") + (c.rows == 1 ? " has" : " have"),
                       options.rare_rows, c.holders ? "keys" : "rows"));
  }
  return out;
}

Sequences cut_protected(Table&& table, const FitOptions& options, Team& team, const Monitor& monitor,
                        nlohmann::json& provenance) {
  std::optional<ProtectedNumbers> index;
  if (const Column* c = options.sequences.index.empty() ? nullptr : table.find(options.sequences.index);
      c != nullptr && is_ordered(*c)) {
    const auto present = std::count_if(c->numbers.begin(), c->numbers.end(), [](double x) { return x == x; });
    index.emplace(sorted_values(c->numbers, present, 0, options.seed),
                  c->least_rows != 0 ? c->least_rows : options.rare_rows, decimals_of(*c));
  }
  Sequences sequences = cut(std::move(table), options.sequences);
  if (sequences.steps.rows < options.rare_rows)
    throw Error(ErrorCode::data, fmt::format("The table has {} rows: a model of fewer than {} would reveal single "
                                             "rows.\n  `rare_categories=keep` learns from single rows.",
                                             sequences.steps.rows, options.rare_rows));
  if (options.codes_steps()) code_steps(sequences, options.rare_rows, options.seed, team);
  // before lengths change, because they determine each row's key
  provenance["rare_categories"] = leave_out_rare(sequences, options, team, monitor);
  provenance["protected_numbers"] = describe_protection(
      protect_numbers(sequences, index ? &*index : nullptr, options.rare_rows, options.seed, team), options, monitor);
  return sequences;
}

}  // namespace tessera
