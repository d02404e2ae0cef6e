#include "tables/rules/kinds/key.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/text/json_fields.h"
#include "tables/expression/arithmetic.h"
#include "tables/identifiers/identifier.h"
#include "tables/identifiers/permutation.h"
#include "tables/identifiers/repeats.h"
#include "tables/rules/kinds/band.h"
#include "tables/rules/kinds/joint.h"
#include "tables/rules/rule/columns.h"
#include "tables/types/types_dictionary.h"

namespace tessera {
namespace {

constexpr std::string_view kTogether = " are unique together";

}  // namespace

KeyRule::KeyRule(Column outer, Column inner, double first, std::vector<std::string> values)
    : outer_(std::move(outer)), inner_(std::move(inner)), first_(first), values_(std::move(values)) {
  if (is_numeric(inner_.type))
    for (const std::string& value : values_) numbers_.push_back(number_in(value, inner_.name));
}

std::string KeyRule::text() const {
  return fmt::format("{} and {}{}", quoted_name(outer_.name), quoted_name(inner_.name), kTogether);
}

std::vector<std::string> KeyRule::columns_in(const std::string& text) { return JointRule::columns_in(text, kTogether); }

std::vector<char> KeyRule::broken(const Table& rows, const Table&) const {
  const Column &a = column_of(rows, outer_.name), &b = column_of(rows, inner_.name);
  std::unordered_set<std::string> seen;
  std::vector<char> out(static_cast<size_t>(rows.rows));
  for (int64_t i = 0; i < rows.rows; ++i)
    if (!a.is_missing(i) && !b.is_missing(i))
      out[static_cast<size_t>(i)] =
          !seen.insert(band_value(a, static_cast<size_t>(i)) + '\n' + band_value(b, static_cast<size_t>(i))).second;
  return out;
}

void KeyRule::reduce(Table& table, Team&) const {
  Column& outer = column_of(table, outer_.name);
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
  remove_column(table, inner_.name);
}

// The decoder writes the number of a row among those of its value behind it.
void KeyRule::restore(Table& rows) const {
  Column& counted = column_of(rows, outer_.name);
  Column outer = outer_, inner = inner_;
  Dictionary outer_texts, inner_texts;
  for (int64_t i = 0; i < rows.rows; ++i) {
    const int32_t code = is_numeric(counted.type) ? -1 : counted.codes[static_cast<size_t>(i)];
    const std::string both = code < 0 ? "" : counted.values[static_cast<size_t>(code)];
    const size_t end = std::min(both.rfind(kRowMark), both.size());
    const std::string text = both.substr(0, end);
    const double read = end < both.size() ? number_in(both.substr(end + 1), inner_.name) : 0;
    const double position = read >= 0 && read < 1e15 ? read : 0;  // a foreign file may hold anything
    if (is_numeric(outer.type)) outer.numbers.push_back(code < 0 ? kMissing : number_in(text, outer_.name));
    else outer.codes.push_back(code < 0 ? -1 : outer_texts.code(text));
    if (values_.empty()) {
      inner.numbers.push_back(code < 0 ? kMissing : first_ + position);
      continue;
    }
    const Permutation order(values_.size(), fingerprint_of(text));
    const auto at = static_cast<size_t>(order(static_cast<uint64_t>(position) % values_.size()));
    if (is_numeric(inner.type)) inner.numbers.push_back(code < 0 ? kMissing : numbers_[at]);
    else inner.codes.push_back(code < 0 ? -1 : inner_texts.code(values_[at]));
  }
  outer.values = outer_texts.take_values(), inner.values = inner_texts.take_values();
  outer.reason = inner.reason = this->text();
  counted = std::move(outer);
  rows.columns.push_back(std::move(inner));
}

nlohmann::json KeyRule::to_json() const {
  return {{"kind", kind()},
          {"column", write_head(outer_)},
          {"within", write_head(inner_)},
          {"first", first_},
          {"values", values_}};
}

std::unique_ptr<const TableRule> KeyRule::read(const Fields& f) {
  Column inner = read_head(Fields(f.at("within"), f.place()));
  std::vector<std::string> values = f.texts("values");
  f.check(is_numeric(inner.type) || !values.empty(), "has a key that counts in texts");
  return std::make_unique<KeyRule>(read_head(Fields(f.at("column"), f.place())), std::move(inner), f.number("first"),
                                   std::move(values));
}

}  // namespace tessera
