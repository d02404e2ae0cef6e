// The location of the golden vectors, and a small reader. Tests skip with a message if the vectors are absent.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace golden {

inline std::filesystem::path folder() {
  if (const char* e = std::getenv("TESSERA_GOLDEN")) return e;
  return std::filesystem::path(TESSERA_SOURCE_DIR) / ".." / "shared" / "golden";
}

// All cases of a kind, sorted; empty where the folder is absent.
inline std::vector<std::filesystem::path> cases(const std::string& kind) {
  std::vector<std::filesystem::path> found;
  std::error_code none;
  for (const auto& e : std::filesystem::directory_iterator(folder(), none))
    if (e.path().extension() == ".safetensors" && e.path().filename().string().rfind(kind + "__", 0) == 0)
      found.push_back(e.path());
  std::sort(found.begin(), found.end());
  return found;
}

#define GOLDEN_CASES_OR_SKIP(variable, kind) \
  const auto variable = golden::cases(kind); \
  if (variable.empty()) \
  GTEST_SKIP() << "no golden vectors of kind " << kind << " in " << golden::folder() << " (set TESSERA_GOLDEN)"

struct Tensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<double> values;  // every dtype, converted (exact for all but large I64, which golden vectors do not hold)
  int64_t rows() const { return shape.empty() ? 1 : shape[0]; }
  int64_t cols() const {
    int64_t n = 1;
    for (size_t i = 1; i < shape.size(); ++i) n *= shape[i];
    return n;
  }
};

struct Case {
  std::string name;
  nlohmann::json config;
  std::map<std::string, Tensor> tensors;
  bool has(const std::string& t) const { return tensors.count(t) != 0; }
  const Tensor& operator[](const std::string& t) const {
    auto it = tensors.find(t);
    if (it == tensors.end()) throw std::out_of_range(name + " has no tensor " + t);
    return it->second;
  }
};

inline Case read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  const nlohmann::json header = nlohmann::json::parse(bytes.substr(8, length));
  Case c;
  c.name = path.stem().string();
  c.config = nlohmann::json::parse(header["__metadata__"]["config"].get<std::string>());
  for (const auto& [name, t] : header.items()) {
    if (name == "__metadata__") continue;
    Tensor out{t["dtype"], t["shape"], {}};
    const char* data = bytes.data() + 8 + length + t["data_offsets"][0].get<size_t>();
    const size_t size = t["data_offsets"][1].get<size_t>() - t["data_offsets"][0].get<size_t>();
    auto convert = [&](auto zero) {
      using V = decltype(zero);
      for (size_t i = 0; i + sizeof(V) <= size; i += sizeof(V)) {
        V v;
        std::memcpy(&v, data + i, sizeof v);
        out.values.push_back(static_cast<double>(v));
      }
    };
    if (out.dtype == "F32") convert(float{});
    else if (out.dtype == "F64") convert(double{});
    else if (out.dtype == "I64") convert(int64_t{});
    else if (out.dtype == "I32") convert(int32_t{});
    else if (out.dtype == "U32") convert(uint32_t{});
    else if (out.dtype == "U8") convert(uint8_t{});
    else throw std::runtime_error(c.name + ": dtype " + out.dtype);
    c.tensors[name] = std::move(out);
  }
  return c;
}

}  // namespace golden
