#include "models/sampling/given/known_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/error.h"
#include "models/sampling/given/solved_cells.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/number_writer.h"
#include "tables/rules/rule/columns.h"
#include "tables/table/suggestions.h"

namespace tessera {
namespace {

// A cell that is there, whatever it is.
void set_any(Column& c, size_t row) {
  if (has_texts(c) && c.values.empty()) c.values.emplace_back();
  if (has_texts(c)) c.codes[row] = 0;
  else c.numbers[row] = 1;
}

Column empty_like(const Column& head, int64_t rows) {
  Column c = head;
  c.assign_missing(static_cast<size_t>(rows));
  return c;
}

}  // namespace

bool same_cell(const Column& a, int64_t i, const Column& b, int64_t k, double tolerance) {
  if (a.is_missing(i) || b.is_missing(k)) return a.is_missing(i) == b.is_missing(k);
  const auto at = static_cast<size_t>(i), to = static_cast<size_t>(k);
  if (has_texts(a)) return a.values[static_cast<size_t>(a.codes[at])] == b.values[static_cast<size_t>(b.codes[to])];
  const double x = a.numbers[at], y = b.numbers[to];
  return x == y || std::abs(x - y) <= tolerance * std::max(1.0, std::abs(x));
}

void put_cells(const Table& given, Table& rows, const std::vector<int64_t>& of) {
  for (size_t c = 0; c < rows.columns.size(); ++c) {
    CellCopy cells(given.columns[c], rows.columns[c]);
    for (size_t i = 0; i < of.size(); ++i)
      if (of[i] >= 0 && !given.columns[c].is_missing(of[i])) cells.copy(static_cast<size_t>(of[i]), i);
  }
}

void unknown_column(const std::string& column, const Table& schema, const std::string& file) {
  std::vector<std::string> names;
  for (const Column& c : schema.columns) names.push_back(c.name);
  throw Error(ErrorCode::usage, fmt::format("{}: column \"{}\" is not one of the model's {}.{}", file, column,
                                            names.size(), nearest_names(column, names)));
}

KnownCells::KnownCells(const RowModel& model, const ShownColumns& columns, Table given, KnownCellsOptions options,
                       Team& team)
    : model_(model), columns_(columns), options_(std::move(options)) {
  table_ = arranged(std::move(given), columns.table(), options_.place(-1));
  ignored_.resize(columns.table().columns.size());
  solved_ = solve_cells(model_, columns_, table_);
  for (size_t c = 0; c < table_.columns.size(); ++c) check_cells(static_cast<int>(c));
  encode(team);
  for (const FoundRule& f : model_.rules.found()) {
    if (f.rule->seen().empty() || f.rule->leaves_gaps()) continue;  // these say by it which cells are missing
    const std::vector<std::string> columns = f.rule->columns(columns_.table());
    std::vector<size_t> parts;
    for (size_t k = 1; k < columns.size(); ++k)
      if (const int part = place_of(learned_, columns[k]); part >= 0) parts.push_back(static_cast<size_t>(part));
    seen_.emplace_back(f.rule->seen(), std::move(parts));
  }
}

void KnownCells::refuse(int64_t row, const std::string& why) const {
  throw Error(ErrorCode::data, fmt::format("{}: {}", options_.place(row), why));
}

Table arranged(Table given, const Table& schema, const std::string& file) {
  Table out;
  out.rows = given.rows;
  for (const Column& c : given.columns)
    if (schema.find(c.name) == nullptr) unknown_column(c.name, schema, file);
  for (const Column& head : schema.columns) {
    const auto found =
        std::find_if(given.columns.begin(), given.columns.end(), [&](const Column& c) { return c.name == head.name; });
    if (found == given.columns.end()) {
      out.columns.push_back(empty_like(head, given.rows));
      continue;
    }
    if (has_numbers(*found) != has_numbers(head)) {
      const bool empty = std::all_of(found->codes.begin(), found->codes.end(), [](int32_t c) { return c < 0; });
      if (has_numbers(*found) || !empty)
        throw Error(ErrorCode::data, fmt::format("{}: column \"{}\" has the type {}, but {} in the model.", file,
                                                 head.name, name(found->type), name(head.type)));
      out.columns.push_back(empty_like(head, given.rows));
      continue;
    }
    if (found->type != head.type && (is_instant(*found) || is_instant(head)))
      throw Error(ErrorCode::data, fmt::format("{}: column \"{}\" has the type {}, but {} in the model.", file,
                                               head.name, name(found->type), name(head.type)));
    Column c = head;
    c.numbers = std::move(found->numbers), c.codes = std::move(found->codes), c.values = std::move(found->values);
    out.columns.push_back(std::move(c));
  }
  return out;
}

// Checks that the model can generate every given cell.
void KnownCells::check_cells(int column) {
  const Column& c = table_.columns[static_cast<size_t>(column)];
  const int source = columns_.source(column);
  std::vector<char>& ignored = ignored_[static_cast<size_t>(column)];
  ignored.assign(static_cast<size_t>(c.size()), 0);
  if (kind_of(c).regenerated) return;
  if (has_texts(c)) {
    const Column& schema = columns_.table().columns[static_cast<size_t>(column)];
    if (!lists_values(schema)) return;
    const std::vector<std::string>& known = schema.values;
    const std::unordered_set<std::string> texts(known.begin(), known.end());
    std::vector<char> strange;
    for (const std::string& v : c.values) strange.push_back(texts.contains(v) ? 0 : 1);
    for (int64_t i = 0; i < c.size(); ++i) {
      const int32_t code = c.codes[static_cast<size_t>(i)];
      if (code < 0 || strange[static_cast<size_t>(code)] == 0) continue;
      if (!options_.completes)
        refuse(i, fmt::format("column \"{}\" holds {}, which is not one of the {} value{} known to the model.{}",
                              c.name, cell_text(c, i), known.size(), known.size() == 1 ? "" : "s",
                              nearest_names(c.values[static_cast<size_t>(code)], known)));
      ignored[static_cast<size_t>(i)] = 1;
    }
    return;
  }
  const bool direct = columns_.learns_numbers(source);
  if (!direct || options_.completes) return;
  const Column ends = columns_.ends(column, source);
  for (int64_t i = 0; i < c.size(); ++i) {
    const double x = c.numbers[static_cast<size_t>(i)];
    if (x != x) continue;
    if (x >= ends.numbers[0] && x <= ends.numbers[1]) continue;
    const std::vector<SolvedCell>& solved = solved_[static_cast<size_t>(column)];
    const bool follows = !solved.empty() && solved[static_cast<size_t>(i)] == kSolved;
    refuse(i,
           fmt::format("column \"{}\" {} {}, but in the model its range is {} to {}.\n  Give a number in the range, or "
                       "leave the cell empty.",
                       c.name, follows ? "follows from the given cells, as" : "holds", cell_text(c, i),
                       cell_text(ends, 0), cell_text(ends, 1)));
  }
}

void KnownCells::take_combinations(int column, const std::vector<int>& parts) {
  Combinations c;
  c.column = column, c.parts = parts;
  const Column& learned = columns_.learned().columns[static_cast<size_t>(column)];
  c.levels = columns_.first_levels(static_cast<int64_t>(learned.values.size()));
  Column& shown = c.levels.columns[static_cast<size_t>(column)];
  shown.values = learned.values;
  for (size_t v = 0; v < learned.values.size(); ++v) shown.codes[v] = static_cast<int32_t>(v);
  columns_.restore(c.levels);
  combinations_.push_back(std::move(c));
  Combinations& kept = combinations_.back();
  for (int64_t i = 0; i < rows(); ++i) kept.of_row.push_back(levels_with(kept, i));
}

// Null: the row contains none of the parts.
const std::vector<char>* KnownCells::levels_with(Combinations& c, int64_t row) const {
  std::string key;
  for (const int part : c.parts) {
    const Column& given = table_.columns[static_cast<size_t>(part)];
    const bool given_here =
        !given.is_missing(row) && ignored_[static_cast<size_t>(part)][static_cast<size_t>(row)] == 0;
    key += given_here ? cell_text(given, row) : "";
    key += '\x1f';
  }
  if (key.find_first_not_of('\x1f') == std::string::npos) return nullptr;
  const auto found = c.known.find(key);
  if (found != c.known.end()) return &found->second;
  std::vector<char> left(static_cast<size_t>(c.levels.rows), 1);
  for (const int part : c.parts) {
    const Column& given = table_.columns[static_cast<size_t>(part)];
    if (given.is_missing(row) || ignored_[static_cast<size_t>(part)][static_cast<size_t>(row)] != 0) continue;
    for (int64_t k = 0; k < c.levels.rows; ++k)
      if (!same_cell(given, row, c.levels.columns[static_cast<size_t>(part)], k)) left[static_cast<size_t>(k)] = 0;
  }
  if (std::find(left.begin(), left.end(), 1) == left.end()) {
    if (options_.completes) return nullptr;
    std::string together;
    for (const int part : c.parts) {
      const Column& given = table_.columns[static_cast<size_t>(part)];
      if (!given.is_missing(row))
        together += fmt::format("{}\"{}\" {}", together.empty() ? "" : ", ", given.name, cell_text(given, row));
    }
    refuse(row, fmt::format("{} do not occur together, and the columns have fixed combinations.", together));
  }
  return &c.known.emplace(std::move(key), std::move(left)).first->second;
}

// Lays out the choices, and the columns that are given by a mask or not at all.
void KnownCells::lay_out() {
  int alpha = 0;
  for (const Span& span : model_.encoder.layout().spans) {
    if (span.part == Span::Part::alpha) {
      ++alpha;
      continue;
    }
    const Encoder::Codes codes = model_.encoder.codes(span.column);
    const Encoder::Reach reach = model_.encoder.reach(span.column);
    const std::string& name = columns_.learned().columns[static_cast<size_t>(span.column)].name;
    Choice choice{span.start, span.width, span.column, reach.missing && reach.present && !model_.rules.repeats(name)};
    choice.alpha = codes.alpha, choice.modes = static_cast<int32_t>(codes.mean.size());
    choices_.push_back(choice);
  }
  alphas_ = alpha;
  for (size_t j = 0; j < columns_.learned().columns.size(); ++j) {
    std::vector<int> parts;
    for (size_t c = 0; c < table_.columns.size(); ++c)
      if (columns_.decides(static_cast<int>(j), static_cast<int>(c))) parts.push_back(static_cast<int>(c));
    if (parts.empty() || columns_.shows_itself(static_cast<int>(j)) || columns_.learns_numbers(static_cast<int>(j)))
      continue;
    for (Choice& choice : choices_)
      if (choice.column == static_cast<int>(j)) choice.combinations = static_cast<int>(combinations_.size());
    take_combinations(static_cast<int>(j), parts);
    undecided_.insert(undecided_.end(), parts.begin(), parts.end());
  }
  for (size_t c = 0; c < table_.columns.size(); ++c)
    if (columns_.source(static_cast<int>(c)) < 0) undecided_.push_back(static_cast<int>(c));
}

// Encodes the given cells. Cells that are not given hold a value that is never read.
void KnownCells::encode(Team& team) {
  lay_out();
  exclude_missing();
  Table reduced = table_;
  for (size_t c = 0; c < reduced.columns.size(); ++c)
    for (size_t i = 0; i < ignored_[c].size(); ++i)
      if (ignored_[c][i] != 0) reduced.columns[c].set_missing(i);
  model_.rules.reduce_given(reduced, team, options_.completes);
  learned_ = reduced;
  std::vector<std::vector<char>> given_here(reduced.columns.size());
  for (size_t j = 0; j < reduced.columns.size(); ++j) {
    Column& c = reduced.columns[j];
    const Column& head = columns_.learned().columns[j];
    const Encoder::Reach reach = model_.encoder.reach(static_cast<int>(j));
    const double any = reach.only.empty() ? reach.low : reach.only.front();
    c.type = head.type, c.name = head.name;
    const bool itself = columns_.shows_itself(static_cast<int>(j));
    const bool combined = std::any_of(combinations_.begin(), combinations_.end(),
                                      [&](const Combinations& k) { return k.column == static_cast<int>(j); });
    const std::vector<int32_t> known_text = codes_in(head, c);  // of a column of the table, all texts are by now
    const bool listed = has_texts(c) && lists_values(head) && !kind_of(head).regenerated;
    if (has_texts(c)) c.values.push_back(head.values.empty() ? "" : head.values.front());
    for (int64_t i = 0; i < c.size(); ++i) {
      const auto at = static_cast<size_t>(i);
      given_here[j].push_back(!c.is_missing(i) && !combined && reach.present ? 1 : 0);
      if (given_here[j].back() != 0 && listed && known_text[static_cast<size_t>(c.codes[at])] < 0) {
        if (!options_.completes)
          refuse(i, fmt::format("{}: {} is not known to the model.", head.name, cell_text(c, i)));
        given_here[j].back() = 0;
      }
      if (has_numbers(c)) {
        double& x = c.numbers[at];
        const bool known = reach.only.empty() ? x >= reach.low && x <= reach.high
                                              : std::binary_search(reach.only.begin(), reach.only.end(), x);
        if (given_here[j].back() != 0 && !known && !itself) given_here[j].back() = 0;  // rules compute it
        x = given_here[j].back() == 0 ? any : reach.nearest(x);
      } else if (given_here[j].back() == 0) {
        c.codes[at] = head.values.empty() ? -1 : static_cast<int32_t>(c.values.size()) - 1;
      }
      if (given_here[j].back() == 0) learned_.columns[j].set_missing(at);
    }
  }
  const EncodedTable codes = model_.encoder.encode(std::move(reduced), team, Monitor{});
  code_.assign(codes.codes.begin(), codes.codes.end());
  position_.assign(codes.alphas.begin(), codes.alphas.end());
  for (size_t k = 0; k < choices_.size(); ++k) {
    const auto j = static_cast<size_t>(choices_[k].column);
    const int column = columns_.shows_itself(choices_[k].column) ? place_of(table_, learned_.columns[j].name) : -1;
    const std::vector<SolvedCell> solved =
        column < 0 ? std::vector<SolvedCell>{} : solved_[static_cast<size_t>(column)];
    for (int64_t i = 0; i < rows(); ++i) {
      const auto row = static_cast<size_t>(i);
      if (given_here[j][row] != 0) continue;
      const bool blank = choices_[k].may_miss && !solved.empty() && solved[row] == kBlank;
      code_[row * choices_.size() + k] = blank ? choices_[k].width - 1 : -1;
    }
  }
}

// The columns of the table that are missing wherever this one is: it, and what is computed from it.
std::vector<int> KnownCells::missing_with(const std::string& name) const {
  std::vector<int> out{place_of(table_, name)};
  Table rows = columns_.first_levels(2);  // in the second one it is missing
  columns_.restore(rows);
  for (Column& c : rows.columns)
    for (int64_t i = 0; i < 2; ++i)
      if (c.is_missing(i)) set_any(c, static_cast<size_t>(i));
  column_of(rows, name).set_missing(1);
  const std::vector<FoundRule>& rules = model_.rules.found();
  for (auto f = rules.rbegin(); f != rules.rend(); ++f) {
    const TableRule& rule = *f->rule;
    const auto absent = [&](const std::string& column) { return place_of(rows, column) < 0; };
    if (rule.makes() != TableRule::Makes::values || rule.leaves_gaps() ||
        std::ranges::any_of(rule.columns(rows), absent))
      continue;
    remove_column(rows, rule.column());
    rule.restore(rows);
    Column& c = column_of(rows, rule.column());
    if (!c.is_missing(0) && c.is_missing(1)) out.push_back(place_of(table_, rule.column()));
    else if (c.is_missing(0)) set_any(c, 0), set_any(c, 1);
  }
  return out;
}

// A given cell is not missing: levels that would make it so, or a cell that it is computed from, are excluded.
void KnownCells::exclude_missing() {
  for (const FoundRule& f : model_.rules.found()) {
    if (f.rule->makes() != TableRule::Makes::missing) continue;
    const std::vector<std::string> columns = f.rule->columns(columns_.table());  // the other one says where
    const int column = place_of(table_, columns[0]), other = place_of(table_, columns[1]);
    const int source = column < 0 || other < 0 ? -1 : columns_.source(other);
    for (Choice& choice : choices_) {
      if (choice.column != source || source < 0 || choice.combinations >= 0 || choice.modes > 0) continue;
      const Column& learned = columns_.learned().columns[static_cast<size_t>(source)];
      const int rare = has_texts(learned) ? static_cast<int>(model_.encoder.levels(source)) : choice.width;
      Table ends = columns_.first_levels(2 * choice.width);  // of bins
      Column& c = ends.columns[static_cast<size_t>(source)];
      c.values = learned.values;
      for (int k = 0; k < choice.width; ++k)
        for (const int end : {0, 1}) {
          const auto at = static_cast<size_t>(2 * k + end);
          if (choice.may_miss && k + 1 == choice.width) c.set_missing(at);
          else if (has_numbers(c)) c.numbers[at] = model_.encoder.number_of_level(source, k, end);
          else c.codes[at] = std::min(k, rare);
        }
      columns_.restore(ends);
      Table both;  // one column says where the other one is missing, which is there: where the rule is broken
      both.rows = ends.rows;
      both.columns = {columns_.table().columns[static_cast<size_t>(column)], ends.columns[static_cast<size_t>(other)]};
      both.columns[0].assign_missing(static_cast<size_t>(ends.rows));
      for (size_t i = 0; i < static_cast<size_t>(ends.rows); ++i) set_any(both.columns[0], i);
      const std::vector<char> broken = f.rule->broken(both, both);
      Choice::Excluded levels{missing_with(columns[0]), {}};
      for (int k = 0; k < choice.width; ++k) {
        const auto at = static_cast<size_t>(2 * k);
        const bool mixed = k == rare && !(choice.may_miss && k + 1 == choice.width);
        levels.levels.push_back(!mixed && broken[at] != 0 && broken[at + 1] != 0 ? 1 : 0);
      }
      choice.excluded.push_back(std::move(levels));
    }
  }
}

bool KnownCells::is_excluded(const Choice::Excluded& levels, int64_t row) const {
  return std::ranges::any_of(levels.where, [&](int c) {
    const auto column = static_cast<size_t>(c);
    return !table_.columns[column].is_missing(row) && ignored_[column][static_cast<size_t>(row)] == 0;
  });
}

bool KnownCells::lacks(int64_t row, size_t choice, int32_t code) const {
  const Choice& c = choices_[choice];
  return c.may_miss && code == c.width - 1 && code_[static_cast<size_t>(row) * choices_.size() + choice] < 0;
}

bool KnownCells::fills(int64_t row, size_t choice, int32_t code) const {
  const Choice& c = choices_[choice];
  if (!c.may_miss || code == c.width - 1) return false;
  if (c.combinations < 0) return true;
  const std::vector<char>* left = combinations_[static_cast<size_t>(c.combinations)].of_row[static_cast<size_t>(row)];
  const auto level = static_cast<size_t>(code);
  return left == nullptr || (code < model_.encoder.levels(c.column) && (*left)[level] != 0);
}

void KnownCells::write(int64_t row, float* levels, float* alphas, float* known) const {
  std::fill_n(levels, model_.encoder.layout().data_width, 0.0f);
  std::fill_n(known, alphas_, 0.0f);
  std::copy_n(position_.begin() + row * alphas_, alphas_, alphas);
  for (size_t k = 0; k < choices_.size(); ++k) {
    const Choice& c = choices_[k];
    float* own = levels + c.start;
    const int32_t code = code_[static_cast<size_t>(row) * choices_.size() + k];
    const std::vector<char>* left =
        c.combinations < 0 ? nullptr
                           : combinations_[static_cast<size_t>(c.combinations)].of_row[static_cast<size_t>(row)];
    if (code >= 0) {
      std::fill_n(own, c.width, kImpossible);
      own[code] = 0;
      if (c.alpha >= 0 && code < c.modes) known[c.alpha] = 1;
    } else if (left != nullptr) {
      // values without their own level share the level after the last
      const int rare = static_cast<int>(model_.encoder.levels(c.column));
      std::fill_n(own, c.width, kImpossible);
      for (size_t v = 0; v < left->size(); ++v)
        if ((*left)[v] != 0) own[std::min(static_cast<int>(v), rare)] = 0;
    } else if (options_.completes && c.may_miss) {
      own[c.width - 1] = kImpossible;
    }
    for (const Choice::Excluded& levels : c.excluded)
      if (code < 0 && is_excluded(levels, row))
        for (size_t v = 0; v < levels.levels.size(); ++v)
          if (levels.levels[v] != 0) own[v] = kImpossible;
  }
}

void KnownCells::put(Table& learned, const std::vector<int64_t>& of) const {
  put_cells(learned_, learned, of);
  // If a computed column is given, the drawn values of its inputs are ignored.
  for (const auto& [name, parts] : seen_) {
    Column& seen = column_of(learned, name);
    for (const size_t part : parts)
      for (size_t i = 0; i < of.size(); ++i)
        if (!learned_.columns[part].is_missing(of[i])) seen.set_missing(i);
  }
}

bool KnownCells::leads(int64_t row) const {
  bool drawn = false;
  for (size_t k = 0; k < choices_.size(); ++k) {
    const Choice& c = choices_[k];
    const bool masked =
        (c.combinations >= 0 &&
         combinations_[static_cast<size_t>(c.combinations)].of_row[static_cast<size_t>(row)] != nullptr) ||
        std::ranges::any_of(c.excluded, [&](const auto& levels) { return is_excluded(levels, row); });
    const bool given = code_[static_cast<size_t>(row) * choices_.size() + k] >= 0;
    if (drawn && (given || masked || (options_.completes && c.may_miss))) return false;
    drawn = drawn || !given;
  }
  return true;
}

}  // namespace tessera
