#include "tables/rules/kinds/joint.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/text/json_fields.h"
#include "tables/expression/arithmetic.h"
#include "tables/expression/where_parser.h"
#include "tables/formats/values.h"
#include "tables/rules/rule/columns.h"
#include "tables/types/types_dictionary.h"

namespace tessera {
namespace {

[[noreturn]] void misfit(const std::string& name) {
  throw Error(ErrorCode::format, "The model file is damaged or foreign: the column \"" + name +
                                     "\" is not of the combinations that a rule makes of it. Fit the model again, or "
                                     "take an intact copy of the file.");
}

// The cell as a text that gives the same value again.
std::string spelled(const Column& c, size_t row) {
  return is_numeric(c.type) ? fmt::format("{}", c.numbers[row] + 0.0) : c.values[static_cast<size_t>(c.codes[row])];
}

// do_row(i, cells, missing) of the parts of each row.
template <class DoRow>
void for_each_row(const Table& table, const std::vector<Column>& heads, DoRow&& do_row) {
  std::vector<const Column*> parts;
  for (const Column& head : heads) parts.push_back(&column_of(table, head.name));
  std::vector<std::string> cells(parts.size());
  std::vector<char> missing(parts.size());
  for (int64_t i = 0; i < table.rows; ++i) {
    for (size_t p = 0; p < parts.size(); ++p) {
      missing[p] = parts[p]->is_missing(i) ? 1 : 0;
      cells[p] = missing[p] != 0 ? "" : spelled(*parts[p], static_cast<size_t>(i));
    }
    do_row(static_cast<size_t>(i), cells, missing);
  }
}

// One part of every combination: its number, or the code of its text.
struct Part {
  std::vector<double> numbers;
  std::vector<int32_t> codes;
  std::vector<std::string> texts;
  std::unordered_map<std::string, int32_t> known;

