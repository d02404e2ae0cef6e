// The model file: safetensors with the weights that sampling uses under the names and layouts of
// docs/engine/file-format.md, and one JSON document in the metadata.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/storage/files.h"
#include "engine/storage/safetensors.h"
#include "engine/text/json_fields.h"
#include "engine/text/json_guard.h"
#include "models/model_state.h"
#include "models/registry.h"

namespace tessera {
namespace {

// A model without rules is of format 1: an older version reads it. With rules its columns are not those of the table.
constexpr int kFormat = 1, kFormatOfRules = 2;

// Tessera writes no document of more than 8 levels. The bound keeps foreign documents from exhausting the stack of the
// parser.
nlohmann::json parse_document(const std::string& text) {
  try {
    return parse_json(text, 16, "its document");
  } catch (const Error& e) {
    throw Error(ErrorCode::format, std::string(e.what()) +
                                       " The file is damaged or foreign; fit the model again, or take an intact copy.");
  }
}

}  // namespace

void check_room_in_file(const nlohmann::json& encoder) {
  constexpr size_t kRest = 10'000'000;  // for the tensors' places, settings, calibration
  // a text within a text
  const auto in_file = [](const nlohmann::json& json) { return nlohmann::json(json.dump()).dump().size(); };
  if (in_file(encoder) <= kMostHeaderBytes - kRest) return;
  std::string column;
  size_t most = 0;
  for (const char* columns : {"/columns", "/steps/columns", "/attributes/columns"})
    for (const nlohmann::json& c : encoder.value(nlohmann::json::json_pointer(columns), nlohmann::json::array()))
      if (const size_t bytes = in_file(c); bytes > most) most = bytes, column = c.value("name", "");
  throw Error(ErrorCode::data,
              fmt::format("The model's file has room for {} bytes of what columns hold; column \"{}\" alone needs "
                          "{}.\n  Shorten its texts, read it as --types {}=identifier, or leave it out.",
                          kMostHeaderBytes - kRest, column, most, column));
}

std::string Model::bytes() const {
  SafeTensors file;
  const FittedState& kept = state_->kept;
  const Rules& rules = state_->sequences ? state_->sequences->rules : state_->rules;
  nlohmann::json document{
      {"format", rules.empty() ? kFormat : kFormatOfRules},
      {"method", state_->config.method().name},
      {"preset", state_->preset},
      {"config", config_json(state_->config)},
      {"encoder", state_->sequences ? state_->sequences->encoder.to_json() : state_->encoder.to_json()},
      {"provenance", state_->provenance}};
  auto put = [&](const TensorSpec& s, const States& states) {
    int64_t count = 1;
    for (const int64_t n : s.shape) count *= n;
    std::vector<float> values(static_cast<size_t>(count));
    const std::vector<float>& from = states.at(s.state);
    for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = from[static_cast<size_t>(s.element(i))];
    file.tensors[s.name] = SafeTensor::of<float>(s.shape, values);
  };
  if (state_->sequences) {
    const SequenceModel& m = *state_->sequences;
    m.visit_tensors(
        [&](const TensorSpec& s, bool of_attributes) { put(s, (of_attributes ? m.attributes : m.steps).states); });
    if (m.attributes.active > 0) document["prior"] = {{"active", m.attributes.active}};
  }
  if (state_->sequences == nullptr && state_->learnt()) {
    state_->method()->visit_tensors(kept, [&](const TensorSpec& s) { put(s, kept.states); });
    if (!kept.condition_rows.empty())
      file.tensors["conditions.rows"] =
          SafeTensor::of<int64_t>({static_cast<int64_t>(kept.condition_rows.size())}, kept.condition_rows);
    if (kept.active > 0) document["prior"] = {{"active", kept.active}};
  }
  if (!rules.empty()) document["rules"] = rules.to_json();
  if (state_->sequences == nullptr) state_->calibration.write(document, file);
  // How long training took is for the reader of the terminal; in the file it would make equal models differ.
  document["provenance"].erase("train_seconds");
  file.metadata["tessera"] = document.dump();
  return format_safetensors(file);
}

void Model::save(const std::string& path, bool overwrite) const { write_file(path, bytes(), overwrite); }

namespace {

// Where element i of a row-major tensor is: "[3, 17]".
std::string place(const std::vector<int64_t>& shape, size_t i) {
  std::string at;
  for (size_t d = shape.size(); d-- > 0; i /= static_cast<size_t>(shape[d]))
    at = std::to_string(i % static_cast<size_t>(shape[d])) + (at.empty() ? "" : ", ") + at;
  return "[" + at + "]";
}

// A file's tensors, checked against what its document says of them.
struct Tensors {
  const SafeTensors& file;
  const SafeTensor& get(const std::string& name, const std::vector<int64_t>& shape) const {
    const SafeTensor& t = file.at(name);
    if (t.shape != shape)
      throw Error(ErrorCode::format, fmt::format("tensor {} has another shape than its document says.", name));
    return t;
  }
  void read(const TensorSpec& s, States& states) const {
    const auto values = get(s.name, s.shape).values<float>();
    std::vector<float>& to = states[s.state];
    to.resize(static_cast<size_t>(s.state_size));
    for (size_t i = 0; i < values.size(); ++i) {
      const float x = values[i];
      if (!std::isfinite(x))
        throw Error(ErrorCode::format, fmt::format("tensor {} holds {} at {}, which is not finite. The file is damaged "
                                                   "or foreign; fit the model again, or take an intact copy.",
                                                   s.name, x, place(s.shape, i)));
      if (s.negative != nullptr && x < 0)
        throw Error(ErrorCode::format, fmt::format("tensor {} holds {}.", s.name, s.negative));
      to[static_cast<size_t>(s.element(static_cast<int64_t>(i)))] = x;
    }
  }
};

void read_sequences(Model::State& state, const SafeTensors& file, const nlohmann::json& document) {
  auto model = std::make_unique<SequenceModel>();
  const Fields f(document, "its document");
  model->config = state.config;
  model->encoder = SequenceEncoder::from_json(f.at("encoder"));
  if (document.contains("prior")) {
    const std::unique_ptr<RowMethod> rows = model->attribute_method();
    f.check(rows != nullptr, "has a prior, but no attributes of sequences");
    model->attributes.active = Fields(f.at("prior"), "its prior").integer("active", 1, rows->most_active());
  }
  const Tensors tensors{file};
  model->visit_tensors([&](const TensorSpec& s, bool) { tensors.get(s.name, s.shape); });
  model->visit_tensors([&](const TensorSpec& s, bool of_attributes) {
    tensors.read(s, (of_attributes ? model->attributes : model->steps).states);
  });
  state.sequences = std::move(model);
}

// Fills `kept` from the file's tensors. Their sizes follow from the document alone; nothing is allocated that the
// file's own tensors do not fill.
void read_tensors(Model::State& state, const SafeTensors& file, const nlohmann::json& document) {
  FittedState& kept = state.kept;
  const std::unique_ptr<RowMethod> method = state.method();
  if (document.contains("prior")) {
    const Fields f(document, "its document");
    kept.active = Fields(f.at("prior"), "its prior").integer("active", 1, method->most_active());
  }
  const Tensors tensors{file};
  method->visit_tensors(kept, [&](const TensorSpec& s) { tensors.get(s.name, s.shape); });
  method->visit_tensors(kept, [&](const TensorSpec& s) { tensors.read(s, kept.states); });
  if (const int64_t conditions = method->conditions(); conditions > 0)
    kept.condition_rows = tensors.get("conditions.rows", {conditions}).values<int64_t>();
  method->check_fitted(kept);
}

void read_rules(Model::State& state, const nlohmann::json& json) {
  Rules rules = Rules::from_json(json);
  rules.check_fits(state.sequences ? state.sequences->encoder.schema() : state.encoder.schema());
  (state.sequences ? state.sequences->rules : state.rules) = std::move(rules);
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
    state->config = read_config(**known, f.at("config"));
    state->provenance = f.at("provenance");
    f.check(state->provenance.is_object(), "\"provenance\" is not an object");
    if ((*known)->sequences()) {
      read_sequences(*state, file, document);
    } else {
      state->encoder = Encoder::from_json(f.at("encoder"));
      if (state->learnt()) read_tensors(*state, file, document);
      state->calibration = Calibration::read(document, file, state->encoder);
    }
    if (document.contains("rules")) read_rules(*state, f.at("rules"));
  } catch (const Error& e) {
    const std::string message = e.what();
    if (e.code() != ErrorCode::format || message.find(path) != std::string::npos) throw;
    throw fail(message);
  } catch (const nlohmann::json::exception&) {
    throw fail(
        "its document is not what this version writes. The file is damaged or foreign; fit the model again, or take an "
        "intact copy.");
  }
  Model model;
  model.state_ = std::move(state);
  return model;
}

Table Model::schema() const {
  Table schema = state_->sequences ? state_->sequences->schema() : state_->schema();
  if (const auto& p = state_->provenance; p.contains("csv")) schema.dialect = p["csv"].dump();
  return schema;
}

namespace {

void describe_sequences(const SequenceModel& model, nlohmann::json& out) {
  nlohmann::json encoder = model.encoder.to_json();
  encoder["columns"] = nlohmann::json::array();  // those of the steps, then those of the attributes
  for (const char* part : {"steps", "attributes"})
    for (const auto& column : encoder[part]["columns"]) encoder["columns"].push_back(column);
  out["of"] = "sequences";
  out["data_width"] = model.encoder.step_width();
  out["condition_width"] = model.encoder.attribute_width();
  out["encoder"] = std::move(encoder);
}

void describe_rows(const RowModel& model, nlohmann::json& out) {
  out["of"] = "rows";
  out["data_width"] = model.encoder.layout().data_width;
  out["condition_width"] = model.method()->conditions();
  out["encoder"] = model.encoder.to_json();
  if (model.calibration.empty()) return;
  out["calibration"] = model.calibration.describe();
  // what of the real rows it holds, column by column
  nlohmann::json& held = out["calibration"]["numbers"] = nlohmann::json::array();
  const Table schema = model.encoder.schema();
  for (const ColumnProfile& p : model.calibration.profile.columns)
    if (p.numeric)
      held.push_back({{"column", schema.columns[static_cast<size_t>(p.column)].name},
                      {"points", p.real.points().size()},
                      {"every_value", p.real.exact()}});
}

// The networks that sampling uses, and how many weights they have; the losses of their training.
void describe_method(const Method& method, bool learnt, nlohmann::json& out) {
  out["networks"] = method.networks();
  out["parameters"] = learnt ? method.parameters() : 0;
  out[method.networks().front() + "_parameters"] = out["parameters"];
  for (const LossSpec& loss : method.spec().losses) out["losses"].push_back({{"name", loss.name}, {"help", loss.help}});
}

}  // namespace

nlohmann::json Model::describe() const {
  nlohmann::json out{{"method", state_->config.method().name},
                     {"preset", state_->preset},
                     {"config", config_json(state_->config)},
                     {"provenance", state_->provenance}};
  const Rules& rules = state_->sequences ? state_->sequences->rules : state_->rules;
  if (!rules.empty()) out["rules"] = rules.describe(), out["columns"] = schema().columns.size();
  if (state_->sequences) {
    describe_sequences(*state_->sequences, out);
    describe_method(*state_->sequences->method(), true, out);
  } else {
    describe_rows(*state_, out);
    describe_method(*state_->method(), state_->learnt(), out);
  }
  return out;
}

}  // namespace tessera
