#include "tables/rules/kinds/key.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "tables/expression/arithmetic.h"
#include "tables/identifiers/identifier.h"
#include "tables/identifiers/permutation.h"
#include "tables/identifiers/repeats.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/rules/kinds/joint.h"

namespace tessera {
namespace {

class KeyRule : public RuleOf<KeyData> {
 public:
  explicit KeyRule(KeyData data) : RuleOf(std::move(data)) {
    for (CellReader check(data_.within); const std::string& value : data_.values) check.add(value);
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
            !seen.insert(value_text(a, static_cast<size_t>(i)) + '\n' + value_text(b, static_cast<size_t>(i))).second;
    return out;
  }
  void reduce(Table& table, Team&) const override {
    Column& outer = column_of(table, data_.target.name);
    if (has_numbers(outer)) {
      Column head;
      head.name = outer.name;
      CellReader texts(head);
      for (int64_t i = 0; i < table.rows; ++i)
        if (outer.is_missing(i)) texts.add_missing();
        else texts.add(value_text(outer, static_cast<size_t>(i)));
      outer = texts.take();
    }
    outer.kind = kCountsRows;
    become_regenerated(outer, text());
    remove_column(table, data_.within.name);
  }

  // The decoder appends the number of a row within its value.
  void restore(Table& rows) const override {
    Column& counted = column_of(rows, data_.target.name);
    CellReader outer(data_.target), inner(data_.within);
    for (int64_t i = 0; i < rows.rows; ++i) {
      const int32_t code = has_numbers(counted) ? -1 : counted.codes[static_cast<size_t>(i)];
      if (code < 0) {
        outer.add_missing(), inner.add_missing();
        continue;
      }
      const std::string& both = counted.values[static_cast<size_t>(code)];
      const size_t end = std::min(both.rfind(kRowMark), both.size());
      const std::string text = both.substr(0, end);
      const double read = end < both.size() ? number_in(both.substr(end + 1), data_.within.name) : 0;
      const double position = read >= 0 && read < 1e15 ? read : 0;  // a foreign file may hold anything
      outer.add(text);
      if (data_.values.empty()) {
        inner.add(fmt::format("{}", data_.first + position));
        continue;
      }
      const Permutation order(data_.values.size(), fingerprint_of(text));
      inner.add(data_.values[static_cast<size_t>(order(static_cast<uint64_t>(position) % data_.values.size()))]);
    }
    Column within = inner.take();
    counted = outer.take();
    counted.reason = within.reason = this->text();
    rows.columns.push_back(std::move(within));
  }
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == column()) columns.clear();
  }
};

}  // namespace

RulePtr make_rule(KeyData data) { return std::make_shared<KeyRule>(std::move(data)); }

void KeyData::check(const Fields& f) const {
  f.check(has_numbers(within) || !values.empty(), "has a key that counts in texts");
}

}  // namespace tessera