  void add(const Column& head, const std::string& text, bool missing, const std::string& name) {
    if (is_numeric(head.type)) {
      double x = kMissing;
      if (!missing && !read_finite(text, x)) misfit(name);
      numbers.push_back(x);
      return;
    }
    if (missing) {
      codes.push_back(-1);
      return;
    }
    const auto [entry, fresh] = known.try_emplace(text, static_cast<int32_t>(texts.size()));
    if (fresh) texts.push_back(text);
    codes.push_back(entry->second);
  }
};

}  // namespace

std::string join_cells(const std::vector<std::string>& cells, const std::vector<char>& missing) {
  std::string out;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += '|';
    if (missing[i] != 0) {
      out += "\\N";
      continue;
    }
    for (const char c : cells[i]) {
      if (c == '|' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out;
}

bool split_cells(const std::string& text, std::vector<std::string>& cells, std::vector<char>& missing) {
  cells.assign(1, "");
  missing.assign(1, 0);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '|') {
      cells.emplace_back();
      missing.push_back(0);
    } else if (text[i] != '\\') {
      cells.back() += text[i];
    } else if (++i == text.size()) {
      return false;
    } else if (text[i] == 'N') {
      missing.back() = 1;
    } else {
      cells.back() += text[i];
    }
  }
  return true;
}

std::vector<std::string> JointRule::columns_in(const std::string& text, std::string_view what) {
  std::string list = text.substr(0, text.find_last_not_of(" \t") + 1);
  if (!list.ends_with(what)) return {};
  list.resize(list.size() - what.size());
  std::vector<std::string> out;
  WhereScanner scan(list, "`rule`");
  for (bool more = true; more;) {
    const WhereToken name = scan.take();
    if (name.kind != WhereToken::Kind::word && name.kind != WhereToken::Kind::name)
      scan.fail("expected the name of a column", name.begin);
    if (std::find(out.begin(), out.end(), name.text) == out.end()) out.push_back(name.text);
    more = scan.peek().is_symbol(",") || scan.peek().is_keyword("and");
    if (more) scan.take();
  }
  if (scan.peek().kind != WhereToken::Kind::end) scan.fail("expected \",\" or \"and\"", scan.peek().begin);
  if (out.size() < 2) scan.fail("name two columns or more", 0);
  return out;
}

std::string JointRule::text() const {
  std::string out;
  for (size_t i = 0; i < parts_.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : i + 1 < parts_.size() ? ", " : " and ", quoted_name(parts_[i].name));
  return out.append(kFixed);
}

std::vector<std::string> JointRule::columns(const Table&) const {
  std::vector<std::string> out;
  for (const Column& head : parts_) out.push_back(head.name);
  return out;
}

std::vector<char> JointRule::broken(const Table& rows, const Table& learned) const {
  const Column& combinations = column_of(learned, name_);
  const std::unordered_set<std::string_view> known(combinations.values.begin(), combinations.values.end());
  std::vector<char> out(static_cast<size_t>(rows.rows));
  for_each_row(rows, parts_, [&](size_t i, const std::vector<std::string>& cells, const std::vector<char>& missing) {
    const bool whole = std::find(missing.begin(), missing.end(), 1) == missing.end();
    out[i] = whole && known.count(join_cells(cells, missing)) == 0 ? 1 : 0;
  });
  return out;
}

void JointRule::reduce(Table& table, Team& team) const {
  Column joint;
  joint.name = name_;
  joint.reason = text();
  joint.codes = Bulk<int32_t>(team.limit(), "the table");
  joint.codes.reserve(static_cast<size_t>(table.rows));
  Dictionary known;
  for_each_row(table, parts_, [&](size_t, const std::vector<std::string>& cells, const std::vector<char>& missing) {
    const bool any = std::find(missing.begin(), missing.end(), 0) != missing.end();
    joint.codes.push_back(any ? known.code(join_cells(cells, missing)) : -1);
  });
  joint.values = known.take_values();
  table.columns[static_cast<size_t>(place_of(table, parts_[0].name))] = std::move(joint);
  for (size_t p = 1; p < parts_.size(); ++p) remove_column(table, parts_[p].name);
}

void JointRule::restore(Table& rows) const {
  if (is_numeric(column_of(rows, name_).type)) misfit(name_);
  const auto place = rows.columns.begin() + place_of(rows, name_);
  const Column joint = std::move(*place);
  rows.columns.erase(place);
  std::vector<Part> parts(parts_.size());
  std::vector<std::string> cells;
  std::vector<char> missing;
  for (const std::string& value : joint.values) {
    if (!split_cells(value, cells, missing) || cells.size() != parts.size()) misfit(name_);
    for (size_t p = 0; p < parts.size(); ++p) parts[p].add(parts_[p], cells[p], missing[p] != 0, name_);
  }
  for (size_t p = 0; p < parts.size(); ++p) {
    Column out = parts_[p];
    for (const int32_t code : joint.codes) {
      if (is_numeric(out.type))
        out.numbers.push_back(code < 0 ? kMissing : parts[p].numbers[static_cast<size_t>(code)]);
      else out.codes.push_back(code < 0 ? -1 : parts[p].codes[static_cast<size_t>(code)]);
    }
    out.values = std::move(parts[p].texts);
    out.reason = text();
    rows.columns.push_back(std::move(out));
  }
}

nlohmann::json JointRule::to_json() const {
  nlohmann::json parts = nlohmann::json::array();
  for (const Column& head : parts_) parts.push_back(write_head(head));
  return {{"kind", kind()}, {"name", name_}, {"columns", std::move(parts)}};
}

std::unique_ptr<const TableRule> JointRule::read(const Fields& f) {
  std::vector<Column> parts;
  for (const auto& part : f.array("columns")) parts.push_back(read_head(Fields(part, f.place())));
  f.check(parts.size() >= 2, "combines fewer than two columns");
  return std::make_unique<JointRule>(f.text("name"), std::move(parts));
}

}  // namespace tessera
