#include "tables/rules/kinds/rising.h"

#include <fmt/format.h>

#include "tables/expression/arithmetic.h"
#include "tables/kinds/kind.h"
#include "tables/sequence/sequences.h"

namespace tessera {
namespace {

// 0 stays 0, not −0.
void negate(Column& c) {
  for (double& x : c.numbers) x = 0 - x;
}

template <class Data>
class MonotoneRule : public RuleOf<Data> {
 public:
  using RuleOf<Data>::RuleOf, RuleOf<Data>::data_, RuleOf<Data>::column;

  std::string text() const override {
    return fmt::format("{} never {} within a {}", quoted_name(column()), kRises ? "falls" : "rises",
                       quoted_name(data_.key));
  }
  // Steps in which it falls, or rises.
  std::vector<char> broken(const Table& rows, const Table&) const override {
    const Column& c = numbers_of(rows, column());
    const std::vector<int32_t> previous = previous_rows(rows, data_.key, data_.index);
    std::vector<char> out(static_cast<size_t>(rows.rows));
    for (size_t i = 0; i < out.size(); ++i) {
      if (previous[i] < 0) continue;
      const double before = c.numbers[static_cast<size_t>(previous[i])], here = c.numbers[i];
      out[i] = kRises ? here < before : here > before;
    }
    return out;
  }

 private:
  static constexpr bool kRises = !std::is_same_v<Data, FallingData>;
};

// The encoder of sequences makes differences and sums: it knows where a sequence begins.
class RisingRule : public MonotoneRule<RisingData> {
 public:
  using MonotoneRule::MonotoneRule;
  void restore(Table& rows) const override { (void)numbers_of(rows, column()); }
};

// Rows of a sequence are adjacent, and the index increases: the order with it is preserved.
class HeldRule : public MonotoneRule<HeldData> {
 public:
  using MonotoneRule::MonotoneRule;
  void restore(Table& rows) const override {
    const Column& key = column_of(rows, data_.key);
    Column& c = numbers_of(rows, column());
    for (size_t i = 1; i < c.numbers.size(); ++i)
      if (key.key(i) == key.key(i - 1) && c.numbers[i] < c.numbers[i - 1]) c.numbers[i] = c.numbers[i - 1];
  }
};

class FallingRule : public MonotoneRule<FallingData> {
 public:
  using MonotoneRule::MonotoneRule;
  void reduce(Table& table, Team&) const override {
    Column& c = numbers_of(table, column());
    negate(c);
    c.format.clear(), c.arrow.clear();  // they may not allow negative numbers
  }
  void restore(Table& rows) const override {
    Column& c = numbers_of(rows, column());
    negate(c);
    Bulk<double> numbers = std::move(c.numbers);
    c = data_.target;
    c.numbers = std::move(numbers), c.reason = text();
  }
};

}  // namespace

RulePtr make_rule(RisingData data) { return std::make_shared<RisingRule>(std::move(data)); }
RulePtr make_rule(HeldData data) { return std::make_shared<HeldRule>(std::move(data)); }
RulePtr make_rule(FallingData data) { return std::make_shared<FallingRule>(std::move(data)); }

void FallingData::check(const Fields& f) const {
  f.check(is_quantity(target.type), "has a falling column without numbers");
}

}  // namespace tessera
