// The model file: it round-trips, and a damaged, foreign or hostile file is an error with a message, never a crash or a
// large allocation.
#include <malloc.h>

#include <atomic>
#include <cfloat>
#include <cstdlib>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>

#include "base/storage/safetensors.h"
#include "models/tables.h"
#include "tables/csv/example.h"

namespace {
std::atomic<int64_t> live{0}, peak{0};
}  // namespace

// Counts the allocated bytes of the program, for the bound on the memory of reading a file.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* p = std::malloc(bytes == 0 ? 1 : bytes);
  if (p == nullptr) throw std::bad_alloc();
  const int64_t now =
      live.fetch_add(static_cast<int64_t>(malloc_usable_size(p))) + static_cast<int64_t>(malloc_usable_size(p));
  int64_t seen = peak.load();
  while (now > seen && !peak.compare_exchange_weak(seen, now)) {}
  return p;
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) { return nullptr; }
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  if (p != nullptr) live.fetch_sub(static_cast<int64_t>(malloc_usable_size(p)));
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { operator delete(p); }
[[gnu::noinline]] void operator delete(void* p, const std::nothrow_t&) noexcept { operator delete(p); }

namespace tessera::whole {
namespace {

// Maximum bytes allocated during a call, beyond those before it.
template <class F>
int64_t peak_of(F call) {
  const int64_t before = live.load();
  peak.store(before);
  call();
  return peak.load() - before;
}

Model small_model() {
  Table t = example_people(200, 1);
  t.columns.push_back(texts_by("street", t.rows, [](int64_t i) { return "street " + std::to_string(i % 90); }));
  FitOptions o = quick(1, 50);
  o.as<CtganConfig>().generator_dim = {8, 6};
  o.as<CtganConfig>().embedding_dim = 4;
  o.encoder.max_categories = 10;
  o.rules.find = false;  // their model files have another format
  return fit(std::move(t), o);
}

// The same with a calibration.
Model calibrated_model() {
  FitOptions o = quick(1, 50);
  o.as<CtganConfig>().generator_dim = {8, 6};
  o.as<CtganConfig>().embedding_dim = 4;
  o.calibrate = Tier::full;
  return fit(example_people(1000, 1), o);
}

std::string bytes_of(const Model& m) {
  const Folder folder;
  m.save(folder / "m", false);
  return read_bytes(folder / "m");
}

// As earlier versions wrote it: damage reaches what reads the parts.
std::string without_checksum(const Model& m) {
  SafeTensors file = parse_safetensors(bytes_of(m), "whole");
  EXPECT_EQ(file.metadata.erase("checksum"), 1u);
  return format_safetensors(file);
}

TEST(ModelFile, OverwritesOnlyOnRequest) {
  const Folder folder;
  const Model m = small_model();
  write_bytes(folder / "m", "mine");
  const Thrown t = thrown([&] { m.save(folder / "m", false); });
  EXPECT_EQ(t.code, ErrorCode::io);
  EXPECT_TRUE(t.says("`overwrite=yes`")) << t.message;
  EXPECT_EQ(read_bytes(folder / "m"), "mine");
  m.save(folder / "m", true);
  EXPECT_EQ(lines(sample(Model::load(folder / "m"), 10)), lines(sample(m, 10)));
  EXPECT_EQ(thrown([&] { m.save(folder / "nowhere/m", false); }).code, ErrorCode::io);
  EXPECT_EQ(thrown([&] { Model::load(folder / "absent"); }).code, ErrorCode::io);
}

// Loads bytes that may be damaged: a message that names the file, or a model that samples. Returns whether it loaded.
bool load_or_say(const Folder& folder, const std::string& bytes, const std::string& what) {
  const std::string path = folder / "damaged";
  write_bytes(path, bytes);
  try {
    const Model m = Model::load(path);
    m.describe().dump();
    EXPECT_EQ(sample(m, 3).rows, 3) << what;
    return true;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::format) << what << ": " << e.what();
    EXPECT_NE(std::string(e.what()).find(path), std::string::npos) << what << ": " << e.what();
  } catch (const std::exception& e) { ADD_FAILURE() << what << ": not an Error: " << e.what(); }
  return false;
}

TEST(ModelFile, RejectsTruncation) {
  const Folder folder;
  const std::string whole = bytes_of(small_model());
  for (size_t n = 0; n < whole.size(); n += 97)
    EXPECT_FALSE(load_or_say(folder, whole.substr(0, n), "first " + std::to_string(n) + " bytes"));
  EXPECT_FALSE(load_or_say(folder, whole.substr(0, whole.size() - 1), "all but a byte"));
  EXPECT_FALSE(load_or_say(folder, whole + "x", "a byte more"));
  EXPECT_TRUE(load_or_say(folder, whole, "whole"));
}

TEST(ModelFile, AFlippedBitIsNoticed) {
  const Folder folder;
  const Model model = small_model();
  const std::string whole = bytes_of(model);
  uint64_t header = 0;
  std::memcpy(&header, whole.data(), 8);
  EXPECT_EQ(bytes_of(Model::from_bytes(whole, "whole")), whole);
  int refused = 0;
  for (uint32_t k = 0; k < 1500; ++k) {
    const Philox p = philox(k, 2, 0, 0, 23, 29);
    const bool in_weights = k % 2 == 0;
    const size_t at = in_weights ? 8 + header + p.word[0] % (whole.size() - 8 - header) : 8 + p.word[0] % header;
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << p.word[1] % 8);
    try {
      const std::string read = bytes_of(Model::from_bytes(bytes, "m"));
      EXPECT_FALSE(in_weights) << "byte " << at;
      EXPECT_EQ(read, whole) << "byte " << at << ": the file says the same, such as a blank of the header";
    } catch (const Error& e) {
      ++refused;
      EXPECT_EQ(e.code(), ErrorCode::format) << e.what();
      if (in_weights) {
        EXPECT_NE(std::string(e.what()).find("checksum does not match"), std::string::npos) << e.what();
      }
    }
  }
  EXPECT_GT(refused, 1400);
}

