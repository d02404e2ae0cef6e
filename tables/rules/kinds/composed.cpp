#include "tables/rules/kinds/composed.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text/ascii.h"
#include "tables/expression/arithmetic.h"
#include "tables/kinds/kind.h"

namespace tessera {
namespace {

class ComposedRule : public GivesColumn<ComposedData> {
 public:
  using GivesColumn::GivesColumn;

  std::string text() const override {
    std::string out = quoted_name(data_.target.name) + " = ";
    const auto join = [&](const std::string& piece) {
      if (!out.ends_with("= ")) out += " || ";
      out += piece;
    };
    for (size_t k = 0; k < data_.between.size(); ++k) {
      if (!data_.between[k].empty()) join(quoted_text(data_.between[k]));
      if (k < data_.parts.size()) join(data_.parts[k].text());
    }
    return out;
  }
  void solve(Table& given, const Table& known) const override {
    const Column& target = column_of(given, data_.target.name);
    std::vector<Column*> of;
    std::vector<const Column*> values;
    for (const TextPart& part : data_.parts)
      of.push_back(&column_of(given, part.column)), values.push_back(&column_of(known, part.column));
    for (size_t i = 0; i < static_cast<size_t>(given.rows); ++i) {
      if (target.is_missing(static_cast<int64_t>(i))) continue;
      const std::string text = part_cell(target, i);
      Reading r{text, values, {}};
      for (const Column* c : of) r.cells.push_back(part_cell(*c, i));
      if (!read(r, 0, 0)) continue;
      for (size_t k = 0; k < of.size(); ++k) {
        Column& c = *of[k];
        if (!c.is_missing(static_cast<int64_t>(i))) continue;
        if (is_whole(c)) {
          c.numbers[i] = number_in(r.cells[k], c.name);
          continue;
        }
        const auto at = std::find(c.values.begin(), c.values.end(), r.cells[k]);
        c.codes[i] = static_cast<int32_t>(at - c.values.begin());
        if (at == c.values.end()) c.values.push_back(r.cells[k]);
      }
    }
  }
  std::vector<std::string> columns(const Table&) const override {
    std::vector<std::string> out{data_.target.name};
    for (const TextPart& part : data_.parts) out.push_back(part.column);
    return out;
  }

 private:
  // Reads a text from its start, part by part.
  struct Reading {
    const std::string& text;
    const std::vector<const Column*>& known;
    std::vector<std::string> cells;  // of the parts; "": not given
  };
  bool read(Reading& r, size_t k, size_t at) const {
    const std::string& between = data_.between[k];
    if (r.text.compare(at, between.size(), between) != 0) return false;
    at += between.size();
    if (k == data_.parts.size()) return at == r.text.size();
    const TextPart& part = data_.parts[k];
    const auto goes_on = [&](const std::string& cell) {
      const std::string piece = part.of(cell);
      return !piece.empty() && r.text.compare(at, piece.size(), piece) == 0 && read(r, k + 1, at + piece.size());
    };
    if (!r.cells[k].empty()) return goes_on(r.cells[k]);
    const auto takes = [&](const std::string& cell) {
      if (!goes_on(cell)) return false;
      r.cells[k] = cell;
      return true;
    };
    if (const auto& values = r.known[k]->values; !values.empty())
      return std::any_of(values.begin(), values.end(), takes);
    const bool whole = part == TextPart{.column = part.column} || (is_whole(*r.known[k]) && part.width > 0);
    for (size_t end = r.text.size(); whole && end > at; --end) {
      std::string cell = r.text.substr(at, end - at);
      if (is_whole(*r.known[k])) {
        if (cell.size() > 15 || cell.find_first_not_of("0123456789") != std::string::npos) continue;
        cell.erase(0, std::min(cell.find_first_not_of('0'), cell.size() - 1));
      }
      if (takes(cell)) return true;
    }
    return false;
  }

  // Of the values of the parts; none if they are not listed, or too many.
  std::vector<std::string> all_texts(const std::vector<const Column*>& of) const {
    constexpr size_t kMaxTexts = 10'000;
    std::vector<std::string> out{data_.between[0]};
    for (size_t k = 0; k < of.size(); ++k) {
      if (of[k]->values.empty() || out.size() * of[k]->values.size() > kMaxTexts) return {};
      std::set<std::string> longer;
      for (const std::string& begin : out)
        for (const std::string& value : of[k]->values)
          longer.insert(begin + data_.parts[k].of(value) + data_.between[k + 1]);
      out.assign(longer.begin(), longer.end());
    }
    return out;
  }

