#include "models/likelihood/learned_rows.h"

#include <algorithm>
#include <unordered_set>

#include "models/fitted/known_values.h"
#include "models/quality/aligned.h"
#include "models/sampling/given/known_cells.h"

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

}  // namespace

LearnedRows learned_rows(const RowModel& model, const Table& rows, Team& team) {
  std::vector<std::string> ignored;
  const Table given = quality::aligned(model.schema(), rows, ignored);
  LearnedRows out{given, {}, {}};
  model.rules.reduce(out.table, team);
  const Table schema = model.encoder.schema();
  for (size_t j = 0; j < out.table.columns.size(); ++j) {
    Column& c = out.table.columns[j];
    const Column& head = schema.columns[j];
    const Encoder::Reach reach = model.encoder.reach(static_cast<int>(j));
    std::vector<char>& unknown = out.unknown.emplace_back(static_cast<size_t>(rows.rows));
    take_known(c, head, reach, unknown);
  }
  compare_computed(model, given, out);
  return out;
}

}  // namespace tessera
