#include "tables/rules/kinds/joint.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "tables/expression/arithmetic.h"
#include "tables/expression/where_parser.h"

namespace tessera {
namespace {

[[noreturn]] void misfit(const std::string& name) {
  refuse_rule("the column \"" + name + "\" is not of the combinations that a rule makes of it");
}

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

std::vector<std::string> columns_in(const std::string& text, std::string_view what) {
  std::string list = text.substr(0, text.find_last_not_of(" \t") + 1);
  if (!list.ends_with(what)) return {};
  list.resize(list.size() - what.size());
  std::vector<std::string> out;
  WhereScanner scan(list, "Rule");
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

namespace {

class JointRule : public RuleOf<JointData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override { return names_in_words(columns({})).append(kInFixedCombinations); }
  std::vector<std::string> columns(const Table&) const override {
    std::vector<std::string> out;
    for (const Column& head : data_.parts) out.push_back(head.name);
    return out;
  }
  std::vector<char> broken(const Table& rows, const Table& learned) const override {
    const Column& combinations = column_of(learned, data_.column);
    const std::unordered_set<std::string_view> known(combinations.values.begin(), combinations.values.end());
    std::vector<char> out(static_cast<size_t>(rows.rows));
    for_each_combination(rows, columns({}),
                         [&](size_t i, const std::vector<std::string>& cells, const std::vector<char>& missing) {
                           const bool whole = std::find(missing.begin(), missing.end(), 1) == missing.end();
                           out[i] = whole && known.count(join_cells(cells, missing)) == 0 ? 1 : 0;
                         });
    return out;
  }
  void reduce(Table& table, Team& team) const override {
    Column joint;
    joint.name = data_.column;
    joint.reason = text();
    joint.codes = Bulk<int32_t>(team.limit(), "the table");
    joint.codes.reserve(static_cast<size_t>(table.rows));
    Dictionary known;
    for_each_combination(table, columns({}),
                         [&](size_t, const std::vector<std::string>& cells, const std::vector<char>& missing) {
                           const bool any = std::find(missing.begin(), missing.end(), 0) != missing.end();
                           joint.codes.push_back(any ? known.code(join_cells(cells, missing)) : -1);
                         });
    joint.values = known.take_values();
    table.columns[static_cast<size_t>(place_of(table, data_.parts[0].name))] = std::move(joint);
    for (size_t p = 1; p < data_.parts.size(); ++p) remove_column(table, data_.parts[p].name);
  }
  void restore(Table& rows) const override {
    const Column joint = texts_of(rows, data_.column);
    remove_column(rows, data_.column);
    std::vector<CellReader> parts(data_.parts.begin(), data_.parts.end());  // a row of each combination
    std::vector<std::string> cells;
    std::vector<char> missing;
    for (const std::string& value : joint.values) {
      if (!split_cells(value, cells, missing) || cells.size() != parts.size()) misfit(data_.column);
      for (size_t p = 0; p < parts.size(); ++p)
        if (missing[p] != 0) parts[p].add_missing();
        else parts[p].add(cells[p]);
    }
    for (size_t p = 0; p < parts.size(); ++p) {
      const Column part = parts[p].take();
      Column out = data_.parts[p];
      for (const int32_t code : joint.codes)
        if (code < 0) out.push_missing();
        else out.push_from(part, static_cast<size_t>(code));
      out.values = part.values;
      out.reason = text();
      rows.columns.push_back(std::move(out));
    }
  }
  void fill(Table& table, uint64_t seed) const override {
    if (data_.missing.are) fill_missing(column_of(table, data_.column), seed);
  }
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == data_.column) columns = data_.missing.are ? std::vector<std::string>{} : this->columns({});
  }
};

}  // namespace

RulePtr make_rule(JointData data) { return std::make_shared<JointRule>(std::move(data)); }

void JointData::check(const Fields& f) const { f.check(parts.size() >= 2, "combines fewer than two columns"); }

void write_field(nlohmann::json& out, const char* name, const std::vector<Column>& heads) {
  nlohmann::json& all = out[name] = nlohmann::json::array();
  for (const Column& head : heads) all.push_back(write_head(head));
}

void read_field(const Fields& f, const char* name, std::vector<Column>& heads) {
  for (const auto& head : f.array(name)) heads.push_back(read_head(Fields(head, f.place())));
}

}  // namespace tessera
