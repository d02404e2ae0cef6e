#include "models/protection.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/checkpoint.h"
#include "models/encoding/rare_categories.h"
#include "models/table/types.h"

namespace tessera {

nlohmann::json leave_out_rare(Table& table, const FitOptions& options, Team& team, const Monitor& monitor) {
  nlohmann::json out{{"least_rows", options.rare_rows}, {"columns", nlohmann::json::array()}};
  int64_t values = 0, rows = 0;
  for (const RareColumn& c : protect_rare_categories(table, options.rare_rows, options.seed, team)) {
    out["columns"].push_back({{"column", c.name}, {"values", c.values}, {"rows", c.rows}, {"made_anew", c.made_anew}});
    values += c.values, rows += c.rows;
  }
  const auto columns = static_cast<double>(out["columns"].size());
  if (values > 0)
    monitor.report({"protect", columns, columns, "columns", fmt::format("{} of fewer than {} rows ({} in all) {} not learnt; --rare-categories", counted(values, "category", "categories"), options.rare_rows, grouped(rows), values == 1 ? "is" : "are"), true});
  return out;
}

nlohmann::json describe_protection(const std::vector<EmptiedColumn>& emptied, const FitOptions& options,
                                   const Monitor& monitor) {
  nlohmann::json out{{"least_rows", options.rare_rows}, {"emptied", nlohmann::json::array()}};
  for (const EmptiedColumn& c : emptied) {
    out["emptied"].push_back({{"column", c.name}, {"rows", c.rows}});
    notice(monitor, fmt::format("Column \"{}\" is learnt as empty: {} rows have a value, and fewer than {} tell of "
                                "single rows; --rare-categories.",
                                c.name, c.rows, options.rare_rows));
  }
  return out;
}

}  // namespace tessera
