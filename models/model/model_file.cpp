// The model file: safetensors with the weights that sampling uses under the names and layouts of
// docs/engine/file-format.md, and in the metadata one JSON document and the checksum of both. models/fitted/ writes and
// reads the learned parts.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/storage/files.h"
#include "base/storage/safetensors.h"
#include "base/text/json_fields.h"
#include "base/text/json_guard.h"
#include "base/text/option_text.h"
#include "models/model/model_state.h"
#include "models/model/provenance.h"
#include "models/model/registry.h"

namespace tessera {
namespace {

// A model without rules is of format 1: an older version reads it. With rules its columns are not those of the table.
constexpr int kFormat = 1, kFormatOfRules = 2;

constexpr const char* kNoteOfPython = "python";  // the key of what the Python package adds to a file

// Tessera writes no document of more than 8 levels. The bound prevents foreign documents from exhausting the parser's
// stack.
nlohmann::json parse_document(const std::string& text) {
  try {
    return parse_json(text, 16, "its document");
  } catch (const Error& e) {
    throw Error(ErrorCode::format,
                std::string(e.what()) + " The file is damaged or foreign; fit the model again, or use an intact copy.");
  }
}

}  // namespace

void check_header_size(const nlohmann::json& encoder) {
  constexpr size_t kRest = 10'000'000;  // for the tensors' places, settings, calibration
  // JSON stored as a string within JSON
  const auto in_file = [](const nlohmann::json& json) { return nlohmann::json(json.dump()).dump().size(); };
  if (in_file(encoder) <= kMaxHeaderBytes - kRest) return;
  std::string column;
  size_t largest = 0;
  for (const char* columns : {"/columns", "/steps/columns", "/attributes/columns"})
    for (const nlohmann::json& c : encoder.value(nlohmann::json::json_pointer(columns), nlohmann::json::array()))
      if (const size_t bytes = in_file(c); bytes > largest) largest = bytes, column = c.value("name", "");
  throw Error(ErrorCode::data,
              fmt::format("The model file can store {} bytes about columns; column \"{}\" alone needs "
                          "{}.\n  Shorten its texts, read it with {}, or omit it.",
                          kMaxHeaderBytes - kRest, column, largest, type_option(column, "identifier")));
}

std::string Model::bytes() const {
  SafeTensors file;
  const FittedModel& fitted = *state_->fitted;
  nlohmann::json document{{"format", fitted.rules.empty() ? kFormat : kFormatOfRules},
                          {"method", fitted.config.method().name},
                          {"preset", state_->preset},
                          {"config", config_json(fitted.config)},
                          {"provenance", state_->provenance}};
  fitted.write(document, file);
  if (!fitted.rules.empty()) document["rules"] = fitted.rules.to_json();
  // The training time is shown in the terminal only; in the file it would make equal models differ.
  document["provenance"].erase("train_seconds");
  std::string& text = file.metadata["tessera"] = document.dump();
  file.metadata["checksum"] = Checksum(text, file).text();
  return format_safetensors(file);
}

void Model::save(const std::string& path, bool overwrite) const { write_file(path, bytes(), overwrite); }

namespace {

// A model of the document's kind that has only its configuration.
std::shared_ptr<FittedModel> unfitted(MethodConfig config, const nlohmann::json& encoder) {
  std::shared_ptr<FittedModel> out;
  if (!config.method().rows() || (config.method().sequences() && encoder.contains("attributes")))
    out = std::make_shared<SequenceModel>();
  else out = std::make_shared<RowModel>();
  out->config = std::move(config);
  return out;
}

}  // namespace

Model Model::load(const std::string& path) { return from_bytes(read_file(path), path); }

Model Model::from_bytes(const std::string& bytes, const std::string& path) {
  const SafeTensors file = parse_safetensors(bytes, path);
  auto fail = [&](const std::string& what) -> Error {
    return Error(ErrorCode::format, fmt::format("{}: {}", path, what));
  };
  auto found = file.metadata.find("tessera");
  if (found == file.metadata.end())
    throw fail("is a safetensors file, but not a model of Tessera (its metadata has no \"tessera\").");
  const auto sum = file.metadata.find("checksum");
  if (sum != file.metadata.end() && sum->second != Checksum(found->second, file).text())
    throw fail(
        "the file is damaged: its checksum does not match its contents.\n  Use an intact copy, or fit the model "
        "again.");
  // Files of earlier versions, and those that are changed on purpose, have none; a damaged name of it is another key.
  for (const auto& [key, value] : file.metadata)
    if (sum == file.metadata.end() && key != "tessera" && key != kNoteOfPython)
      throw fail(
          "the file is damaged: its metadata has an unknown key, and no checksum.\n  Use an intact copy, or fit the "
          "model again.");
  auto state = std::make_shared<State>();
  try {
    const nlohmann::json document = parse_document(found->second);
    const Fields f(document, "its document");
    const int64_t expected = document.contains("rules") ? kFormatOfRules : kFormat;
    if (const int64_t format = f.integer("format", 1, 1 << 20); format != expected)
      throw fail(
          fmt::format("has format {}; this version reads format {}, and {} of models with rules. Use the version "
                      "of Tessera that wrote it.",
                      format, kFormat, kFormatOfRules));
    const std::string method = f.text("method");
    const auto known =
        std::find_if(methods().begin(), methods().end(), [&](const MethodSpec* m) { return method == m->name; });
    if (known == methods().end())
      throw fail(fmt::format("holds a {} model, which this version does not know. A later version of Tessera wrote it.",
                             method));
    state->preset = f.text("preset");
    state->fitted = unfitted(read_config(**known, f.at("config")), f.at("encoder"));
    state->provenance = f.at("provenance");
    check_provenance(state->provenance);
    FittedModel& fitted = *state->fitted;
    fitted.read(document, file);
    if (document.contains("rules")) {
      fitted.rules = Rules::from_json(f.at("rules"));
      fitted.rules.check_fits(fitted.encoded_schema());
    }
  } catch (const Error& e) {
    const std::string message = e.what();
    if (e.code() != ErrorCode::format || message.find(path) != std::string::npos) throw;
    throw fail(message);
  } catch (const nlohmann::json::exception&) {
    throw fail(
        "its document is invalid. The file is damaged or foreign; fit the model again, or use an "
        "intact copy.");
  }
  Model model;
  model.state_ = std::move(state);
  return model;
}

Table Model::schema() const {
  Table schema = state_->fitted->schema();
  if (const auto& p = state_->provenance; p.contains("csv")) schema.dialect = p["csv"].dump();
  return schema;
}

Table Model::sampled_schema() const {
  Table out = schema();
  for (Column& c : out.columns) c.reason = "as in the table that the model was fitted on";
  return out;
}

nlohmann::json Model::describe() const {
  const FittedModel& fitted = *state_->fitted;
  nlohmann::json out{{"method", fitted.config.method().name},
                     {"preset", state_->preset},
                     {"config", config_json(fitted.config)},
                     {"provenance", state_->provenance}};
  if (!fitted.rules.empty()) out["rules"] = fitted.rules.describe(), out["columns"] = schema().columns.size();
  fitted.describe(out);
  return out;
}

}  // namespace tessera
