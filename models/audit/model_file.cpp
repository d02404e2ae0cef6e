#include "models/audit/model_file.h"

#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace tessera::audit {
namespace {

template <class T>
std::vector<double> as_doubles(const char* data, size_t bytes) {
  std::vector<double> out;
  for (size_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
    T x;
    std::memcpy(&x, data + at, sizeof x);
    out.push_back(static_cast<double>(x));
  }
  return out;
}

}  // namespace

ModelFile::ModelFile(std::string bytes) : bytes_(std::move(bytes)) {
  uint64_t length = 0;
  if (bytes_.size() < sizeof length) throw std::runtime_error("no model file: it is too short");
  std::memcpy(&length, bytes_.data(), sizeof length);
  if (length > bytes_.size() - sizeof length)
    throw std::runtime_error("no model file: its header is longer than the file");
  const nlohmann::json header = nlohmann::json::parse(bytes_.substr(sizeof length, length));
  for (const auto& [name, entry] : header.items())
    if (name != "__metadata__") read_tensor(name, entry, sizeof length + length);
  for (const auto& [name, text] : header.at("__metadata__").items()) {
    const nlohmann::json inner = nlohmann::json::parse(text.get<std::string>(), nullptr, false);
    read_json(inner.is_discarded() ? text : inner, name == "tessera" ? "document " : name + " ");
  }
}

void ModelFile::read_tensor(const std::string& name, const nlohmann::json& entry, size_t data) {
  const std::string type = entry.at("dtype");
  const size_t begin = entry.at("data_offsets").at(0), end = entry.at("data_offsets").at(1);
  const char* at = bytes_.data() + data + begin;
  Numbers out{"tensor " + name, {}};
  if (type == "F64") out.values = as_doubles<double>(at, end - begin);
  else if (type == "F32") out.values = as_doubles<float>(at, end - begin);
  else if (type == "I64") out.values = as_doubles<int64_t>(at, end - begin);
  else if (type == "I32") out.values = as_doubles<int32_t>(at, end - begin);
  else throw std::runtime_error("tensor " + name + " is of type " + type + ", which this attack cannot read yet");
  numbers_.push_back(std::move(out));
}

void ModelFile::read_json(const nlohmann::json& value, const std::string& place) {
  if (value.is_string()) texts_.push_back({place, value});
  if (!value.is_structured()) return;
  Numbers own{place, {}};
  size_t k = 0;
  for (const auto& [key, member] : value.items()) {
    if (value.is_object()) texts_.push_back({place, key});
    if (member.is_number()) own.values.push_back(member);
    else read_json(member, place + "/" + (value.is_object() ? key : std::to_string(k)));
    ++k;
  }
  if (!own.values.empty()) numbers_.push_back(std::move(own));
}

const std::vector<double>* ModelFile::find(const std::string& place) const {
  for (const Numbers& n : numbers_)
    if (n.place == place) return &n.values;
  return nullptr;
}

}  // namespace tessera::audit
