#include "tables/rules/kinds/band.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/json_fields.h"
#include "tables/expression/arithmetic.h"
#include "tables/formats/calendar.h"
#include "tables/formats/moments.h"
#include "tables/rules/rule/columns.h"

namespace tessera {
namespace {

constexpr size_t kMaxSaid = 6;  // cuts in a text

std::string cut_text(const Column& of, BandPart part, double cut) {
  std::string out;
  if (part != nullptr && part->name == std::string_view("time")) write_datetime(cut, "%H:%M", 0, out);
  else if (part != nullptr) out = fmt::format("{}", cut);
  else if (of.type == ColumnType::date) write_date(cut, "%Y-%m-%d", out);
  else if (of.type == ColumnType::datetime) write_datetime(cut, "%Y-%m-%d %H:%M", 0, out);
  else out = fmt::format("{}", cut);
  return out;
}

// The code of each of the values among a column's own; those it does not have are added.
std::vector<int32_t> codes_of(const std::vector<std::string>& values, std::vector<std::string>& all) {
  std::vector<int32_t> out;
  for (const std::string& value : values) {
    const auto at = std::find(all.begin(), all.end(), value);
    out.push_back(static_cast<int32_t>(at - all.begin()));
    if (at == all.end()) all.push_back(value);
  }
  return out;
}

}  // namespace

double part_of(BandPart part, const Column& column, double x) {
  return part == nullptr ? x : part->value(column, x, ColumnType::integer);
}

std::string band_value(const Column& target, size_t row) {
  return is_numeric(target.type) ? fmt::format("{}", target.numbers[row] + 0.0)
                                 : target.values[static_cast<size_t>(target.codes[row])];
}

size_t Bands::of(double x) const {
  const auto end =
      with_cut ? std::lower_bound(cuts.begin(), cuts.end(), x) : std::upper_bound(cuts.begin(), cuts.end(), x);
  return static_cast<size_t>(end - cuts.begin());
}

BandRule::BandRule(Column target, Column of, Bands bands)
    : target_(std::move(target)), of_(std::move(of)), bands_(std::move(bands)) {
  if (!is_numeric(target_.type)) return;
  for (const std::string& text : bands_.values) numbers_.push_back(number_in(text, target_.name));
}

std::string BandRule::text() const {
  std::string cuts;
  for (const double cut : bands_.cuts) cuts += (cuts.empty() ? "" : ", ") + cut_text(of_, bands_.part, cut);
  const std::string bands = bands_.cuts.size() > kMaxSaid ? fmt::format("in {} bands", bands_.values.size())
                                                          : (bands_.with_cut ? "cut after " : "cut at ") + cuts;
  const std::string of = quoted_name(of_.name);
  return fmt::format("{} follows from {}, {}", quoted_name(target_.name),
                     bands_.part == nullptr ? of : fmt::format(fmt::runtime(bands_.part->words), of), bands);
}

std::vector<char> BandRule::broken(const Table& rows, const Table&) const {
  const Column &target = column_of(rows, target_.name), &of = numbers_of(rows, of_.name);
  std::vector<char> out(of.numbers.size());
  std::vector<int32_t> codes;
  std::vector<std::string> all = target.values;
  if (!is_numeric(target.type)) codes = codes_of(bands_.values, all);
  for (size_t i = 0; i < out.size(); ++i) {
    const double x = part_of(bands_.part, of, of.numbers[i]);
    if (x != x || target.is_missing(static_cast<int64_t>(i))) continue;
    const size_t band = bands_.of(x);
    out[i] = is_numeric(target.type) ? band_value(target, i) != bands_.values[band] : target.codes[i] != codes[band];
  }
  return out;
}

void BandRule::reduce(Table& table, Team&) const { remove_column(table, target_.name); }

void BandRule::restore(Table& rows) const {
  const Column& of = numbers_of(rows, of_.name);
  Column out = target_;
  const std::vector<int32_t> codes =
      is_numeric(out.type) ? std::vector<int32_t>() : codes_of(bands_.values, out.values);
  for (const double number : of.numbers) {
    const double x = part_of(bands_.part, of, number);
    const size_t band = x == x ? bands_.of(x) : 0;
    if (is_numeric(out.type)) out.numbers.push_back(x == x ? numbers_[band] : kMissing);
    else out.codes.push_back(x == x ? codes[band] : -1);
  }
  out.reason = text();
  rows.columns.push_back(std::move(out));
}

nlohmann::json BandRule::to_json() const {
  return {{"kind", kind()},         {"column", write_head(target_)},
          {"of", write_head(of_)},  {"part", bands_.part == nullptr ? "" : bands_.part->name},
          {"cuts", bands_.cuts},    {"with_cut", bands_.with_cut},
          {"values", bands_.values}};
}

std::unique_ptr<const TableRule> BandRule::read(const Fields& f) {
  const std::string part = f.text("part");
  Bands bands{time_function(part), f.numbers("cuts"), f.flag("with_cut"), f.texts("values")};
  f.check(part.empty() || (bands.part != nullptr && bands.part->by_band),
          "has a rule of bands of an unknown part, \"" + part + "\"");
  Column of = read_head(Fields(f.at("of"), f.place()));
  f.check(bands.part == nullptr || (when_parts(of) & bands.part->needs) == bands.part->needs,
          "has a rule of bands of a part that its column lacks");
  f.check(is_numeric(of.type) && !bands.cuts.empty() && bands.values.size() == bands.cuts.size() + 1 &&
              std::is_sorted(bands.cuts.begin(), bands.cuts.end()),
          "has a rule of bands that do not follow each other");
  return std::make_unique<BandRule>(read_head(Fields(f.at("column"), f.place())), std::move(of), std::move(bands));
}

}  // namespace tessera
