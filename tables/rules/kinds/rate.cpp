#include "tables/rules/kinds/rate.h"

#include <fmt/format.h>

#include <algorithm>

#include "tables/expression/arithmetic.h"
#include "tables/kinds/kind.h"

namespace tessera {
namespace {

class RateRule : public GivesColumn<RateData> {
 public:
  explicit RateRule(RateData data) : GivesColumn(std::move(data)) {
    std::vector<double> all = data_.rates;
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    median_ = *middle;
  }

  std::string text() const override {
    std::string target = quoted_name(data_.target.name);
    if (!data_.plus.empty()) target = fmt::format("({} - {})", target, quoted_name(data_.plus));
    if (data_.months.are && data_.months.days != 0) target = fmt::format("({} + {})", target, -data_.months.days);
    return fmt::format("{} {} {}{} follows from {}", target, data_.factors ? '/' : '-', quoted_name(data_.of),
                       data_.months.are ? " in calendar months" : "", quoted_name(data_.by));
  }
  std::vector<std::string> columns(const Table&) const override {
    std::vector<std::string> out{data_.target.name, data_.of, data_.by};
    if (!data_.plus.empty()) out.push_back(data_.plus);
    return out;
  }

 private:
  double months_later(const Column& of, double date, double months) const {
    return (add_months(date / kind_of(of).unit, months) + data_.months.days) * kind_of(data_.target).unit;
  }
  // Sampled rows may have categories without a rate: they get the median.
  Column values(const Table& rows, bool sampled) const override {
    const Column &of = numbers_of(rows, data_.of), &by = texts_of(rows, data_.by);
    const Column* plus = data_.plus.empty() ? nullptr : &numbers_of(rows, data_.plus);
    Column known, out = data_.target;
    known.values = data_.levels;
    const std::vector<int32_t> level = codes_in(known, by);
    for (size_t i = 0; i < of.numbers.size(); ++i) {
      const int32_t code = by.codes[i], at = code < 0 ? -1 : level[static_cast<size_t>(code)];
      const double otherwise = sampled ? median_ : kMissing;
      const double rate = code < 0 ? kMissing : at < 0 ? otherwise : data_.rates[static_cast<size_t>(at)];
      const double share = data_.months.are ? months_later(of, of.numbers[i], rate)
                           : data_.factors  ? of.numbers[i] * rate
                                            : of.numbers[i] + rate;
      out.numbers.push_back(plus == nullptr ? share : plus->numbers[i] + share);
    }
    return out;
  }

  double median_ = 0;  // rate
};

}  // namespace

RulePtr make_rule(RateData data) { return std::make_shared<RateRule>(std::move(data)); }

void RateData::check(const Fields& f) const {
  f.check(!months.are || (is_instant(target) && !factors), "has a rule of calendar months that gives no date");
  f.check(is_ordered(target) && levels.size() == rates.size() && !levels.empty() && (factors || plus.empty()),
          "has a rule of rates without a rate for each category");
}

void write_field(nlohmann::json& out, const char*, const InMonths& months) {
  if (months.are) out["days_after_months"] = months.days;
}

void read_field(const Fields& f, const char*, InMonths& months) {
  months.are = f.has("days_after_months");
  if (months.are) months.days = f.number("days_after_months");
}

}  // namespace tessera