  Column values(const Table& rows, bool) const override {
    Column out = data_.target;
    std::vector<const Column*> of;
    for (const TextPart& part : data_.parts) {
      of.push_back(&column_of(rows, part.column));
      if (!can_be_part(*of.back())) refuse_rule("a text is put together of the column \"" + part.column + "\"");
    }
    if (rows.rows == 0) {  // a schema
      out.values = all_texts(of);
      return out;
    }
    CellReader texts(out);
    for (size_t i = 0; i < static_cast<size_t>(rows.rows); ++i) {
      const std::string text = composed_text(data_, of, i);
      if (text.empty()) texts.add_missing();
      else texts.add(text);
    }
    return texts.take();
  }
};

}  // namespace

std::string composed_text(const ComposedData& data, const std::vector<const Column*>& of, size_t row) {
  std::string text = data.between[0];
  for (size_t k = 0; k < of.size(); ++k) {
    const std::string cell = part_cell(*of[k], row);
    if (cell.empty()) return "";
    text += data.parts[k].of(cell) + data.between[k + 1];
  }
  return text;
}

bool can_be_part(const Column& column) { return !is_ordered(column) || (is_whole(column) && column.format.empty()); }

std::string part_cell(const Column& column, size_t row) {
  return column.is_missing(static_cast<int64_t>(row)) ? std::string() : value_text(column, row);
}

std::string in_plain_letters(const std::string& text) {
  // U+00C0 to U+00FF, which UTF-8 writes as C3 and one byte more
  static constexpr const char* kPlain[] = {"A", "A", "A",  "A", "Ae", "A",  "Ae", "C", "E",  "E",  "E",  "E", "I",
                                           "I", "I", "I",  "D", "N",  "O",  "O",  "O", "O",  "Oe", "",   "O", "U",
                                           "U", "U", "Ue", "Y", "Th", "ss", "a",  "a", "a",  "a",  "ae", "a", "ae",
                                           "c", "e", "e",  "e", "e",  "i",  "i",  "i", "i",  "d",  "n",  "o", "o",
                                           "o", "o", "oe", "",  "o",  "u",  "u",  "u", "ue", "y",  "th", "y"};
  static_assert(std::size(kPlain) == 64);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i)
    if (const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0u;
        text[i] == '\xC3' && next >= 0x80 && next < 0xC0 && *kPlain[next - 0x80] != 0)
      out += kPlain[next - 0x80], ++i;
    else out += text[i];
  return out;
}

std::string TextPart::of(const std::string& cell) const {
  std::string out = plain ? in_plain_letters(cell) : cell;
  if (compact) std::erase(out, ' ');
  if (first > 0) {
    const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };  // a character of UTF-8
    size_t end = 0;
    for (int n = 0; end < out.size() && (n += begins(out[end]) ? 1 : 0) <= first;) ++end;
    out.resize(end);
  }
  for (char& c : out) c = letters == Case::lower ? lower(c) : letters == Case::upper ? upper(c) : c;
  if (width > 0 && out.size() < static_cast<size_t>(width)) out.insert(0, static_cast<size_t>(width) - out.size(), '0');
  return out;
}

std::string TextPart::text() const {
  std::string out = quoted_name(column);
  if (plain) out = fmt::format("unaccent({})", out);
  if (compact) out = fmt::format("replace({}, ' ', '')", out);
  if (first > 0) out = fmt::format("left({}, {})", out, first);
  if (letters != Case::as_is) out = fmt::format("{}({})", letters == Case::lower ? "lower" : "upper", out);
  if (width > 0) out = fmt::format("lpad({}, {}, '0')", out, width);
  return out;
}

void write_field(nlohmann::json& out, const char* name, const std::vector<TextPart>& parts) {
  out[name] = nlohmann::json::array();
  for (const TextPart& p : parts) {
    out[name].push_back({{"column", p.column},
                         {"letters", static_cast<int>(p.letters)},
                         {"first", p.first},
                         {"compact", p.compact},
                         {"width", p.width}});
    if (p.plain) out[name].back()["plain"] = true;
  }
}

void read_field(const Fields& f, const char* name, std::vector<TextPart>& parts) {
  for (const auto& one : f.array(name)) {
    const Fields p(one, "a part of a text");
    parts.push_back({p.text("column"), static_cast<TextPart::Case>(p.integer("letters", 0, 2)),
                     static_cast<int>(p.integer("first", 0, 64)), p.flag("compact"),
                     static_cast<int>(p.integer("width", 0, 64)), p.has("plain") && p.flag("plain")});
  }
}

void ComposedData::check(const Fields& f) const {
  f.check(!parts.empty() && between.size() == parts.size() + 1 && !is_ordered(target),
          "has a text that is not put together of parts and what is between them");
}

RulePtr make_rule(ComposedData data) { return std::make_shared<ComposedRule>(std::move(data)); }

}  // namespace tessera
