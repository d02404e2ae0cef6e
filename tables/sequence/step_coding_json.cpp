#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text/json_fields.h"
#include "tables/kinds/kind.h"
#include "tables/sequence/step_coding.h"

namespace tessera {
namespace {

using Code = StepCoding::Code;
using Form = Code::Form;
using Term = StepCoding::Term;

constexpr const char* kTermsOf[] = {"before", "here", "statics"};
constexpr const char* kForms[] = {"level", "difference", "ratio", "between"};

std::string spoken(const Table& names, const Column& x, const Code& c) {
  if (!c.terms.empty()) {
    Code plain = c;
    plain.terms.clear();
    return spoken(names, x, plain) + " less its linear prediction";
  }
  if (c.form == Form::level) return x.name;
  const auto of = [&](int k) { return names.columns[static_cast<size_t>(k)].name; };
  const std::string before = c.before ? " of the step before" : "";
  if (c.form == Form::between) return fmt::format("{} between {} and {}", x.name, of(c.base), of(c.upper));
  return fmt::format("{} {} {}{}", x.name, c.form == Form::ratio ? "/" : "-", of(c.base), before);
}

nlohmann::json write_code(const Code& c) {
  nlohmann::json out{{"form", kForms[static_cast<int>(c.form)]}};
  if (c.form != Form::level) out["base"] = c.base;
  if (c.form == Form::between) out["upper"] = c.upper;
  if (c.before) out["before"] = true;
  if (c.terms.empty()) return out;
  out["shift"] = c.shift;
  for (const Term& t : c.terms) {
    out["terms"].push_back({{"of", kTermsOf[static_cast<int>(t.of)]}, {"column", t.column}, {"factor", t.factor}});
    nlohmann::json& one = out["terms"].back();
    if (t.text.empty()) one["center"] = t.center, one["scale"] = t.scale;
    else one["text"] = t.text;
  }
  return out;
}

Term read_term(const nlohmann::json& json, int column, int columns, const Table& statics) {
  const Fields f(json, "the coding of a step");
  Term out;
  const std::string of = f.text("of");
  const auto known = std::find(std::begin(kTermsOf), std::end(kTermsOf), of);
  f.check(known != std::end(kTermsOf), "has a term of something unknown");
  out.of = static_cast<Term::Of>(known - std::begin(kTermsOf));
  const bool is_static = out.of == Term::Of::statics;
  out.column = static_cast<int>(f.integer("column", 0, (is_static ? std::ssize(statics.columns) : columns) - 1));
  out.factor = f.number("factor");
  if (f.has("text")) out.text = f.text("text");
  else out.center = f.number("center"), out.scale = f.number("scale");
  const bool numbers = !is_static || is_ordered(statics.columns[static_cast<size_t>(out.column)]);
  f.check(out.scale > 0 && numbers == out.text.empty() && (out.of != Term::Of::here || out.column < column),
          "has a term that is not known yet");
  return out;
}

Code read_code(const nlohmann::json& json, int column, int columns, const Table& statics) {
  const Fields f(json, "the coding of a step");
  Code out;
  const std::string form = f.text("form");
  const auto known = std::find(std::begin(kForms), std::end(kForms), form);
  f.check(known != std::end(kForms), "has an unknown form");
  out.form = static_cast<Form>(known - std::begin(kForms));
  if (f.has("before")) out.before = f.flag("before");
  if (out.form != Form::level) out.base = static_cast<int>(f.integer("base", 0, columns - 1));
  if (out.form == Form::between) out.upper = static_cast<int>(f.integer("upper", 0, columns - 1));
  if (f.has("terms")) {
    out.shift = f.number("shift");
    for (const nlohmann::json& one : f.array("terms")) out.terms.push_back(read_term(one, column, columns, statics));
  }
  const bool linear = out.form == Form::level || out.form == Form::difference;
  f.check(linear || out.terms.empty(), "has terms of a ratio");
  f.check(
      out.before ? out.form == Form::difference || out.form == Form::ratio : out.base < column && out.upper < column,
      "has a base that is not known yet");
  return out;
}

}  // namespace

std::vector<std::string> StepCoding::describe() const {
  Table names;
  for (const Coded& c : columns_) names.columns.push_back(c.column);
  std::vector<std::string> out;
  for (const Coded& c : columns_)
    if (c.coded() && (c.next != Code{} || c.line_at >= 0))
      out.push_back(spoken(names, c.column, c.next) + (c.line_at >= 0 ? ", or on a line" : ""));
  return out;
}

nlohmann::json StepCoding::to_json() const {
  nlohmann::json columns = nlohmann::json::array();
  for (const Coded& c : columns_) {
    if (!c.coded()) {
      columns.push_back(nullptr);
      continue;
    }
    nlohmann::json one{{"first", write_code(c.first)}, {"next", write_code(c.next)},    {"name", c.column.name},
                       {"type", name(c.column.type)},  {"decimals", c.column.decimals}, {"format", c.column.format},
                       {"arrow", c.column.arrow},      {"reason", c.column.reason}};
    if (std::isfinite(c.low)) one["low"] = c.low, one["high"] = c.high;
    if (c.line_at >= 0) one["line"] = true;
    columns.push_back(std::move(one));
  }
  return {{"columns", std::move(columns)}, {"orders", orders_}};
}

StepCoding StepCoding::from_json(const nlohmann::json& json, const Table& steps, const Table& statics) {
  const Fields f(json, "the coding of steps");
  StepCoding out;
  const nlohmann::json& columns = f.array("columns");
  const int n = static_cast<int>(columns.size());
  int more = 0;
  std::vector<char> lines(columns.size(), 0);
  for (const nlohmann::json& one : columns) {
    Coded& c = out.columns_.emplace_back();
    if (one.is_null()) continue;
    const Fields of(one, "the coding of a step");
    const int j = static_cast<int>(out.columns_.size()) - 1;
    c.first = read_code(of.at("first"), j, n, statics), c.next = read_code(of.at("next"), j, n, statics);
    of.check(!c.first.needs_before(), "has a first step with a step before");
    c.column.name = of.text("name");
    of.check(!c.column.name.empty() && parse_column_type(of.text("type"), c.column.type) &&
                 (is_quantity(c.column.type) || is_instant(c.column.type)),
             "is of a column that is no number");
    c.column.decimals = static_cast<int>(of.integer("decimals", 0, 15));
    c.column.format = of.text("format"), c.column.arrow = of.text("arrow"), c.column.reason = of.text("reason");
    if (of.has("low")) c.low = of.number("low"), c.high = of.number("high");
    of.check(c.low <= c.high, "has an empty range");
    lines[static_cast<size_t>(j)] = of.has("line") && of.flag("line");
    more += (c.next.needs_before() ? 1 : 0) + (lines[static_cast<size_t>(j)] != 0 ? 1 : 0);
  }
  f.check(static_cast<int>(steps.columns.size()) == n + more, "does not fit its columns");
  out.place(n, lines);
  for (int j = 0; j < n; ++j) {
    const Coded& c = out.columns_[static_cast<size_t>(j)];
    std::vector<int> needed{c.first.base, c.first.upper, c.next.base, c.next.upper};
    for (const Code* code : {&c.first, &c.next})
      for (const Term& t : code->terms)
        if (t.of != Term::Of::statics) needed.push_back(t.column);
    for (const int k : needed)
      f.check(k < 0 || out.columns_[static_cast<size_t>(k)].coded(), "has a base that is no number");
  }
  for (const nlohmann::json& pair : f.array("orders")) {
    f.check(pair.is_array() && pair.size() == 2 && pair[0].is_number_integer() && pair[1].is_number_integer(),
            "has an order that is no pair of columns");
    const auto below = pair[0].get<int64_t>(), above = pair[1].get<int64_t>();
    f.check(below >= 0 && below < n && above >= 0 && above < n && below != above &&
                out.columns_[static_cast<size_t>(below)].coded() && out.columns_[static_cast<size_t>(above)].coded(),
            "has an order that is no pair of numbers");
    out.orders_.emplace_back(static_cast<int>(below), static_cast<int>(above));
  }
  return out;
}

}  // namespace tessera