TEST(ModelFile, OfAnEarlierVersionHasNoChecksum) {
  const Model model = small_model();
  const std::string older = without_checksum(model);
  EXPECT_EQ(older.find("checksum"), std::string::npos);
  EXPECT_EQ(bytes_of(Model::from_bytes(older, "m")), bytes_of(model));
}

TEST(ModelFile, ADamagedNameOfTheChecksumIsNoticed) {
  const Folder folder;
  SafeTensors annotated = parse_safetensors(bytes_of(small_model()), "whole");
  annotated.metadata["python"] = "{}";
  for (const std::string& whole : {bytes_of(small_model()), format_safetensors(annotated)}) {
    EXPECT_TRUE(load_or_say(folder, whole, "whole"));
    const size_t name = whole.find("checksum");
    for (size_t at = name; at < name + 8; ++at)
      for (int bit = 0; bit < 8; ++bit) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ 1 << bit);
        EXPECT_FALSE(load_or_say(folder, bytes, "bit " + std::to_string(bit) + " of byte " + std::to_string(at)));
      }
  }
  annotated.metadata.erase("checksum");
  EXPECT_TRUE(load_or_say(folder, format_safetensors(annotated), "without a checksum"));
}

void flip_bytes(const Model& model, uint32_t flips) {
  const Folder folder;
  const std::string whole = without_checksum(model);
  uint64_t header = 0;
  std::memcpy(&header, whole.data(), 8);
  int loaded = 0;
  for (uint32_t k = 0; k < flips; ++k) {
    const Philox p = philox(k, 0, 0, 0, 23, 29);
    // Two of three in the header.
    const size_t at = p.word[0] % (k % 3 == 0 ? whole.size() : 8 + header);
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1 + p.word[1] % 255));
    loaded += load_or_say(folder, bytes, "byte " + std::to_string(at) + " of flip " + std::to_string(k));
  }
  EXPECT_GT(loaded, flips / 100) << "a flip in a weight or a name leaves a model";
  EXPECT_LT(loaded, flips - flips / 20);
}
TEST(ModelFile, SurvivesFlippedBytes) { flip_bytes(small_model(), 2000); }
TEST(ModelFile, SurvivesFlippedBytesOfCalibration) { flip_bytes(calibrated_model(), 600); }

// Digits and signs of the document changed: still JSON, with other numbers.
TEST(ModelFile, SurvivesForeignNumbers) {
  const Folder folder;
  const std::string whole = without_checksum(small_model());
  uint64_t header = 0;
  std::memcpy(&header, whole.data(), 8);
  int changed = 0;
  for (uint32_t k = 0; changed < 600; ++k) {
    const Philox p = philox(k, 1, 0, 0, 23, 29);
    const size_t at = 8 + p.word[0] % header;
    if (whole[at] < '0' || whole[at] > '9') continue;
    ++changed;
    std::string bytes = whole;
    bytes[at] = "0123456789-e."[p.word[1] % 13];
    load_or_say(folder, bytes, "byte " + std::to_string(at) + " now " + bytes[at]);
  }
}

struct Damage {
  const char* name;
  const char* says;
  std::function<void(SafeTensors&, nlohmann::json&)> apply;
};

