#include "models/fitted/tensors.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text/json_fields.h"

namespace tessera {
namespace {

// The index of element i of a row-major tensor: "[3, 17]".
std::string place(const std::vector<int64_t>& shape, size_t i) {
  std::string at;
  for (size_t d = shape.size(); d-- > 0; i /= static_cast<size_t>(shape[d]))
    at = std::to_string(i % static_cast<size_t>(shape[d])) + (at.empty() ? "" : ", ") + at;
  return "[" + at + "]";
}

}  // namespace

void write_tensor(SafeTensors& file, const TensorSpec& spec, const States& states) {
  int64_t count = 1;
  for (const int64_t n : spec.shape) count *= n;
  std::vector<float> values(static_cast<size_t>(count));
  const std::vector<float>& from = states.at(spec.state);
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = from[static_cast<size_t>(spec.element(i))];
  file.tensors[spec.name] = SafeTensor::of<float>(spec.shape, values);
}

const SafeTensor& CheckedTensors::get(const std::string& name, const std::vector<int64_t>& shape) const {
  const SafeTensor& t = file.at(name);
  if (t.shape != shape)
    throw Error(ErrorCode::format, fmt::format("tensor {} has another shape than its document says.", name));
  return t;
}

void CheckedTensors::read(const TensorSpec& spec, States& states) const {
  const auto values = get(spec.name, spec.shape).values<float>();
  std::vector<float>& to = states[spec.state];
  to.resize(static_cast<size_t>(spec.state_size));
  for (size_t i = 0; i < values.size(); ++i) {
    const float x = values[i];
    if (!std::isfinite(x))
      throw Error(ErrorCode::format, fmt::format("tensor {} holds {} at {}, which is not finite. The file is damaged "
                                                 "or foreign; fit the model again, or take an intact copy.",
                                                 spec.name, x, place(spec.shape, i)));
    if (spec.negative != nullptr && x < 0)
      throw Error(ErrorCode::format, fmt::format("tensor {} holds {}.", spec.name, spec.negative));
    to[static_cast<size_t>(spec.element(static_cast<int64_t>(i)))] = x;
  }
}

void write_prior(nlohmann::json& document, const FittedState& kept) {
  if (kept.active > 0) document["prior"] = {{"active", kept.active}};
}

void read_prior(const nlohmann::json& document, const Method* method, FittedState& kept) {
  if (!document.contains("prior")) return;
  const Fields f(document, "its document");
  f.check(method != nullptr, "has a prior, but no attributes of sequences");
  kept.active = Fields(f.at("prior"), "its prior").integer("active", 1, method->max_active());
}

void describe_method(const Method& method, bool learned, nlohmann::json& out) {
  out["networks"] = method.networks();
  out["parameters"] = learned ? method.parameters() : 0;
  out[method.networks().front() + "_parameters"] = out["parameters"];
  for (const LossSpec& loss : method.spec().losses) out["losses"].push_back({{"name", loss.name}, {"help", loss.help}});
}

}  // namespace tessera
