#include "models/likelihood/learned_rows.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "models/fitted/known_values.h"
#include "models/quality/aligned.h"
#include "models/sampling/given/known_cells.h"
#include "models/sampling/shown.h"
#include "tables/kinds/cells.h"
#include "tables/rules/rule/columns.h"

namespace tessera {
namespace {

void compare_computed(const RowModel& model, const Table& given, LearnedRows& out) {
  constexpr double kRounding = 1e-9;
  std::unordered_set<std::string> drawn;
  for (const Column& c : out.table.columns)
    for (const std::string& name : model.rules.shown(c.name)) drawn.insert(name);
  if (std::all_of(given.columns.begin(), given.columns.end(), [&](const Column& c) { return drawn.contains(c.name); }))
    return;
  Table again = out.table;
  model.rules.restore(again);
  for (const Column& c : given.columns) {
    const Column* made = drawn.contains(c.name) ? nullptr : again.find(c.name);
    if (made == nullptr) continue;
    out.computed.push_back({c.name, std::vector<char>(static_cast<size_t>(given.rows))});
    std::vector<char>& differs = out.computed.back().differs;
    for (int64_t i = 0; i < given.rows; ++i)
      differs[static_cast<size_t>(i)] = same_cell(c, i, *made, i, kRounding) ? 0 : 1;
  }
}

// Cells that were filled before the model was trained: restore() overwrites them. They get a usual value of the model,
// whatever the other rows hold.
void fill_overwritten(const RowModel& model, const ShownColumns& columns, LearnedRows& out) {
  Table filled = columns.first_levels(1);  // its first row has what is filled in
  filled.rows += out.table.rows;
  for (size_t j = 0; j < filled.columns.size(); ++j) {
    Column& c = filled.columns[j];
    std::vector<double> values = model.encoder.codes(static_cast<int>(j)).values;
    std::erase_if(values, [](double x) { return x != x; });
    if (has_numbers(c) && !values.empty()) c.numbers[0] = values[values.size() / 2];
    const Column first = c;
    for (int64_t i = 0; i < out.table.rows; ++i)
      if (out.table.columns[j].is_missing(i)) c.push_missing();
      else c.push_from(first, 0);
  }
  model.rules.fill(filled, 0);
  for (size_t j = 0; j < filled.columns.size(); ++j) {
    Column& c = out.table.columns[j];
    std::vector<char>& overwritten = out.overwritten.emplace_back(static_cast<size_t>(out.table.rows));
    CellCopy cells(filled.columns[j], c);
    for (size_t i = 0; i < overwritten.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      if (!c.is_missing(row) || filled.columns[j].is_missing(row + 1)) continue;
      overwritten[i] = 1;
      cells.copy(i + 1, i);
    }
  }
}

}  // namespace

LearnedRows learned_rows(const RowModel& model, const Table& rows, Team& team) {
  std::vector<std::string> ignored;
  const Table given = quality::aligned(model.schema(), rows, ignored);
  LearnedRows out{given, {}, {}, {}};
  model.rules.reduce_whole(out.table, team);
  const ShownColumns columns(model);
  fill_overwritten(model, columns, out);
  for (size_t j = 0; j < out.table.columns.size(); ++j) {
    const auto learned = static_cast<int>(j);
    const Column& head = columns.learned().columns[j];
    std::vector<char>& unknown = out.unknown.emplace_back(static_cast<size_t>(rows.rows));
    const Encoder::Reach reach = model.encoder.reach(learned);
    KnownNumbers known{reach.low, reach.high};
    if (kind_of(head).regenerated) {  // identifiers are not learned, and none is unknown; few rows may look like texts
      std::vector<char> regenerated(unknown.size());
      if (out.table.columns[j].type != head.type) take_known(out.table.columns[j], head, reach, known, regenerated);
      continue;
    }
    if (const int c = place_of(columns.table(), head.name);
        c >= 0 && columns.learns_numbers(learned) && reach.present && columns.decides(learned, c)) {
      const Column ends = columns.ends(c, learned);
      known = {std::fmin(known.low, ends.numbers[0]), std::fmax(known.high, ends.numbers[1])};
    }
    take_known(out.table.columns[j], head, reach, known, unknown);
  }
  compare_computed(model, given, out);
  return out;
}

}  // namespace tessera