std::string damaged(const std::string& whole, const Damage& d) {
  SafeTensors file = parse_safetensors(whole, "whole");
  nlohmann::json document = nlohmann::json::parse(file.metadata.at("tessera"));
  d.apply(file, document);
  if (!document.is_null()) file.metadata["tessera"] = document.dump();
  file.metadata.erase("checksum");
  return format_safetensors(file);
}

const std::string kWeight = "generator.residual.0.linear.weight";

void set_first(SafeTensors& f, const std::string& tensor, float value) {
  std::memcpy(f.tensors.at(tensor).bytes.data(), &value, sizeof value);
}

const Damage kDamages[] = {
    {"missing tensor", "generator.output.bias",
     [](SafeTensors& f, auto&) { f.tensors.erase("generator.output.bias"); }},
    {"missing statistics", "running_var",
     [](SafeTensors& f, auto&) { f.tensors.erase("generator.residual.1.norm.running_var"); }},
    {"missing conditions", "conditions.rows", [](SafeTensors& f, auto&) { f.tensors.erase("conditions.rows"); }},
    {"wrong shape", kWeight.c_str(),
     [](SafeTensors& f, auto&) { std::swap(f.tensors.at(kWeight).shape[0], f.tensors.at(kWeight).shape[1]); }},
    {"wrong type", "F32", [](SafeTensors& f, auto&) { f.tensors.at(kWeight).dtype = "I32"; }},
    {"NaN weight", "generator.residual.0.linear.weight holds nan at [0, 0], which is not finite",
     [](SafeTensors& f, auto&) { set_first(f, kWeight, NAN); }},
    {"infinite weight", "generator.output.weight holds inf at [0, 0]",
     [](SafeTensors& f, auto&) { set_first(f, "generator.output.weight", INFINITY); }},
    {"NaN statistics", "not finite",
     [](SafeTensors& f, auto&) { set_first(f, "generator.residual.0.norm.running_mean", NAN); }},
    {"negative variance", "negative variance",
     [](SafeTensors& f, auto&) { set_first(f, "generator.residual.0.norm.running_var", -1); }},
    {"negative counts", "conditions.rows",
     [](SafeTensors& f, auto&) { f.tensors.at("conditions.rows").bytes[7] = std::byte{0x80}; }},
    {"no counts", "conditions.rows",
     [](SafeTensors& f, auto&) {
       std::fill(f.tensors.at("conditions.rows").bytes.begin(), f.tensors.at("conditions.rows").bytes.end(),
                 std::byte{0});
     }},
    {"no document", "not a model of Tessera", [](SafeTensors& f, auto& d) { f.metadata.clear(), d = nullptr; }},
    {"empty document", "not JSON", [](SafeTensors& f, auto& d) { f.metadata["tessera"] = "", d = nullptr; }},
    {"list for a document", "not an object",
     [](SafeTensors& f, auto& d) { f.metadata["tessera"] = "[1]", d = nullptr; }},
    {"deep document", "deeper",
     [](SafeTensors& f, auto& d) {
       f.metadata["tessera"] = std::string(500000, '[') + std::string(500000, ']'), d = nullptr;
     }},
    {"deep provenance", "deeper",
     [](SafeTensors& f, auto& d) {
       std::string text = d.dump();
       const std::string deep = std::string(200000, '[') + std::string(200000, ']');
       const size_t at = text.find("\"provenance\":{") + 14;
       f.metadata["tessera"] = text.insert(at, "\"a\":" + deep + ",");
       d = nullptr;
     }},
    {"key twice", "twice",
     [](SafeTensors& f, auto& d) { f.metadata["tessera"] = "{\"format\":1," + d.dump().substr(1), d = nullptr; }},
    {"later format", "format 2", [](auto&, auto& d) { d["format"] = 2; }},
    {"format of text", "\"format\"", [](auto&, auto& d) { d["format"] = "1"; }},
    {"other method", "diffusion", [](auto&, auto& d) { d["method"] = "diffusion"; }},
    {"the other method", "\"encoder_dim\"", [](auto&, auto& d) { d["method"] = "tvae"; }},
    {"no configuration", "\"config\"", [](auto&, auto& d) { d.erase("config"); }},
    {"list for a configuration", "configuration", [](auto&, auto& d) { d["config"] = nlohmann::json::array(); }},
    {"huge noise", "\"embedding_dim\"", [](auto&, auto& d) { d["config"]["embedding_dim"] = int64_t{1} << 40; }},
    {"noise of another width", "shape", [](auto&, auto& d) { d["config"]["embedding_dim"] = 1 << 16; }},
    {"huge layers", "shape", [](auto&, auto& d) { d["config"]["generator_dim"] = std::vector<int>(64, 1 << 16); }},
    {"too many layers", "64", [](auto&, auto& d) { d["config"]["generator_dim"] = std::vector<int>(10000, 8); }},
    {"layer of no width", "\"generator_dim\"",
     [](auto&, auto& d) {
       d["config"]["generator_dim"] = {8, 0};
     }},
    {"no layers", "\"generator_dim\"", [](auto&, auto& d) { d["config"]["generator_dim"] = nlohmann::json::array(); }},
    {"fraction of a layer", "\"generator_dim\"",
     [](auto&, auto& d) {
       d["config"]["generator_dim"] = {8.5, 6};
     }},
    {"one layer less", "", [](auto&, auto& d) { d["config"]["generator_dim"] = {8}; }},
    {"no epsilon", "\"bn_eps\"", [](auto&, auto& d) { d["config"]["bn_eps"] = 0; }},
    {"text for a number", "\"tau\"", [](auto&, auto& d) { d["config"]["tau"] = "1"; }},
    {"no encoder", "\"encoder\"", [](auto&, auto& d) { d.erase("encoder"); }},
    {"encoder of a column less", "", [](auto&, auto& d) { d["encoder"]["columns"].erase(1); }},
    {"encoder of no columns", "", [](auto&, auto& d) { d["encoder"]["columns"] = nlohmann::json::array(); }},
    {"a level more", "", [](auto&, auto& d) { d["encoder"]["columns"][1]["levels"].push_back("other"); }},
    {"text for the provenance", "provenance", [](auto&, auto& d) { d["provenance"] = "here"; }},
};

