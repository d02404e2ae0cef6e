#include "models/training/run_identity.h"

#include <fmt/format.h>

#include "base/storage/fingerprint.h"
#include "base/text/json_fields.h"
#include "engine/device/device.h"
#include "engine/run/precision.h"

namespace tessera {
namespace {

std::string fingerprint_of(const Column& c) {
  Fingerprint f;
  f.add(c.name);
  f.add(static_cast<int64_t>(c.type));
  f.add(c.numbers);
  f.add(c.codes);
  for (const std::string& v : c.values) f.add(v);
  f.add(static_cast<int64_t>(c.decimals));
  f.add(c.format);
  if (c.least_rows != 0) f.add(c.least_rows);
  return f.text();
}

nlohmann::json options_of(const FitOptions& o) {
  nlohmann::json json{{"method", o.method},
                      {"preset", o.preset},
                      {"seed", o.seed},
                      {"calibrate", name(o.calibrate)},
                      {"rare_categories", o.rare_rows},
                      {"passes_off", o.passes_off},
                      {"device", o.device && !o.device->is_processor() ? "cuda" : "cpu"},
                      {"patience", o.patience},
                      {"keep", o.keep_best ? "best" : "last"},
                      {"modes of a number", o.encoder.max_modes},
                      {"share of a spike", o.encoder.spike_share},
                      {"levels of an integer", o.encoder.integer_levels},
                      {"levels of a category", o.encoder.max_categories}};
  // a run of a version without rules had none
  if (o.rules.any()) json.update({{"rules", o.rules.find ? "find" : "off"}, {"rule", o.rules.given}});
  // the encoding of numbers is omitted if it is the method's default, for the same reason
  if (!o.config.method().bins && o.encoder.numbers == EncoderOptions::Numbers::bins) json["numbers"] = "bins";
  // fp32 is omitted: runs of earlier versions had no other precision
  const Precision precision = choose_precision(o.precision, o.device ? *o.device : Device::processor()).precision;
  if (precision != Precision::fp32) json["precision"] = name_of(precision);
  json.update(config_json(o.config));
  if (o.ranks.shards > 0) json["virtual_shards"] = o.ranks.shards;
  if (o.ranks.by_columns()) json["parallel"] = "model";
  else if (o.ranks.parallel == Parallel::automatic) json["parallel"] = "auto";
  if (o.micro_batch > 0) json["micro_batch"] = o.micro_batch;
  if (o.of_sequences())
    json.update({{"sequence_length", o.sequences.length},
                 {"stride", o.sequences.stride},
                 {"sequence_key", o.sequences.key},
                 {"sequence_index", o.sequences.index.empty() && !o.sequences.find_index ? "none" : o.sequences.index},
                 {"static", o.sequences.find_statics ? std::vector<std::string>{"found"} : o.sequences.statics}});
  return json;
}

std::string spoken(const nlohmann::json& value) {
  if (value.is_null()) return "not there";
  if (value.is_string() && value != "") return value.get<std::string>();
  if (value == "") return "not given";
  if (!value.is_array()) return value.dump();
  std::string out;
  for (const auto& v : value) out += (out.empty() ? "" : ",") + spoken(v);
  return out.empty() ? "none" : out;
}

// The first difference between the tables.
std::string table_difference(const RunIdentity& was, const RunIdentity& now) {
  if (was.rows != now.rows) return fmt::format("it had {} rows, now there are {}", was.rows, now.rows);
  if (!was.columns.is_array() || !now.columns.is_array()) return "its columns or values differ";
  const auto by_name = [](const nlohmann::json& columns, const std::string& name) {
    for (const auto& c : columns)
      if (c["name"] == name) return c;
    return nlohmann::json();
  };
  for (const auto& c : was.columns)
    if (by_name(now.columns, c["name"].get<std::string>()).is_null())
      return fmt::format("column \"{}\" is missing now", c["name"].get<std::string>());
  for (const auto& c : now.columns) {
    const std::string column = c["name"].get<std::string>();
    const nlohmann::json old = by_name(was.columns, column);
    if (old.is_null()) return fmt::format("column \"{}\" is new", column);
    if (old["type"] != c["type"])
      return fmt::format("column \"{}\" was {}, now it is {}", column, spoken(old["type"]), spoken(c["type"]));
    if (old != c) return fmt::format("column \"{}\" has other values", column);
  }
  return "its columns are in another order";
}

}  // namespace

RunIdentity identify(const Table& table, const FitOptions& options, Team& team) {
  RunIdentity id;
  id.rows = table.rows;
  id.options = options_of(options);
  std::vector<std::string> prints(table.columns.size());
  team.for_each(static_cast<int64_t>(prints.size()), [&](int64_t j) {
    prints[static_cast<size_t>(j)] = fingerprint_of(table.columns[static_cast<size_t>(j)]);
  });
  id.columns = nlohmann::json::array();
  Fingerprint whole;
  whole.add(table.rows);
  for (size_t j = 0; j < prints.size(); ++j) {
    whole.add(prints[j]);
    id.columns.push_back(
        {{"name", table.columns[j].name}, {"type", name(table.columns[j].type)}, {"fingerprint", prints[j]}});
  }
  id.table = whole.text();
  return id;
}

std::string RunIdentity::other_options(const RunIdentity& was) const {
  std::string differences;
  const auto see = [&](const std::string& option, const nlohmann::json& before, const nlohmann::json& after) {
    if (before != after)
      differences += fmt::format("{}{} was {}, now {}", differences.empty() ? "" : "; ",
                                 option.find(' ') == std::string::npos ? "`" + option + "`" : option, spoken(before),
                                 spoken(after));
  };
  for (const auto& [option, value] : options.items()) see(option, was.options.value(option, nlohmann::json()), value);
  for (const auto& [option, value] : was.options.items())
    if (!options.contains(option)) see(option, value, nlohmann::json());
  return differences;
}

std::string RunIdentity::other_table(const RunIdentity& was) const {
  return was.table == table ? "" : table_difference(was, *this);
}

void RunIdentity::check_same(const RunIdentity& was, const std::string& place, const std::string& way_out) const {
  if (const std::string difference = other_table(was); !difference.empty())
    throw Error(ErrorCode::data,
                fmt::format("{}: this was trained on another table: {}.\n  {}", place, difference, way_out));
  if (const std::string differences = other_options(was); !differences.empty())
    throw Error(ErrorCode::usage,
                fmt::format("{}: this was trained with other options: {}.\n  {}", place, differences, way_out));
}

nlohmann::json RunIdentity::summary() const { return {{"table", table}, {"rows", rows}, {"options", options}}; }

nlohmann::json RunIdentity::to_json() const {
  nlohmann::json json = summary();
  json["columns"] = columns;
  return json;
}

RunIdentity RunIdentity::from_json(const nlohmann::json& json) {
  const Fields f(json, "the run it is of");
  RunIdentity id;
  id.table = f.text("table");
  id.rows = f.integer("rows", 0, INT64_MAX);
  id.options = f.at("options");
  f.check(id.options.is_object(), "\"options\" is not an object");
  if (!f.has("columns")) return id;
  id.columns = f.array("columns");
  for (const auto& c : id.columns) {
    const Fields column(c, "a column of its table");
    column.text("name"), column.text("type"), column.text("fingerprint");
  }
  return id;
}

}  // namespace tessera
