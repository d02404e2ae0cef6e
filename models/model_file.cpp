// The model file: safetensors with the generator's weights under the names and layouts of docs/file-format.md, and one JSON document in the metadata.
#include <fmt/format.h>

#include "engine/json_text.h"
#include "engine/safetensors.h"
#include "models/encoding/json_fields.h"
#include "models/model_state.h"
#include "models/weights.h"

namespace tessera {
namespace {

constexpr int kFormat = 1;

nlohmann::json config_json(const CtganConfig& c) {
  return {{"epochs", c.epochs}, {"batch_size", c.batch}, {"pac", c.pac}, {"embedding_dim", c.embedding_dim}, {"generator_dim", c.generator_dim},
          {"discriminator_dim", c.discriminator_dim}, {"discriminator_steps", c.discriminator_steps}, {"learning_rate", c.learning_rate}, {"beta1", c.beta1},
          {"beta2", c.beta2}, {"adam_eps", c.adam_eps}, {"weight_decay", c.weight_decay}, {"penalty_weight", c.penalty_weight}, {"leaky_slope", c.leaky_slope},
          {"dropout", c.dropout}, {"tau", c.tau}, {"bn_eps", c.bn_eps}, {"bn_momentum", c.bn_momentum}, {"average_decay", c.average_decay},
          {"decay_from", c.decay_from}, {"population_norm", c.population_norm}};
}

CtganConfig read_config(const nlohmann::json& json) {
  const Fields f(json, "its configuration");
  constexpr int64_t kMost = 1 << 20;
  auto natural = [&](const char* key, int64_t low) { return static_cast<int>(f.integer(key, low, int64_t{1} << 30)); };
  auto widths = [&](const char* key) {
    std::vector<int> out;
    for (const auto& w : f.array(key)) {
      f.check(w.is_number_integer() && w >= 1 && w <= kMost, std::string("\"") + key + "\" has a layer that is not 1 … 1048576 wide");
      out.push_back(w.get<int>());
    }
    f.check(!out.empty() && out.size() <= 64, std::string("\"") + key + "\" has no layer or more than 64");
    return out;
  };
  CtganConfig c;
  c.epochs = natural("epochs", 0);
  c.batch = natural("batch_size", 1);
  c.pac = natural("pac", 1);
  c.embedding_dim = static_cast<int>(f.integer("embedding_dim", 1, kMost));
  c.generator_dim = widths("generator_dim");
  c.discriminator_dim = widths("discriminator_dim");
  c.discriminator_steps = natural("discriminator_steps", 1);
  for (const auto& [key, to] : {std::pair{"learning_rate", &c.learning_rate}, {"beta1", &c.beta1}, {"beta2", &c.beta2}, {"adam_eps", &c.adam_eps},
                                {"weight_decay", &c.weight_decay}, {"penalty_weight", &c.penalty_weight}, {"leaky_slope", &c.leaky_slope}, {"dropout", &c.dropout},
                                {"tau", &c.tau}, {"bn_eps", &c.bn_eps}, {"bn_momentum", &c.bn_momentum}, {"average_decay", &c.average_decay}, {"decay_from", &c.decay_from}})
    *to = f.number(key);
  f.check(c.bn_eps > 0, "\"bn_eps\" is not positive");
  c.population_norm = f.flag("population_norm");
  return c;
}

// No document of ours nests deeper than 8 levels; what others wrote must not exhaust the stack of whoever walks through it.
nlohmann::json parse_document(const std::string& text) {
  try {
    return parse_json(text, 16, "its document");
  } catch (const Error& e) {
    throw Error(ErrorCode::format, std::string(e.what()) + " The file is damaged or foreign; fit the model again, or take an intact copy.");
  }
}

}  // namespace

void Model::save(const std::string& path, bool overwrite) const {
  const Ctgan m = state_->network();
  SafeTensors file;
  if (state_->learnt()) {
    visit_weights(m, m.generator, [&](const std::string& name, const std::vector<int64_t>& shape, const auto& element) {
      int64_t count = 1;
      for (const int64_t s : shape) count *= s;
      std::vector<float> values(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = state_->generator[static_cast<size_t>(element(i))];
      file.tensors[name] = SafeTensor::of<float>(shape, values);
    });
    for (const RunningSlot& s : running_slots(m)) file.tensors[s.leaf] = SafeTensor::of<float>({s.size}, std::span<const float>(state_->running).subspan(static_cast<size_t>(s.offset), static_cast<size_t>(s.size)));
    if (!state_->condition_rows.empty()) file.tensors["conditions.rows"] = SafeTensor::of<int64_t>({static_cast<int64_t>(state_->condition_rows.size())}, state_->condition_rows);
  }
  nlohmann::json document{{"format", kFormat},       {"method", "ctgan"},      {"preset", state_->preset}, {"config", config_json(state_->config)},
                          {"encoder", state_->encoder.to_json()}, {"provenance", state_->provenance}};
  state_->calibration.write(document, file);
  // How long training took is for the reader of the terminal; in the file it would make equal models differ.
  document["provenance"].erase("train_seconds");
  file.metadata["tessera"] = document.dump();
  write_safetensors(path, file, overwrite);
}

Model Model::load(const std::string& path) {
  const SafeTensors file = read_safetensors(path);
  auto fail = [&](const std::string& what) -> Error { return Error(ErrorCode::format, fmt::format("{}: {}", path, what)); };
  auto found = file.metadata.find("tessera");
  if (found == file.metadata.end()) throw fail("is a safetensors file, but not a model of Tessera (its metadata has no \"tessera\").");
  auto state = std::make_shared<State>();
  try {
    const nlohmann::json document = parse_document(found->second);
    const Fields f(document, "its document");
    if (const int64_t format = f.integer("format", 1, 1 << 20); format != kFormat)
      throw fail(fmt::format("has format {}; this version reads format {}. Use the version of Tessera that wrote it.", format, kFormat));
    if (const std::string method = f.text("method"); method != "ctgan") throw fail(fmt::format("holds a {} model; this version knows ctgan.", method));
    state->preset = f.text("preset");
    state->config = read_config(f.at("config"));
    state->encoder = Encoder::from_json(f.at("encoder"));
    state->provenance = f.at("provenance");
    f.check(state->provenance.is_object(), "\"provenance\" is not an object");
    if (state->learnt()) {
      const Ctgan m = state->network();
      const auto slots = running_slots(m);
      // Sizes follow from the document alone; nothing is allocated that the file's own tensors do not fill.
      auto tensor = [&](const std::string& name, const std::vector<int64_t>& shape) -> const SafeTensor& {
        const SafeTensor& t = file.at(name);
        if (t.shape != shape) throw fail(fmt::format("tensor {} has another shape than its document says.", name));
        return t;
      };
      visit_weights(m, m.generator, [&](const std::string& name, const std::vector<int64_t>& shape, const auto&) { tensor(name, shape); });
      state->generator.resize(static_cast<size_t>(m.generator.size));
      auto finite = [&](const std::vector<float>& v, const std::string& name) {
        for (const float x : v)
          if (!(x - x == 0)) throw fail(fmt::format("tensor {} holds a value that is not finite.", name));
      };
      visit_weights(m, m.generator, [&](const std::string& name, const std::vector<int64_t>& shape, const auto& element) {
        const auto values = tensor(name, shape).values<float>();
        finite(values, name);
        for (size_t i = 0; i < values.size(); ++i) state->generator[static_cast<size_t>(element(static_cast<int64_t>(i)))] = values[i];
      });
      for (const RunningSlot& s : slots) {
        const auto values = tensor(s.leaf, {s.size}).values<float>();
        finite(values, s.leaf);
        for (const float x : values)
          if (s.leaf.ends_with("var") && x < 0) throw fail(fmt::format("tensor {} holds a negative variance.", s.leaf));
        state->running.insert(state->running.end(), values.begin(), values.end());
      }
      if (m.cond > 0) {
        state->condition_rows = tensor("conditions.rows", {m.cond}).values<int64_t>();
        for (const Span& s : state->encoder.layout().spans) {
          if (s.cond_start < 0) continue;
          int64_t total = 0;
          for (int k = 0; k < s.width; ++k) {
            const int64_t rows = state->condition_rows[static_cast<size_t>(s.cond_start + k)];
            if (rows < 0 || rows > (int64_t{1} << 40)) throw fail("conditions.rows holds a count that no table has.");
            total += rows;
          }
          if (total == 0) throw fail("conditions.rows has a column that no row was seen of.");
        }
      }
    }
    state->calibration = Calibration::read(document, file, state->encoder);
  } catch (const Error& e) {
    const std::string message = e.what();
    if (e.code() != ErrorCode::format || message.find(path) != std::string::npos) throw;
    throw fail(message);
  } catch (const nlohmann::json::exception&) {
    throw fail("its document is not what this version writes. The file is damaged or foreign; fit the model again, or take an intact copy.");
  }
  Model model;
  model.state_ = std::move(state);
  return model;
}

Table Model::schema() const { return state_->encoder.schema(); }

nlohmann::json Model::describe() const {
  const RowLayout& layout = state_->encoder.layout();
  const Ctgan m = state_->network();
  nlohmann::json out{{"method", "ctgan"},
          {"preset", state_->preset},
          {"config", config_json(state_->config)},
          {"provenance", state_->provenance},
          {"data_width", layout.data_width},
          {"condition_width", layout.cond_width},
          {"generator_parameters", state_->learnt() ? m.generator.size : 0},
          {"encoder", state_->encoder.to_json()}};
  if (!state_->calibration.empty()) out["calibration"] = state_->calibration.describe();
  return out;
}

}  // namespace tessera
