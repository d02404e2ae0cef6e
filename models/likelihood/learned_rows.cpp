#include "models/likelihood/learned_rows.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "models/quality/broken_rules.h"
#include "models/sampling/given/known_cells.h"

namespace tessera {
namespace {

void take_known_numbers(Column& c, const Encoder::Reach& reach, std::vector<char>& unknown) {
  for (size_t i = 0; i < c.numbers.size(); ++i) {
    double& x = c.numbers[i];
    if (x != x && reach.missing) continue;
    unknown[i] = reach.present && x >= reach.low && x <= reach.high ? 0 : 1;  // between two levels: as the nearer one
    x = !reach.present ? kMissing : reach.nearest(x != x ? reach.low : x);
  }
}

void take_known_texts(Column& c, const std::vector<std::string>& known, bool missing, std::vector<char>& unknown) {
  const std::unordered_set<std::string> texts(known.begin(), known.end());
  const std::string first = known.empty() ? std::string() : known.front();
  std::vector<char> is_known;
  for (std::string& text : c.values) {
    is_known.push_back(texts.contains(text) ? 1 : 0);
    if (is_known.back() == 0) text = first;
  }
  const auto instead = static_cast<int32_t>(c.values.size());
  if (!missing) c.values.push_back(first);
  for (size_t i = 0; i < c.codes.size(); ++i) {
    int32_t& code = c.codes[i];
    unknown[i] = (code < 0 ? missing : is_known[static_cast<size_t>(code)] != 0) ? 0 : 1;
    if (known.empty()) code = -1;
    else if (code < 0 && !missing) code = instead;
  }
}

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
    c.type = head.type, c.name = head.name;
    std::vector<char>& unknown = out.unknown.emplace_back(static_cast<size_t>(rows.rows));
    if (c.codes.empty()) take_known_numbers(c, reach, unknown);
    else take_known_texts(c, head.values, reach.missing, unknown);
  }
  compare_computed(model, given, out);
  return out;
}

}  // namespace tessera
