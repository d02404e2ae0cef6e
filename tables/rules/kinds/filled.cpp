#include "tables/rules/kinds/filled.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/math/philox.h"
#include "tables/identifiers/identifier.h"
#include "tables/kinds/kind.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

// Values of the choice; a schema's first rows have the first one.
constexpr const char *kThere = "there", *kNone = "missing";

class FilledRule : public RuleOf<FilledData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override {
    return fmt::format("{} is missing in {:.1f} % of the rows", quoted_name(data_.column), 100 * data_.share);
  }
  std::string_view kept() const override { return "in its share"; }
  bool leaves_gaps() const override { return true; }

  void reduce(Table& table, Team&) const override {
    Column filled = numbers_of(table, data_.column);
    const Between between(table, data_);
    std::vector<size_t> others;
    for (size_t i = 0; i < filled.numbers.size(); ++i)
      if (filled.numbers[i] == filled.numbers[i]) others.push_back(i);
    for (size_t i = 0; i < filled.numbers.size() && !others.empty(); ++i)
      if (filled.numbers[i] != filled.numbers[i]) filled.numbers[i] = between.value(i, others);
    insert_choice(table, 1);
    numbers_of(table, data_.column).numbers = std::move(filled.numbers);
  }
  void reduce_given(Table& rows, Team&, bool filled) const override { insert_choice(rows, filled ? 0 : -1); }
  void restore(Table& rows) const override {
    const Column choice = texts_of(rows, data_.choice);
    remove_column(rows, data_.choice);
    Column& c = numbers_of(rows, data_.column);
    for (size_t i = 0; i < choice.codes.size(); ++i)
      if (choice.codes[i] >= 0 && choice.values[static_cast<size_t>(choice.codes[i])] == kNone) c.set_missing(i);
  }
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == data_.choice) columns.clear();
  }

 private:
  void insert_choice(Table& table, int32_t missing) const {
    const auto at = table.columns.begin() + place_of(table, data_.column);
    Column choice;
    choice.name = data_.choice, choice.reason = text(), choice.values = {kThere, kNone};
    for (const double x : at->numbers) choice.codes.push_back(x == x ? 0 : missing);
    table.columns.insert(at, std::move(choice));
  }

  // What the order leaves to a cell.
  class Between {
   public:
    Between(const Table& table, const FilledData& data) : column_(numbers_of(table, data.column)) {
      for (const std::string& name : data.not_below) low_.push_back(&numbers_of(table, name));
      for (const std::string& name : data.not_above) high_.push_back(&numbers_of(table, name));
    }

    // As far from the end that is known as another row is from its own; without one, the number of another row.
    double value(size_t row, const std::vector<size_t>& others) const {
      constexpr uint32_t kDraws = 16;
      const double low = end(low_, row, false), high = end(high_, row, true);
      const int digits = digits_of(column_);
      double x = kMissing;
      for (uint32_t draw = 0; draw < kDraws && x != x; ++draw) {
        const Philox p =
            random_words(0, Purpose::rare, static_cast<uint32_t>(fingerprint_of(column_.name)), row, kFirstUse + draw);
        const uint64_t any = static_cast<uint64_t>(p.word[0]) << 32 | p.word[1];
        const size_t other = others[any % others.size()];
        const double number = column_.numbers[other];
        x = high == high ? high - (end(high_, other, true) - number)
            : low == low ? low + (number - end(low_, other, false))
                         : number;
      }
      if (x != x) x = high == high ? high : low == low ? low : column_.numbers[others.front()];
      x = rounded(x, digits);
      if (x < low) x = low;
      if (x > high) x = digits == kAllDigits ? high : std::floor(high * grid_of(digits)) / grid_of(digits);
      return x;
    }

   private:
    static constexpr uint32_t kFirstUse = 2;  // of Purpose::rare: the first two replace categories and fill cells

    // The nearest end, as a number of the column; NaN where all are missing.
    double end(const std::vector<const Column*>& columns, size_t row, bool high) const {
      double out = kMissing;
      for (const Column* c : columns) {
        const double number = c->numbers[row];
        // a datetime is after the start of its day
        const double x = high ? -in_unit_of(column_, *c, -number) : in_unit_of(column_, *c, number);
        out = high ? std::fmin(out, x) : std::fmax(out, x);
      }
      return out;
    }

    const Column& column_;
    std::vector<const Column*> low_, high_;
  };
};

}  // namespace

RulePtr make_rule(FilledData data) { return std::make_shared<FilledRule>(std::move(data)); }

void FilledData::check(const Fields& f) const {
  f.check(!choice.empty() && choice != column && share >= 0 && share <= 1,
          "has a column that is missing where none says so");
}

}  // namespace tessera
