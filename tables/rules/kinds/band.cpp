#include "tables/rules/kinds/band.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tables/expression/arithmetic.h"
#include "tables/formats/moments.h"
#include "tables/kinds/kind.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

constexpr size_t kMaxSaid = 6;  // cuts in a text

std::string cut_text(const Column& of, BandPart part, double cut) {
  std::string out;
  if (part != nullptr && part->name == std::string_view("time")) write_datetime(cut, "%H:%M", 0, out);
  else if (part != nullptr) out = fmt::format("{}", cut);
  else if (has_time(of)) write_datetime(cut, "%Y-%m-%d %H:%M", 0, out);
  else if (is_instant(of)) write_date(cut, "%Y-%m-%d", out);
  else out = fmt::format("{}", cut);
  return out;
}

}  // namespace

double part_of(BandPart part, const Column& column, double x) {
  return part == nullptr ? x : part->value(column, x, 1);
}

double compared(const Column& a, double x, const Column& b, double y, Compares by) {
  constexpr int kDigits = 9;  // 0.3 - 0.1 is 0.2
  if (by == Compares::size) x = std::abs(x);
  return rounded(by == Compares::ratio ? x / y : x / kind_of(a).unit - y / kind_of(b).unit, kDigits);
}

size_t Bands::of(double x) const {
  const auto end =
      with_cut ? std::lower_bound(cuts.begin(), cuts.end(), x) : std::upper_bound(cuts.begin(), cuts.end(), x);
  return static_cast<size_t>(end - cuts.begin());
}

namespace {

class BandRule : public GivesColumn<BandData> {
 public:
  explicit BandRule(BandData data) : GivesColumn(std::move(data)) {
    CellReader values(data_.target);
    for (const std::string& text : data_.bands.values) values.add(text);
    values_ = values.take();
  }

  std::string text() const override {
    const Bands& b = data_.bands;
    std::string cuts;
    std::string of = quoted_name(data_.source.name);
    const Beside& beside = data_.beside;
    const bool alone = beside.column.empty();
    for (const double cut : b.cuts)
      cuts += (cuts.empty() ? "" : ", ") + (alone ? cut_text(data_.source, b.part, cut) : fmt::format("{}", cut));
    if (beside.by == Compares::size) of = '|' + of + '|';
    if (!alone) of += (beside.by == Compares::ratio ? " / " : " - ") + quoted_name(beside.column);
    return fmt::format("{} follows from {}, {}", quoted_name(data_.target.name),
                       b.part == nullptr ? of : fmt::format(fmt::runtime(b.part->words), of),
                       b.cuts.size() > kMaxSaid ? fmt::format("in {} bands", b.values.size())
                                                : (b.with_cut ? "cut after " : "cut at ") + cuts);
  }
  std::vector<std::string> columns(const Table&) const override {
    std::vector<std::string> out{data_.target.name, data_.source.name};
    if (!data_.beside.column.empty()) out.push_back(data_.beside.column);
    return out;
  }

 private:
  Column values(const Table& rows, bool) const override {
    const Column& source = numbers_of(rows, data_.source.name);
    Column out = data_.target;
    out.values = values_.values;
    const Beside& beside = data_.beside;
    const Column* other = beside.column.empty() ? nullptr : &numbers_of(rows, beside.column);
    for (size_t i = 0; i < source.numbers.size(); ++i) {
      const double number = source.numbers[i];
      const double x = other == nullptr ? part_of(data_.bands.part, source, number)
                                        : compared(source, number, *other, other->numbers[i], beside.by);
      if (x == x) out.push_from(values_, data_.bands.of(x));
      else out.push_missing();
    }
    return out;
  }

  Column values_;  // a row of each band
};

}  // namespace

RulePtr make_rule(BandData data) { return std::make_shared<BandRule>(std::move(data)); }

void write_field(nlohmann::json& out, const char*, const Bands& bands) {
  write_field(out, "part", bands.part);
  out["cuts"] = bands.cuts, out["with_cut"] = bands.with_cut, out["values"] = bands.values;
}

void read_field(const Fields& f, const char*, Bands& bands) {
  read_field(f, "part", bands.part);
  bands.cuts = f.numbers("cuts"), bands.with_cut = f.flag("with_cut"), bands.values = f.texts("values");
}

void write_field(nlohmann::json& out, const char*, const Beside& beside) {
  if (beside.column.empty()) return;
  out["beside"] = beside.column;
  if (beside.by == Compares::ratio) out["divides"] = true;
  if (beside.by == Compares::size) out["size"] = true;
}

void read_field(const Fields& f, const char*, Beside& beside) {
  if (f.has("beside")) beside.column = f.text("beside");
  if (f.has("divides") && f.flag("divides")) beside.by = Compares::ratio;
  if (f.has("size") && f.flag("size")) beside.by = Compares::size;
}

void BandData::check(const Fields& f) const {
  f.check(
      bands.part == nullptr || (bands.part->by_band && (when_parts(source) & bands.part->needs) == bands.part->needs),
      "has a rule of bands of a part that its column lacks");
  f.check(!beside.column.empty() || beside.by == Compares::difference, "has a rule of bands of one column beside none");
  f.check(bands.part == nullptr || beside.column.empty(), "has a rule of bands of a part of two columns");
  f.check(is_ordered(source) && !bands.cuts.empty() && bands.values.size() == bands.cuts.size() + 1 &&
              std::is_sorted(bands.cuts.begin(), bands.cuts.end()),
          "has a rule of bands that do not follow each other");
}

}  // namespace tessera
