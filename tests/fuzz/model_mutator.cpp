// Mutations of model files that go past their lengths: half of them change one value of a document and put header and
// offsets right again.
#include <nlohmann/json.hpp>
#include <random>

#include "engine/error.h"
#include "engine/storage/safetensors.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

using Json = nlohmann::json;
using Random = std::minstd_rand;

// Any value below `root`, each level left with some chance.
Json& somewhere(Json& root, Random& random) {
  Json* at = &root;
  while (at->is_structured() && !at->empty() && random() % 8 != 0) {
    auto next = at->begin();
    std::advance(next, static_cast<std::ptrdiff_t>(random() % at->size()));
    at = &*next;
  }
  return *at;
}

Json odd(Random& random) {
  static const Json kOdd[] = {nullptr,
                              true,
                              false,
                              0,
                              1,
                              -1,
                              2,
                              127,
                              65536,
                              2147483647,
                              4294967296u,
                              INT64_MIN,
                              UINT64_MAX,
                              0.5,
                              -0.0,
                              1e308,
                              5e-324,
                              1e-30,
                              "",
                              "x",
                              "constant",
                              "levels",
                              "category",
                              "integer",
                              "tvae",
                              "full",
                              Json::array(),
                              Json::object(),
                              Json::array({0, 0}),
                              Json::array({""})};
  return kOdd[random() % std::size(kOdd)];
}

void mutate(Json& document, Random& random) {
  Json& at = somewhere(document, random);
  switch (random() % 6) {
    case 0: at = odd(random); break;
    case 1: at = somewhere(document, random); break;
    case 2:
      if (at.is_array() && !at.empty()) at.push_back(Json(at[random() % at.size()]));
      else at = odd(random);
      break;
    case 3:
      if (at.is_structured() && !at.empty()) {
        auto gone = at.begin();
        std::advance(gone, static_cast<std::ptrdiff_t>(random() % at.size()));
        at.erase(gone);
      }
      break;
    case 4:
      if (at.is_number()) at = at.get<double>() * (random() % 2 == 0 ? 10 : -0.1);
      else if (at.is_string()) at = at.get<std::string>() + at.get<std::string>() + "%";
      break;
    default:
      if (at.is_number_integer()) at = at.get<int64_t>() / 2 + static_cast<int64_t>(random() % 3);
      else if (at.is_boolean()) at = !at.get<bool>();
      else at = odd(random);
      break;
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  Random random(seed);
  if (random() % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  try {
    tessera::SafeTensors file = tessera::parse_safetensors({reinterpret_cast<const char*>(data), size}, "input");
    Json document = Json::parse(file.metadata["tessera"]);
    for (unsigned n = 1 + static_cast<unsigned>(random() % 3); n > 0; --n) mutate(document, random);
    file.metadata["tessera"] = document.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (random() % 4 == 0 && !file.tensors.empty()) {  // a tensor of another length, or with other values
      auto at = file.tensors.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(random() % file.tensors.size()));
      tessera::SafeTensor& t = at->second;
      if (random() % 2 == 0) {
        t.bytes.resize(8 * (random() % 9));
        const int64_t element = t.dtype == "F64" || t.dtype == "I64" ? 8 : 4;
        t.shape = {static_cast<int64_t>(t.bytes.size()) / element};
      } else if (t.bytes.size() >= 4) {
        LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(t.bytes.data()), t.bytes.size(), t.bytes.size());
      }
    }
    const std::string out = tessera::format_safetensors(file);
    if (out.size() <= most) {
      std::memcpy(data, out.data(), out.size());
      return out.size();
    }
  } catch (const std::exception&) {}
  return LLVMFuzzerMutate(data, size, most);
}