template <size_t n>
void expect_named(const Model& model, const Damage (&damages)[n]) {
  const Folder folder;
  const std::string whole = bytes_of(model);
  for (const Damage& d : damages) {
    write_bytes(folder / "m", damaged(whole, d));
    const Thrown t = thrown([&] { Model::load(folder / "m"); });
    EXPECT_EQ(t.code, ErrorCode::format) << d.name << ": " << t.message;
    EXPECT_TRUE(t.says(folder / "m")) << d.name << ": " << t.message;
    EXPECT_TRUE(t.says(d.says)) << d.name << ": " << t.message;
  }
}
TEST(ModelFile, NamesTheDefect) { expect_named(small_model(), kDamages); }

// One of each kind of network.
std::vector<Model> models_of_every_kind() {
  std::vector<Model> all;
  all.push_back(small_model());
  FitOptions tvae = quick_tvae(1, 50);
  tvae.as<TvaeConfig>().encoder_dim = tvae.as<TvaeConfig>().decoder_dim = {8};
  all.push_back(fit(example_people(200, 1), tvae));
  for (const Cell cell : {Cell::gru, Cell::gru_reset_before, Cell::lstm}) {
    FitOptions o;
    o.method = "timegan";
    apply_preset(o);
    set(o, "iterations", "1");
    TimeganConfig& c = o.as<TimeganConfig>();
    c.batch = 16, c.hidden = 5, c.cell = cell;
    o.sequences.length = 4;
    all.push_back(fit(example_people(200, 1), o));
  }
  return all;
}

// Weights that training never produces: a non-finite one is named with its tensor and index, a huge one gives rows.
TEST(ModelFile, NamesOrAcceptsAnyWeight) {
  const Folder folder;
  for (const Model& m : models_of_every_kind()) {
    const std::string whole = without_checksum(m);
    const SafeTensors file = parse_safetensors(whole, "whole");
    uint32_t n = 0;
    for (const auto& [name, tensor] : file.tensors) {
      if (tensor.dtype != "F32") continue;
      const size_t at = philox(n++, 0, 0, 0, 31, 37).word[0] % (tensor.bytes.size() / sizeof(float));
      for (const float value : {NAN, INFINITY, -INFINITY, 1e30f, -FLT_MAX}) {
        SafeTensors changed = file;
        std::memcpy(changed.tensors.at(name).bytes.data() + at * sizeof value, &value, sizeof value);
        write_bytes(folder / "m", format_safetensors(changed));
        std::string said;
        try {
          EXPECT_GE(sample(Model::load(folder / "m"), 5).rows, 5);
        } catch (const Error& e) {
          said = e.what();
          EXPECT_EQ(e.code(), ErrorCode::format) << name << " holds " << value << ": " << said;
          EXPECT_NE(said.find("tensor " + name + " holds "), std::string::npos) << said;
        }
        if (!std::isfinite(value)) {
          EXPECT_NE(said.find("which is not finite"), std::string::npos) << name << " holds " << value << ": " << said;
        } else {
          EXPECT_TRUE(said.empty() || said.find("holds a negative") != std::string::npos) << said;
        }
      }
    }
  }
}

