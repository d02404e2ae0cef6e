#include "tables/rules/kinds/function.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/text/ascii.h"
#include "tables/expression/arithmetic.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"

namespace tessera {
namespace {

constexpr size_t kMaxDigits = 15;

// A column of dates or times that a rule names.
const Column& times_of(const Table& rows, const std::string& name, const TimeFunction& function) {
  const Column& c = numbers_of(rows, name);
  if ((when_parts(c) & function.needs) != function.needs)
    refuse_rule("a rule asks the column \"" + name + "\" for dates or times that it does not hold");
  return c;
}

// do_row(number, the date or time that it spells) of each row.
template <class DoRow>
void for_each_spelled(const SpelledData& spelled, const Table& rows, DoRow&& do_row) {
  std::vector<const Column*> columns;
  for (const std::string& name : spelled.of) columns.push_back(&column_of(rows, name));
  for (size_t i = 0; i < static_cast<size_t>(rows.rows); ++i) {
    const double x = spelled_number(columns, i);
    do_row(x, x == x ? spelled.function->inverse(x) : kMissing);
  }
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

namespace {

class FunctionRule : public GivesColumn<FunctionData> {
 public:
  using GivesColumn::GivesColumn;

  std::string text() const override {
    const std::string a = quoted_name(data_.of[0]), b = quoted_name(data_.of.back());
    return fmt::format("{} is {}", quoted_name(data_.target.name),
                       fmt::format(fmt::runtime(data_.function->words), a, b));
  }

 private:
  Column values(const Table& rows, bool) const override {
    const TimeFunction& f = *data_.function;
    const Column &a = times_of(rows, data_.of[0], f), &b = times_of(rows, data_.of.back(), f);
    Column out = data_.target;
    std::unordered_map<double, int32_t> known;
    for (size_t i = 0; i < a.numbers.size(); ++i) {
      const double x = f.value(a, a.numbers[i], b, b.numbers[i], kind_of(out).unit);
      if (has_numbers(out)) {
        out.numbers.push_back(x);
      } else if (x != x) {
        out.codes.push_back(-1);
      } else {
        const auto [at, fresh] = known.try_emplace(x, static_cast<int32_t>(out.values.size()));
        if (fresh) out.values.push_back(data_.picture.write(x));
        out.codes.push_back(at->second);
      }
    }
    return out;
  }
};

class SpelledRule : public RuleOf<SpelledData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override {
    return fmt::format("{} {} {}", names_in_words(data_.of), data_.of.size() == 1 ? "spells" : "spell",
                       data_.function->needs == kHasTime    ? "a time of day"
                       : data_.function->needs == kHasDay   ? "a date"
                       : data_.function->counts_from_1970() ? "a time since 1970"
                                                            : "a date and a time of day");
  }
  std::vector<std::string> columns(const Table&) const override { return data_.of; }
  std::vector<char> broken(const Table& rows, const Table&) const override {
    std::vector<char> out;
    for_each_spelled(data_, rows, [&](double x, double time) { out.push_back(x == x && time != time ? 1 : 0); });
    return out;
  }
  void reduce(Table& table, Team&) const override {
    if (data_.in_parts()) return;
    Column c = spelled_in(data_, table);
    c.reason = text();
    table.columns.insert(table.columns.begin() + place_of(table, data_.of.front()), std::move(c));
  }
  void restore(Table& rows) const override {
    if (data_.in_parts()) end_months(rows);
    else remove_column(rows, data_.column);
  }
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == data_.column) columns = data_.of.size() == 1 ? data_.of : std::vector<std::string>();
  }

 private:
  // Days beyond the end of their month become its last day.
  void end_months(Table& rows) const {
    constexpr int kMaxBeyond = 3;  // the 31st of a February
    numbers_of(rows, data_.column);
    std::vector<double> beyond;
    for_each_spelled(data_, rows, [&](double x, double time) {
      beyond.push_back(0);
      if (x != x || time == time) return;
      for (int days = 1; days <= kMaxBeyond && beyond.back() == 0; ++days)
        if (const double last = data_.function->inverse(x - days); last == last) beyond.back() = days;
    });
    Column& day = rows.columns[static_cast<size_t>(place_of(rows, data_.column))];
    for (size_t i = 0; i < beyond.size(); ++i)
      if (beyond[i] > 0) day.numbers[i] -= beyond[i];
  }
};

}  // namespace

RulePtr make_rule(FunctionData data) { return std::make_shared<FunctionRule>(std::move(data)); }
RulePtr make_rule(SpelledData data) { return std::make_shared<SpelledRule>(std::move(data)); }

void FunctionData::check(const Fields& f) const {
  f.check(function != nullptr && of.size() == (function->two ? 2 : 1),
          "has a rule of a function of another number of columns");
  f.check(is_ordered(target) ? function->fits(target) : !picture.text.empty(),
          "has a rule of a function that its column cannot hold");
  f.check(picture.text.size() < 1000, "has a picture that is too long");
}

void SpelledData::check(const Fields& f) const {
  f.check(!of.empty(), "has a rule of a date or time that no column spells");
  f.check(function != nullptr && function->inverse != nullptr, "has a rule of a date or time that no number spells");
}

double spelled_number(const std::vector<const Column*>& columns, size_t row) {
  double out = 0;
  for (const Column* c : columns) {
    const double x = has_numbers(*c)     ? c->numbers[row]
                     : c->codes[row] < 0 ? kMissing
                                         : DigitPicture::read(c->values[static_cast<size_t>(c->codes[row])]);
    // a part beyond its two digits spells nothing
    if (c != columns.front() && !(x >= 0 && x < 100)) return x == x && out == out ? -1 : kMissing;
    out = 100 * out + x;
  }
  return out;
}

Column spelled_in(const SpelledData& spelled, const Table& rows) {
  const int needs = spelled.function->needs;
  Column c;
  c.name = spelled.column, c.kind = kSpelled;
  become_moment(c, (needs & kHasDay) != 0, (needs & kHasTime) != 0);
  for_each_spelled(spelled, rows, [&](double, double time) {
    c.numbers.push_back(time);
    if (has_time(c) && time != std::floor(time) && time == time) c.decimals = 3;
  });
  return c;
}

}  // namespace tessera
