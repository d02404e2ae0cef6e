// Model files whose document is damaged though header, offsets and weights are sound: values of another type, missing
// and repeated keys, longer and shorter lists, values of other places.
#pragma once
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace tessera::mutants {

using Json = nlohmann::json;
using Random = std::minstd_rand;

// A random value below `root`; the walk stops at each level with some probability.
inline Json& somewhere(Json& root, Random& random) {
  Json* at = &root;
  while (at->is_structured() && !at->empty() && random() % 8 != 0) {
    auto next = at->begin();
    std::advance(next, static_cast<std::ptrdiff_t>(random() % at->size()));
    at = &*next;
  }
  return *at;
}

inline Json odd(Random& random) {
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

inline void mutate(Json& document, Random& random) {
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

// The model file with a changed document; header, offsets and weights stay sound.
template <class Change>
std::string with_document(const std::string& model, Change&& change) {
  uint64_t size = 0;
  std::memcpy(&size, model.data(), sizeof size);
  Json header = Json::parse(model.substr(sizeof size, size));
  Json document = Json::parse(header["__metadata__"]["tessera"].get<std::string>());
  change(document);
  const auto text_of = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  header["__metadata__"]["tessera"] = text_of(document);
  header["__metadata__"].erase("checksum");
  const std::string text = text_of(header);
  const uint64_t now = text.size();
  std::string out(sizeof now, '\0');
  std::memcpy(out.data(), &now, sizeof now);
  return out + text + model.substr(sizeof size + size);
}

// The same seed gives the same damage.
inline std::string mutant(const std::string& model, uint32_t seed) {
  Random random(seed);
  return with_document(model, [&](Json& document) {
    for (unsigned n = 1 + static_cast<unsigned>(random() % 3); n > 0; --n) {
      // Half of the damage is to small parts, which a walk from the root rarely reaches.
      Json* part = &document;
      if (random() % 2 == 0)
        for (const char* name : {"provenance", "rules", "calibration"})
          if (document.is_object() && document.contains(name) && random() % 2 == 0) part = &document[name];
      mutate(*part, random);
    }
  });
}

}  // namespace tessera::mutants