void set_double(SafeTensors& f, const std::string& tensor, size_t at, double value) {
  std::memcpy(f.tensors.at(tensor).bytes.data() + at * sizeof value, &value, sizeof value);
}

const Damage kCalibrationDamages[] = {
    {"unknown tier", "tier", [](SafeTensors&, nlohmann::json& d) { d["calibration"]["tier"] = "best"; }},
    {"a tier that is not there", "tier",
     [](SafeTensors&, nlohmann::json& d) { d["calibration"].erase("full"), d["calibration"]["tier"] = "full"; }},
    {"factors missing", "factors", [](SafeTensors& f, auto&) { f.tensors.erase("calibration.full.factor.0"); }},
    {"a factor that is NaN", "not finite",
     [](SafeTensors& f, auto&) { set_double(f, "calibration.full.factor.0", 0, NAN); }},
    {"no weights' distribution", "distribution of weights",
     [](SafeTensors& f, auto&) { f.tensors.erase("calibration.marginals.log_weights"); }},
    {"shares of another number", "cells", [](SafeTensors& f, auto&) { f.tensors.erase("calibration.share.1"); }},
    {"a ratio that is cut", "weights", [](SafeTensors& f, auto&) { f.tensors.erase("calibration.ratio"); }},
    {"a layer of no units", "wide", [](SafeTensors&, nlohmann::json& d) { d["calibration"]["ratio"]["hidden"] = {0}; }},
    {"a column twice", "column",
     [](SafeTensors&, nlohmann::json& d) {
       d["calibration"]["columns"][1]["column"] = d["calibration"]["columns"][0]["column"];
     }},
    {"a column beyond the table", "column",
     [](SafeTensors&, nlohmann::json& d) { d["calibration"]["columns"].back()["column"] = 9999; }},
    {"columns as a number", "columns", [](SafeTensors&, nlohmann::json& d) { d["calibration"]["columns"] = 3; }},
    {"temperature of minus one", "temperature",
     [](SafeTensors&, nlohmann::json& d) { d["calibration"]["full"]["temperature"] = -1; }},
};

TEST(ModelFile, NamesTheDefectOfACalibration) { expect_named(calibrated_model(), kCalibrationDamages); }

// Finite weights can give a row a non-finite density ratio, or one so small that no row is ever accepted.
TEST(ModelFile, SurvivesExtremeWeightsOfCalibration) {
  const Folder folder;
  const std::string whole = bytes_of(calibrated_model());
  SampleOptions full;
  full.calibrate = Tier::full;
  auto sampled = [&](const Damage& d) {
    write_bytes(folder / "m", damaged(whole, d));
    return sample(Model::load(folder / "m"), 20, full).rows;
  };
  const Thrown t = thrown([&] {
    sampled({"huge", "", [](SafeTensors& f, auto&) {
               auto& bytes = f.tensors.at("calibration.ratio").bytes;
               const float huge = 3e38f;
               for (size_t at = 0; at < bytes.size(); at += sizeof huge)
                 std::memcpy(bytes.data() + at, &huge, sizeof huge);
             }});
  });
  EXPECT_EQ(t.code, ErrorCode::numeric) << t.message;
  EXPECT_TRUE(t.says("not finite")) << t.message;
  EXPECT_EQ(sampled({"never kept", "",
                     [](SafeTensors& f, auto&) {
                       const size_t cells = f.tensors.at("calibration.full.factor.0").bytes.size() / sizeof(double);
                       for (size_t k = 0; k < cells; ++k) set_double(f, "calibration.full.factor.0", k, -1e36);
                     }}),
            20);
}

TEST(ModelFile, ReadsInASmallMultipleOfItsSize) {
  const Folder folder;
  const std::string whole = bytes_of(small_model());
  write_bytes(folder / "m", whole);
  Model m;
  const int64_t honest = peak_of([&] { m = Model::load(folder / "m"); });
  EXPECT_LE(honest, 40 * static_cast<int64_t>(whole.size())) << whole.size();
  for (const Damage& d : kDamages) {
    const std::string bytes = damaged(whole, d);
    write_bytes(folder / "m", bytes);
    const int64_t taken = peak_of([&] { thrown([&] { Model::load(folder / "m"); }); });
    EXPECT_LE(taken, 40 * static_cast<int64_t>(bytes.size())) << d.name;
  }
}

}  // namespace
}  // namespace tessera::whole
