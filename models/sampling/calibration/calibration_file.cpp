// A calibration in the model file: small fields in the document under "calibration", arrays as tensors "calibration.…"
// (docs/engine/file-format.md).
#include <fmt/format.h>

#include <cmath>

#include "base/storage/safetensors.h"
#include "base/text/json_fields.h"
#include "models/sampling/calibration/calibration.h"
#include "tables/kinds/kind.h"

namespace tessera {
namespace {

constexpr const char* kQuantileSets[] = {"real", "free", "model"};

void write_doubles(SafeTensors& file, const std::string& key, const std::vector<double>& values) {
  if (!values.empty())
    file.tensors["calibration." + key] = SafeTensor::of<double>({static_cast<int64_t>(values.size())}, values);
}

struct Reader {
  const SafeTensors& file;

  template <class T>
  std::vector<T> values(const std::string& key) const {
    const auto found = file.tensors.find("calibration." + key);
    return found == file.tensors.end() ? std::vector<T>{} : found->second.values<T>();
  }
  std::vector<double> doubles(const std::string& key) const {
    std::vector<double> out = values<double>(key);
    for (const double x : out)
      if (!std::isfinite(x))
        throw Error(ErrorCode::format, "tensor calibration." + key + " holds a value that is not finite.");
    return out;
  }
};

[[noreturn]] void misfit(const std::string& what) {
  throw Error(ErrorCode::format, "its calibration " + what + ". Fit the model again, or use an intact copy.");
}

nlohmann::json rule_json(const AcceptanceRule& k, const char* tier, SafeTensors& file) {
  for (size_t j = 0; j < k.factor.size(); ++j) write_doubles(file, fmt::format("{}.factor.{}", tier, j), k.factor[j]);
  write_doubles(file, fmt::format("{}.log_weights", tier), k.log_weights);
  return {{"temperature", k.temperature}};
}

AcceptanceRule read_rule(const Fields& f, const char* tier, const Profile& profile, const Reader& in) {
  AcceptanceRule k;
  k.temperature = f.number("temperature");
  if (k.temperature < 0 || k.temperature > 10) misfit("has a temperature outside 0 … 10");
  for (size_t j = 0; j < profile.columns.size(); ++j) {
    k.factor.push_back(in.doubles(fmt::format("{}.factor.{}", tier, j)));
    if (static_cast<int>(k.factor[j].size()) != profile.columns[j].cells())
      misfit(fmt::format("has {} factors for the {} cells of column {}", k.factor[j].size(), profile.columns[j].cells(),
                         j));
  }
  k.log_weights = in.doubles(fmt::format("{}.log_weights", tier));
  if (k.log_weights.empty() || k.log_weights.size() > 100000) misfit("has no distribution of weights");
  return k;
}

bool ascend(const std::vector<double>& v) {
  for (size_t i = 1; i < v.size(); ++i)
    if (!(v[i - 1] < v[i])) return false;
  return true;
}

}  // namespace

void Calibration::write(nlohmann::json& document, SafeTensors& file) const {
  if (empty()) return;
  nlohmann::json columns = nlohmann::json::array();
  for (size_t j = 0; j < profile.columns.size(); ++j) {
    const ColumnProfile& p = profile.columns[j];
    nlohmann::json exact = nlohmann::json::array();
    const Quantiles* sets[] = {&p.real, &p.free, &model[j]};
    for (size_t s = 0; s < 3; ++s) {
      write_doubles(file, fmt::format("{}.{}.points", kQuantileSets[s], j), sets[s]->points());
      write_doubles(file, fmt::format("{}.{}.shares", kQuantileSets[s], j), sets[s]->shares());
      exact.push_back(sets[s]->exact());
    }
    write_doubles(file, fmt::format("share.{}", j), p.share);
    write_doubles(file, fmt::format("heaped.{}", j), p.heaped);
    write_doubles(file, fmt::format("fixed.{}", j), p.fixed);
    if (!p.cell_of_level.empty())
      file.tensors[fmt::format("calibration.cell_of_level.{}", j)] =
          SafeTensor::of<int32_t>({static_cast<int64_t>(p.cell_of_level.size())}, p.cell_of_level);
    columns.push_back({{"column", p.column}, {"numeric", p.numeric}, {"rounding", rounding[j]}, {"exact", exact}});
  }
  nlohmann::json c = describe();
  c["columns"] = std::move(columns);
  if (!marginals.empty()) c["marginals"] = rule_json(marginals, "marginals", file);
  if (!full.empty()) {
    c["full"] = rule_json(full, "full", file);
    c["ratio"] = {{"hidden", ratio.config().hidden}, {"slope", ratio.config().slope}};
    file.tensors["calibration.ratio"] =
        SafeTensor::of<float>({static_cast<int64_t>(ratio.weights.size())}, ratio.weights);
  }
  document["calibration"] = std::move(c);
}

namespace {

void read_quantiles(const Fields& column, const Reader& in, size_t j, Calibration& c, ColumnProfile& p) {
  const auto& exact = column.array("exact");
  if (exact.size() != 3) misfit("is damaged");
  Quantiles sets[3];
  for (size_t s = 0; s < 3; ++s) {
    if (!exact[s].is_boolean()) misfit("is damaged");
    sets[s] = Quantiles::from(in.doubles(fmt::format("{}.{}.points", kQuantileSets[s], j)),
                              in.doubles(fmt::format("{}.{}.shares", kQuantileSets[s], j)), exact[s].get<bool>());
  }
  p.real = std::move(sets[0]);
  p.free = std::move(sets[1]);
  c.model.push_back(std::move(sets[2]));
}

void read_cells(const Reader& in, size_t j, const std::string& name, ColumnProfile& p) {
  p.share = in.doubles(fmt::format("share.{}", j));
  p.heaped = in.doubles(fmt::format("heaped.{}", j));
  p.fixed = in.doubles(fmt::format("fixed.{}", j));
  p.cell_of_level = in.values<int32_t>(fmt::format("cell_of_level.{}", j));
  if (!ascend(p.heaped) || !ascend(p.fixed)) misfit("has repeated numbers that are not ascending");
  p.other = static_cast<int32_t>(p.share.size()) - 2;
  const size_t least = p.numeric ? p.heaped.size() + ColumnProfile::kBins + 1 : 2;
  if (p.share.size() < least || (p.numeric && p.share.size() != least))
    misfit("has a different number of cells in column " + name);
  for (const int32_t cell : p.cell_of_level)
    if (cell < 0 || cell > p.other) misfit("has a category outside the cells of column " + name);
}

void read_column(const Fields& column, const Reader& in, const Encoder& encoder, const Table& schema, Calibration& c) {
  const size_t j = c.profile.columns.size();
  ColumnProfile p;
  p.column = static_cast<int>(column.integer("column", j == 0 ? 0 : c.profile.columns.back().column + 1,
                                             static_cast<int64_t>(schema.columns.size()) - 1));
  const Column& own = schema.columns[static_cast<size_t>(p.column)];
  p.numeric = column.flag("numeric");
  if (p.numeric != is_ordered(own) || !kind_of(own).varies || kind_of(own).regenerated)
    misfit("has another kind of column " + own.name);
  const Encoder::Codes codes = encoder.codes(p.column);  // every code must represent a number or a text
  const bool known = !p.numeric             ? !codes.levels.empty()
                     : codes.levels.empty() ? !codes.mean.empty() || !codes.values.empty()
                                            : codes.values.size() == codes.levels.size();
  if (codes.code < 0 || !known) misfit("is of another code of column " + own.name);
  c.rounding.push_back(static_cast<int>(column.integer("rounding", -1, 15)));
  read_quantiles(column, in, j, c, p);
  read_cells(in, j, own.name, p);
  if (!c.model.back().empty() && (p.free.empty() || !encoder.decimals(p.column)))
    misfit("maps column " + own.name + " to nothing");
  c.profile.columns.push_back(std::move(p));
}

void read_ratio(const Fields& r, const Reader& in, Calibration& c) {
  RatioConfig config;
  config.hidden.clear();
  for (const auto& h : r.array("hidden")) {
    if (!h.is_number_integer() || h < 1 || h > 4096) misfit("has a layer that is not 1 … 4096 wide");
    config.hidden.push_back(h.get<int>());
  }
  if (config.hidden.empty() || config.hidden.size() > 16) misfit("has no layer or more than 16");
  config.slope = r.number("slope");
  c.ratio = Ratio(c.profile.spans(), config);
  c.ratio.weights = in.values<float>("ratio");
  if (static_cast<int64_t>(c.ratio.weights.size()) != c.ratio.parameters().size)
    misfit("has another number of weights than its layers need");
  for (const float w : c.ratio.weights)
    if (!std::isfinite(w)) misfit("has a weight that is not finite");
}

TierTrial read_trial(const Fields& t) {
  TierTrial trial;
  if (!parse_tier(t.text("tier"), trial.tier)) misfit("names an unknown tier");
  trial.temperature = t.number("temperature");
  trial.yield = t.number("yield");
  trial.shape_error = t.number("shape_error");
  trial.trend_error = t.number("trend_error");
  trial.c2st = t.number("c2st");
  return trial;
}

}  // namespace

Calibration Calibration::read(const nlohmann::json& document, const SafeTensors& file, const Encoder& encoder) {
  Calibration c;
  if (!document.contains("calibration")) return c;
  const Fields f(document["calibration"], "its calibration");
  const Reader in{file};
  const Table schema = encoder.schema();
  for (const auto& json : f.array("columns")) read_column(Fields(json, "a calibrated column"), in, encoder, schema, c);
  if (f.has("marginals"))
    c.marginals = read_rule(Fields(f.at("marginals"), "its calibration by marginals"), "marginals", c.profile, in);
  if (f.has("full")) {
    c.full = read_rule(Fields(f.at("full"), "its full calibration"), "full", c.profile, in);
    read_ratio(Fields(f.at("ratio"), "its density ratio"), in, c);
    c.held_out_loss = f.number("held_out_loss");
  }
  if (!parse_tier(f.text("tier"), c.chosen) || !c.holds(c.chosen)) misfit("names a tier it does not hold");
  if (f.has("note")) c.note = f.text("note");
  for (const auto& json : f.array("trials")) c.trials.push_back(read_trial(Fields(json, "a trial of its calibration")));
  return c;
}

}  // namespace tessera
