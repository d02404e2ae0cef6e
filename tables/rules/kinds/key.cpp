#include "tables/rules/kinds/key.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "tables/expression/arithmetic.h"
#include "tables/identifiers/identifier.h"
#include "tables/identifiers/permutation.h"
#include "tables/identifiers/repeats.h"
#include "tables/rules/kinds/band.h"
#include "tables/rules/kinds/joint.h"
#include "tables/types/types_dictionary.h"

namespace tessera {
namespace {

class KeyRule : public RuleOf<KeyData> {
 public:
  explicit KeyRule(KeyData data) : RuleOf(std::move(data)) {
    if (is_numeric(data_.within.type))
      for (const std::string& value : data_.values) numbers_.push_back(number_in(value, data_.within.name));
  }

  std::string text() const override {
    return fmt::format("{} and {}{}", quoted_name(data_.target.name), quoted_name(data_.within.name), kUniqueTogether);
  }
  std::vector<std::string> columns(const Table&) const override { return {data_.target.name, data_.within.name}; }
  std::vector<char> broken(const Table& rows, const Table&) const override {
    const Column &a = column_of(rows, data_.target.name), &b = column_of(rows, data_.within.name);
    std::unordered_set<std::string> seen;
    std::vector<char> out(static_cast<size_t>(rows.rows));
    for (int64_t i = 0; i < rows.rows; ++i)
      if (!a.is_missing(i) && !b.is_missing(i))
        out[static_cast<size_t>(i)] =
            !seen.insert(band_value(a, static_cast<size_t>(i)) + '\n' + band_value(b, static_cast<size_t>(i))).second;
    return out;
  }
  void reduce(Table& table, Team&) const override {
    Column& outer = column_of(table, data_.target.name);
    if (is_numeric(outer.type)) {
      Column texts;
      texts.name = outer.name;
      Dictionary known;
      for (int64_t i = 0; i < table.rows; ++i)
        texts.codes.push_back(outer.is_missing(i) ? -1 : known.code(band_value(outer, static_cast<size_t>(i))));
      texts.values = known.take_values();
      outer = std::move(texts);
    }
    outer.type = ColumnType::identifier, outer.kind = kCountsRows, outer.reason = text();
    remove_column(table, data_.within.name);
  }

  // The decoder writes the number of a row among those of its value behind it.
  void restore(Table& rows) const override {
    Column& counted = column_of(rows, data_.target.name);
    Column outer = data_.target, inner = data_.within;
    Dictionary outer_texts, inner_texts;
    for (int64_t i = 0; i < rows.rows; ++i) {
      const int32_t code = is_numeric(counted.type) ? -1 : counted.codes[static_cast<size_t>(i)];
      const std::string both = code < 0 ? "" : counted.values[static_cast<size_t>(code)];
      const size_t end = std::min(both.rfind(kRowMark), both.size());
      const std::string text = both.substr(0, end);
      const double read = end < both.size() ? number_in(both.substr(end + 1), data_.within.name) : 0;
      const double position = read >= 0 && read < 1e15 ? read : 0;  // a foreign file may hold anything
      if (is_numeric(outer.type)) outer.numbers.push_back(code < 0 ? kMissing : number_in(text, data_.target.name));
      else outer.codes.push_back(code < 0 ? -1 : outer_texts.code(text));
      if (data_.values.empty()) {
        inner.numbers.push_back(code < 0 ? kMissing : data_.first + position);
        continue;
      }
      const Permutation order(data_.values.size(), fingerprint_of(text));
      const auto at = static_cast<size_t>(order(static_cast<uint64_t>(position) % data_.values.size()));
      if (is_numeric(inner.type)) inner.numbers.push_back(code < 0 ? kMissing : numbers_[at]);
      else inner.codes.push_back(code < 0 ? -1 : inner_texts.code(data_.values[at]));
    }
    outer.values = outer_texts.take_values(), inner.values = inner_texts.take_values();
    outer.reason = inner.reason = this->text();
    counted = std::move(outer);
    rows.columns.push_back(std::move(inner));
  }
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == column()) columns.clear();
  }

 private:
  std::vector<double> numbers_;  // the values, of an inner column of numbers
};

}  // namespace

RulePtr make_rule(KeyData data) { return std::make_shared<KeyRule>(std::move(data)); }

void KeyData::check(const Fields& f) const {
  f.check(is_numeric(within.type) || !values.empty(), "has a key that counts in texts");
}

}  // namespace tessera
