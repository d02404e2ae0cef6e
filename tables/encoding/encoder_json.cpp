// The encoder in a model file. Files are not trusted: everything read is checked.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/json_fields.h"
#include "tables/encoding/encoder_state.h"
#include "tables/kinds/arrow_type.h"
#include "tables/kinds/kind.h"

namespace tessera {
namespace {

constexpr int kFormat = 1;

nlohmann::json write(const ConstantCode& c, bool numbers) {
  nlohmann::json out{{"coding", "constant"}, {"value", nullptr}};
  if (c.missing) return out;
  if (numbers) out["value"] = c.number;
  else out["value"] = c.text;
  return out;
}

nlohmann::json write(const LevelCode& l, bool numbers) {
  nlohmann::json out{{"coding", "levels"}, {"missing", l.missing}};
  if (numbers) {
    out["levels"] = l.numbers;
    return out;
  }
  out["levels"] = l.texts;
  if (!l.rare.empty()) out["rare"] = l.rare, out["rare_rows"] = l.rare_rows;
  return out;
}

nlohmann::json write(const NumberCode& n, bool) {
  return {{"coding", "modes"},   {"means", n.mean},       {"deviations", n.stddev}, {"offsets", n.offset},
          {"spikes", n.spikes},  {"missing", n.missing},  {"low", n.low},           {"high", n.high},
          {"round", n.decimals}, {"exponent", n.exponent}};
}

nlohmann::json write(const RangeCode& r, bool) {
  nlohmann::json out{{"coding", "range"}, {"low", r.low},         {"high", r.high},     {"fill", r.fill},
                     {"grid", r.grid},    {"missing", r.missing}, {"round", r.decimals}};
  if (r.has_atom) out["atom"] = r.atom;
  return out;
}

nlohmann::json write(const BinCode& b, bool) {
  const std::vector<uint64_t> ends(b.ends().begin(), b.ends().end());
  return {{"coding", "bins"}, {"points", b.body().points()}, {"shares", b.body().shares()}, {"exact", b.body().exact()},
          {"ends", ends},     {"spikes", b.spikes},          {"missing", b.missing},        {"round", b.decimals},
          {"step", b.step}};
}

nlohmann::json write(const IdentifierCode& id, bool) {
  nlohmann::json out{{"coding", "identifier"},
                     {"pattern", id.pattern.to_json()},
                     {"missing_share", id.missing_share},
                     {"description", id.pattern.describe()}};
  if (id.counts_rows) out["counts_rows"] = true;
  if (!id.repeats) return out;
  out["repeats"] = id.repeats->to_json();
  out["description"] = fmt::format("{}, {:.3g} rows per value", id.pattern.describe(), id.repeats->mean());
  return out;
}

ConstantCode read_constant(const Fields& f, bool numbers) {
  ConstantCode c;
  if (f.at("value").is_null()) {
    c.missing = true;
  } else if (numbers) {
    c.number = f.number("value");
  } else {
    c.text = f.text("value");
  }
  return c;
}

void check_ascending(const Fields& f, const std::vector<double>& v, const char* what) {
  f.check(std::adjacent_find(v.begin(), v.end(), [](double a, double b) { return !(a < b); }) == v.end(),
          std::string("has ") + what + " that are not ascending");
}

LevelCode read_levels(const Fields& f, bool numbers) {
  LevelCode l;
  l.missing = f.flag("missing");
  if (numbers) {
    l.numbers = f.numbers("levels");
    check_ascending(f, l.numbers, "levels");
  } else {
    l.texts = f.texts("levels");
    if (f.has("rare")) {
      l.rare = f.texts("rare");
      l.rare_rows = f.naturals("rare_rows");
      f.check(!l.rare.empty() && l.rare_rows.size() == l.rare.size() && l.rare_rows[0] > 0,
              "has rare texts and counts that do not match");
      f.check(std::is_sorted(l.rare_rows.begin(), l.rare_rows.end(), std::less_equal<>()),
              "has counts of rare texts that are not ascending");
    }
    std::vector<std::string> sorted = l.texts;
    sorted.insert(sorted.end(), l.rare.begin(), l.rare.end());
    std::sort(sorted.begin(), sorted.end());
    f.check(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "has a level twice");
  }
  f.check(l.levels() > 0, "has no levels");
  return l;
}

NumberCode read_numbers(const Fields& f) {
  NumberCode n;
  n.mean = f.numbers("means"), n.stddev = f.numbers("deviations"), n.offset = f.numbers("offsets"),
  n.spikes = f.numbers("spikes");
  n.missing = f.flag("missing");
  n.low = f.number("low"), n.high = f.number("high");
  n.decimals = static_cast<int>(f.integer("round", -1, 15));
  n.exponent = static_cast<int>(f.integer("exponent", -1100, 1100));
  f.check(!n.mean.empty() && n.mean.size() <= kMaxComponents && n.stddev.size() == n.mean.size() &&
              n.offset.size() == n.mean.size(),
          "has inconsistent modes");
  f.check(std::all_of(n.stddev.begin(), n.stddev.end(), [](double d) { return d > 0; }), "has a mode without width");
  check_ascending(f, n.spikes, "spikes");
  f.check(n.low <= n.high, "has an invalid range");
  return n;
}

RangeCode read_range(const Fields& f) {
  RangeCode r;
  r.low = f.number("low"), r.high = f.number("high"), r.fill = f.number("fill"), r.grid = f.numbers("grid");
  r.missing = f.flag("missing"), r.has_atom = f.has("atom");
  if (r.has_atom) r.atom = f.number("atom");
  f.check(!r.has_atom || (r.low <= r.atom && r.atom <= r.high), "has an atom outside its range");
  r.decimals = static_cast<int>(f.integer("round", -1, 15));
  f.check(r.low < r.high && r.low <= r.fill && r.fill <= r.high, "has an invalid range");
  check_ascending(f, r.grid, "values");
  f.check(
      r.grid.size() <= RangeCode::kMaxGrid && (r.grid.empty() || (r.grid.front() == r.low && r.grid.back() == r.high)),
      "has values outside its range");
  return r;
}

BinCode read_bins(const Fields& f) {
  BinCode b;
  b.spikes = f.numbers("spikes"), b.missing = f.flag("missing"), b.step = f.number("step");
  b.decimals = static_cast<int>(f.integer("round", -1, 15));
  check_ascending(f, b.spikes, "spikes");
  f.check(b.step >= 1, "has a step below 1");
  std::vector<int> ends;
  for (const uint64_t end : f.naturals("ends")) ends.push_back(static_cast<int>(std::min<uint64_t>(end, INT32_MAX)));
  Quantiles body = Quantiles::from(f.numbers("points"), f.numbers("shares"), f.flag("exact"));
  f.check(b.restore(std::move(body), std::move(ends)), "has bins that do not match its quantiles");
  return b;
}

IdentifierCode read_identifier(const Fields& f) {
  IdentifierCode id{Identifier::from_json(f.at("pattern")), f.number("missing_share")};
  id.counts_rows = f.has("counts_rows") && f.flag("counts_rows");
  if (f.has("repeats")) id.repeats = Repeats::from_json(f.at("repeats"));
  f.check(id.missing_share >= 0 && id.missing_share <= 1, "has a share of missing values outside 0 … 1");
  return id;
}

ColumnCode read_column(const Fields& f) {
  ColumnCode c;
  c.name = f.text("name"), c.reason = f.text("reason"), c.format = f.text("format");
  f.check(parse_column_type(f.text("type"), c.type), "has an unknown type");
  c.decimals = static_cast<int>(f.integer("decimals", 0, 15));
  if (f.has("arrow")) {
    c.arrow = f.text("arrow");
    const auto arrow = ArrowType::parse(c.arrow);
    f.check(arrow && fits_arrow(c.type, *arrow), "has an Arrow format that does not fit its type");
  }
  const std::string coding = f.text("coding");
  const bool numbers = kind_of(c.type).ordered;
  if (coding == "constant") c.code = read_constant(f, numbers);
  else if (coding == "levels") c.code = read_levels(f, numbers);
  else if (coding == "modes" && numbers) c.code = read_numbers(f);
  else if (coding == "range" && numbers) c.code = read_range(f);
  else if (coding == "bins" && numbers) c.code = read_bins(f);
  else if (coding == "identifier" && kind_of(c.type).regenerated) c.code = read_identifier(f);
  else f.fail("is coded as \"" + coding + "\", which does not fit its type");
  return c;
}

}  // namespace

nlohmann::json Encoder::to_json() const {
  nlohmann::json columns = nlohmann::json::array();
  for (const ColumnCode& c : state_->columns) {
    nlohmann::json out = std::visit([&](const auto& code) { return write(code, kind_of(c.type).ordered); }, c.code);
    out["name"] = c.name, out["type"] = name(c.type), out["reason"] = c.reason, out["format"] = c.format,
    out["decimals"] = c.decimals;
    if (!c.arrow.empty()) out["arrow"] = c.arrow;
    columns.push_back(std::move(out));
  }
  return {{"format", kFormat}, {"seed", state_->seed}, {"columns", std::move(columns)}};
}

Encoder Encoder::from_json(const nlohmann::json& json) {
  const Fields f(json, "the encoder");
  if (const int64_t format = f.integer("format", 0, INT64_MAX); format != kFormat)
    f.fail("is of format " + std::to_string(format) + ", and this version reads format " + std::to_string(kFormat));
  Encoder out;
  out.state_->seed = f.natural("seed");
  int64_t number = 0, width = 0;
  for (const auto& column : f.array("columns")) {
    const Fields c(column, "column " + std::to_string(++number) + " of the encoder");
    out.state_->columns.push_back(read_column(c));
    const auto& code = out.state_->columns.back().code;
    if (const auto* n = std::get_if<NumberCode>(&code)) width += 1 + n->width();
    if (const auto* r = std::get_if<RangeCode>(&code)) width += 1 + r->width();
    if (const auto* l = std::get_if<LevelCode>(&code)) width += l->width();
    if (const auto* b = std::get_if<BinCode>(&code)) width += b->width();
    c.check(width < INT32_MAX, "makes the rows too wide");
  }
  f.check(number > 0, "has no columns");
  out.state_->lay_out();
  return out;
}

}  // namespace tessera
