// A model file as an attacker with only its bytes sees it: every text and every number, with its position. Parses
// safetensors and JSON independently, so that it does not miss what the library's reader ignores.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tessera::audit {

struct Numbers {
  std::string place;  // "tensor calibration.real.3.points", "document /encoder/columns/2/levels"
  std::vector<double> values;
};

struct Text {
  std::string place, text;
};

class ModelFile {
 public:
  explicit ModelFile(std::string bytes);  // throws std::runtime_error where it is no model file

  const std::string& bytes() const { return bytes_; }
  // tensors; arrays of numbers; the numbers of one object
  const std::vector<Numbers>& numbers() const { return numbers_; }
  const std::vector<Text>& texts() const { return texts_; }  // texts and names of members
  // The numbers at a place, or null.
  const std::vector<double>* find(const std::string& place) const;

 private:
  void read_tensor(const std::string& name, const nlohmann::json& entry, size_t data);
  void read_json(const nlohmann::json& value, const std::string& place);

  std::string bytes_;
  std::vector<Numbers> numbers_;
  std::vector<Text> texts_;
};

}  // namespace tessera::audit
