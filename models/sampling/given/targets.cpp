#include "models/sampling/given/targets.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "models/sampling/given/impute.h"
#include "models/sampling/given/known_cells.h"
#include "models/sampling/shown.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/table/suggestions.h"

namespace tessera {
namespace {

constexpr double kMaxGivenRows = 1e9;

}  // namespace

Table balanced_rows(const RowModel& model, const std::string& column, int64_t count) {
  const ShownColumns columns(model);
  std::vector<std::string> names;
  for (const Column& c : columns.table().columns) names.push_back(c.name);
  const auto found = std::find(names.begin(), names.end(), column);
  if (found == names.end())
    throw Error(ErrorCode::condition,
                fmt::format("`balance`: the model has no column \"{}\".{}", column, nearest_names(column, names)));
  const auto at = static_cast<int>(found - names.begin());
  Column c = columns.table().columns[static_cast<size_t>(at)];
  const int source = columns.source(at);
  std::vector<double> numbers;
  if (has_numbers(c) && source >= 0) numbers = model.encoder.reach(source).only;
  const size_t values = has_numbers(c) ? numbers.size() : kind_of(c).regenerated ? 0 : c.values.size();
  if (values == 0)
    throw Error(
        ErrorCode::condition,
        fmt::format("`balance`: column \"{}\" has no list of values to balance; it holds {}.\n  Choose a column "
                    "of categories or of few numbers, or give counts with `counts`.",
                    column, kind_of(c).regenerated ? kind_of(c).holds : "numbers"));
  for (int64_t i = 0; i < count; ++i) {
    const auto k = static_cast<size_t>(i % static_cast<int64_t>(values));
    if (has_numbers(c)) c.numbers.push_back(numbers[k]);
    else c.codes.push_back(static_cast<int32_t>(k));
  }
  Table out;
  out.rows = count;
  out.columns.push_back(std::move(c));
  return out;
}

Table repeated_rows(const RowModel& model, const Table& conditions, const std::string& file, Team& team) {
  const Table schema = model.schema();
  const Column* counts = nullptr;
  for (const Column& c : conditions.columns) {
    if (schema.find(c.name) != nullptr) continue;
    if (counts != nullptr)
      throw Error(ErrorCode::usage,
                  fmt::format("{}: the columns \"{}\" and \"{}\" are not in the model. The file may have one "
                              "such column: the number of rows to draw.",
                              file, counts->name, c.name));
    counts = &c;
  }
  if (counts == nullptr)
    throw Error(ErrorCode::usage,
                fmt::format("{}: the file needs a count column (number of rows to draw).\n  Add a column "
                            "with a name that the model does not have, such as \"rows\".",
                            file));
  if (conditions.columns.size() == 1)
    throw Error(ErrorCode::usage, fmt::format("{}: the file has the count column \"{}\" but no condition.\n  "
                                              "Add columns of the model, or use `rows` instead.",
                                              file, counts->name));
  Table given, out;
  given.rows = conditions.rows;
  for (const Column& c : conditions.columns)
    if (&c != counts) {
      given.columns.push_back(c);
      Column head = c;
      head.numbers.clear(), head.codes.clear();
      out.columns.push_back(std::move(head));
    }
  const auto place = place_in(file, conditions.dialect, conditions.rows);
  // checked here, while the places of cells in the file are known
  (void)KnownCells(model, ShownColumns(model), std::move(given), {false, place}, team);
  for (int64_t i = 0; i < conditions.rows; ++i) {
    double n = NAN;
    if (has_numbers(*counts)) n = counts->numbers[static_cast<size_t>(i)];
    else if (!counts->is_missing(i))
      n = std::strtod(counts->values[static_cast<size_t>(counts->codes[static_cast<size_t>(i)])].c_str(), nullptr);
    if (!(n >= 0 && n == std::floor(n) && static_cast<double>(out.rows) + n <= kMaxGivenRows))
      throw Error(ErrorCode::data, fmt::format("{}: column \"{}\" holds {}; it must be a number of rows.", place(i),
                                               counts->name, cell_text(*counts, i)));
    out.rows += static_cast<int64_t>(n);
    for (size_t k = 0, c = 0; c < conditions.columns.size(); ++c) {
      if (&conditions.columns[c] == counts) continue;
      for (double copy = 0; copy < n; ++copy) out.columns[k].push_from(conditions.columns[c], static_cast<size_t>(i));
      ++k;
    }
  }
  return out;
}

}  // namespace tessera
