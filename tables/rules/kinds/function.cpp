#include "tables/rules/kinds/function.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/text/ascii.h"
#include "base/text/json_fields.h"
#include "tables/expression/arithmetic.h"
#include "tables/rules/kinds/computed.h"
#include "tables/rules/rule/columns.h"

namespace tessera {
namespace {

constexpr size_t kMaxDigits = 15;

// A column of dates or times that a rule names.
const Column& times_of(const Table& rows, const std::string& name, const TimeFunction& function) {
  const Column& c = numbers_of(rows, name);
  if ((when_parts(c) & function.needs) != function.needs)
    throw Error(ErrorCode::format, fmt::format("The model file is damaged or foreign: a rule asks the column \"{}\" "
                                               "for dates or times that it does not hold.",
                                               name));
  return c;
}

const TimeFunction& function_of(const Fields& f, bool inverse) {
  const std::string name = f.text("function");
  const TimeFunction* function = time_function(name);
  f.check(function != nullptr && (!inverse || function->inverse != nullptr),
          "has a rule of a function that this version does not know, \"" + name + "\"");
  return *function;
}

}  // namespace

DigitPicture DigitPicture::of(const std::vector<std::string>& texts) {
  std::string places, number;
  bool same = true, one = true;
  for (const std::string& text : texts) {
    std::string each = text, whole;
    if (text.find('#') != std::string::npos) return {};
    for (char& c : each)
      if (is_digit(c)) c = '0';
    for (size_t i = 0; i < each.size(); ++i)
      if (each[i] != '0') whole += each[i];
      else if (i == 0 || each[i - 1] != '0')
        whole += text[i] == '0' && i + 1 < each.size() && each[i + 1] == '0' ? "!" : "#";
    if (places.empty()) places = each, number = whole;
    same = same && each == places, one = one && whole == number;
    if (!same && !one) return {};
  }
  const auto digits = static_cast<size_t>(std::count(places.begin(), places.end(), '0'));
  if (same && digits > 0 && digits <= kMaxDigits) return {places};
  return one && std::count(number.begin(), number.end(), '#') == 1 && number.find('!') == std::string::npos
             ? DigitPicture{number}
             : DigitPicture{};
}

double DigitPicture::read(const std::string& text) {
  double out = 0;
  for (const char c : text)
    if (is_digit(c)) out = 10 * out + (c - '0');
  return out;
}

std::string DigitPicture::write(double x) const {
  const auto places = static_cast<int>(std::count(text.begin(), text.end(), '0'));
  std::string digits = fmt::format("{:0{}.0f}", std::abs(x), std::max(places, 1)), out;
  if (places > 0) digits = digits.substr(digits.size() - static_cast<size_t>(places));
  for (size_t next = 0; const char c : text) {
    if (c == '0') out += digits[next++];
    else if (c == '#') out += digits;
    else out += c;
  }
  return out;
}

std::string FunctionRule::text() const {
  const std::string a = quoted_name(of_[0]), b = quoted_name(of_.back());
  return fmt::format("{} is {}", quoted_name(target_.name), fmt::format(fmt::runtime(function_.words), a, b));
}

std::vector<std::string> FunctionRule::columns(const Table&) const {
  std::vector<std::string> out{target_.name};
  out.insert(out.end(), of_.begin(), of_.end());
  return out;
}

std::vector<double> FunctionRule::values_in(const Table& rows) const {
  const Column &a = times_of(rows, of_[0], function_), &b = times_of(rows, of_.back(), function_);
  std::vector<double> out;
  for (size_t i = 0; i < a.numbers.size(); ++i)
    out.push_back(function_.value(a, a.numbers[i], b, b.numbers[i], target_.type));
  return out;
}

std::vector<char> FunctionRule::broken(const Table& rows, const Table&) const {
  const Column& c = column_of(rows, target_.name);
  const std::vector<double> values = values_in(rows);
  std::vector<char> out(values.size());
  for (size_t i = 0; i < out.size(); ++i) {
    if (values[i] != values[i] || c.is_missing(static_cast<int64_t>(i))) continue;
    out[i] = is_numeric(c.type) ? !same_number(c.numbers[i], values[i], target_)
                                : c.values[static_cast<size_t>(c.codes[i])] != picture_.write(values[i]);
  }
  return out;
}

void FunctionRule::reduce(Table& table, Team&) const { remove_column(table, target_.name); }

void FunctionRule::restore(Table& rows) const {
  Column out = target_;
  std::unordered_map<double, int32_t> known;
  for (const double x : values_in(rows)) {
    if (is_numeric(out.type)) {
      out.numbers.push_back(x == x ? rounded(x, digits_of(out)) : kMissing);
    } else if (x != x) {
      out.codes.push_back(-1);
    } else {
      const auto [at, fresh] = known.try_emplace(x, static_cast<int32_t>(out.values.size()));
      if (fresh) out.values.push_back(picture_.write(x));
      out.codes.push_back(at->second);
    }
  }
  out.reason = text();
  rows.columns.push_back(std::move(out));
}

nlohmann::json FunctionRule::to_json() const {
  return {{"kind", kind()},
          {"column", write_head(target_)},
          {"function", function_.name},
          {"of", of_},
          {"picture", picture_.text}};
}

std::unique_ptr<const TableRule> FunctionRule::read(const Fields& f) {
  const TimeFunction& function = function_of(f, false);
  Column target = read_head(Fields(f.at("column"), f.place()));
  std::vector<std::string> of = f.texts("of");
  DigitPicture picture{f.text("picture")};
  f.check(of.size() == (function.two ? 2 : 1), "has a rule of a function of another number of columns");
  f.check(is_numeric(target.type) ? function.fits(target) : !picture.text.empty(),
          "has a rule of a function that its column cannot hold");
  f.check(picture.text.size() < 1000, "has a picture that is too long");
  return std::make_unique<FunctionRule>(std::move(target), function, std::move(of), std::move(picture));
}

std::string SpelledRule::text() const {
  std::string names;
  for (size_t k = 0; k < columns_.size(); ++k)
    names += (k == 0 ? "" : k + 1 < columns_.size() ? ", " : " and ") + quoted_name(columns_[k]);
  return fmt::format("{} {} {}", names, columns_.size() == 1 ? "spells" : "spell",
                     function_.needs == kHasTime  ? "a time of day"
                     : function_.needs == kHasDay ? "a date"
                                                  : "a time since 1970");
}

double SpelledRule::number(const std::vector<const Column*>& columns, size_t row) {
  double out = 0;
  for (const Column* c : columns) {
    const double x = is_numeric(c->type) ? c->numbers[row]
                     : c->codes[row] < 0 ? kMissing
                                         : DigitPicture::read(c->values[static_cast<size_t>(c->codes[row])]);
    // a part beyond its two digits spells nothing
    if (c != columns.front() && !(x >= 0 && x < 100)) return x == x && out == out ? -1 : kMissing;
    out = 100 * out + x;
  }
  return out;
}

Column SpelledRule::spelled(const Table& rows) const {
  std::vector<const Column*> columns;
  for (const std::string& name : columns_) columns.push_back(&column_of(rows, name));
  Column c;
  c.name = learned_, c.kind = kSpelled, c.reason = text();
  c.type = function_.needs == kHasTime  ? ColumnType::integer
           : function_.needs == kHasDay ? ColumnType::date
                                        : ColumnType::datetime;
  c.format = function_.needs == kHasTime ? "%H:%M:%S" : function_.needs == kHasDay ? "%Y-%m-%d" : "%Y-%m-%d %H:%M:%S";
  for (size_t i = 0; i < static_cast<size_t>(rows.rows); ++i) {
    const double x = number(columns, i), time = x == x ? function_.inverse(x) : kMissing;
    c.numbers.push_back(time);
    if (c.type == ColumnType::datetime && time != std::floor(time) && time == time) c.decimals = 3;
  }
  return c;
}

std::vector<char> SpelledRule::broken(const Table& rows, const Table&) const {
  std::vector<const Column*> columns;
  for (const std::string& name : columns_) columns.push_back(&column_of(rows, name));
  std::vector<char> out;
  for (size_t i = 0; i < static_cast<size_t>(rows.rows); ++i) {
    const double x = number(columns, i), time = x == x ? function_.inverse(x) : kMissing;
    out.push_back(static_cast<char>(x == x && time != time));
  }
  return out;
}

void SpelledRule::reduce(Table& table, Team&) const {
  table.columns.insert(table.columns.begin() + place_of(table, columns_.front()), spelled(table));
}

void SpelledRule::restore(Table& rows) const { remove_column(rows, learned_); }

void SpelledRule::show(const std::string& learned, std::vector<std::string>& columns) const {
  if (learned != learned_) return;
  columns.clear();
  if (columns_.size() == 1) columns = columns_;
}

nlohmann::json SpelledRule::to_json() const {
  return {{"kind", kind()}, {"columns", columns_}, {"function", function_.name}, {"learned", learned_}};
}

std::unique_ptr<const TableRule> SpelledRule::read(const Fields& f) {
  std::vector<std::string> columns = f.texts("columns");
  f.check(!columns.empty(), "has a rule of a date or time that no column spells");
  return std::make_unique<SpelledRule>(std::move(columns), function_of(f, true), f.text("learned"));
}

}  // namespace tessera
