#include "tables/rules/kinds/key.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
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
  void reduce(Table& table, Team&) const override { merge(table, {}); }
  void reduce_whole(Table& rows, Team&) const override { merge(rows, positions_in(rows)); }
  void reduce_given(Table& rows, Team&, bool) const override { merge(rows, positions_in(rows)); }

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

 private:
  // positions: of the rows within their values, written as the decoder does; −1 or none: unknown.
  void merge(Table& table, const std::vector<int64_t>& positions) const {
    Column& outer = column_of(table, data_.target.name);
    if (has_numbers(outer) || !positions.empty()) {
      Column head;
      head.name = outer.name;
      CellReader texts(head);
      for (int64_t i = 0; i < table.rows; ++i) {
        const auto row = static_cast<size_t>(i);
        if (outer.is_missing(i)) texts.add_missing();
        else if (positions.empty() || positions[row] < 0) texts.add(value_text(outer, row));
        else texts.add(value_text(outer, row) + kRowMark + std::to_string(positions[row]));
      }
      outer = texts.take();
    }
    outer.kind = kCountsRows;
    become_regenerated(outer, text());
    remove_column(table, data_.within.name);
  }

  // A row without a number gets the first that no other row of its value has.
  std::vector<int64_t> positions_in(const Table& rows) const {
    struct Taken {
      std::unordered_set<int64_t> positions;
      int64_t next = 0;
    };
    const Column &outer = column_of(rows, data_.target.name), &inner = column_of(rows, data_.within.name);
    std::vector<int64_t> out(static_cast<size_t>(rows.rows), -1);
    std::unordered_map<std::string, Taken> taken;
    for (const bool given : {true, false})
      for (int64_t i = 0; i < rows.rows; ++i) {
        if (outer.is_missing(i) || inner.is_missing(i) == given) continue;
        const auto row = static_cast<size_t>(i);
        const std::string text = value_text(outer, row);
        Taken& of = taken[text];
        if (given) {
          out[row] = position_of(inner, row, text);
        } else {
          while (of.positions.contains(of.next)) ++of.next;
          out[row] = of.next;
        }
        of.positions.insert(out[row]);
      }
    return out;
  }

  // The inverse of what restore() makes of a position; −1: no position makes it.
  int64_t position_of(const Column& inner, size_t row, const std::string& outer) const {
    if (data_.values.empty()) {
      const double position = inner.numbers[row] - data_.first;
      return position >= 0 && position < 1e15 && position == std::floor(position) ? static_cast<int64_t>(position) : -1;
    }
    const auto at = std::ranges::find(data_.values, value_text(inner, row));
    if (at == data_.values.end()) return -1;
    const Permutation order(data_.values.size(), fingerprint_of(outer));
    return static_cast<int64_t>(order.inverse(static_cast<uint64_t>(at - data_.values.begin())));
  }
};

}  // namespace

RulePtr make_rule(KeyData data) { return std::make_shared<KeyRule>(std::move(data)); }

void KeyData::check(const Fields& f) const {
  f.check(has_numbers(within) || !values.empty(), "has a key that counts in texts");
}

}  // namespace tessera
