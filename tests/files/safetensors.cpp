// safetensors: what is written comes back, and no file, however made, does more than raise Error(format).
#include "base/storage/safetensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "base/storage/files.h"

namespace tessera {
namespace {

SafeTensors example() {
  SafeTensors s;
  s.metadata = {{"format", "tessera"}, {"text", "a \"quoted\" naïve\nline"}};
  s.tensors["w"] = SafeTensor::of<float>({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  s.tensors["empty"] = SafeTensor::of<float>({0, 7}, std::vector<float>{});
  s.tensors["step"] = SafeTensor::of<int64_t>({}, std::vector<int64_t>{-5});
  s.tensors["odd"] = SafeTensor::of<uint8_t>({3}, std::vector<uint8_t>{7, 8, 9});
  return s;
}

std::string file(const std::string& header, size_t data) {
  const uint64_t n = header.size();
  return std::string(reinterpret_cast<const char*>(&n), 8) + header + std::string(data, '\0');
}

void expect_format_error(const std::string& bytes, const std::string& part) {
  try {
    parse_safetensors(bytes, "m.tessera");
    ADD_FAILURE() << "accepted: " << bytes.substr(0, 200);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::format);
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    EXPECT_EQ(std::string(e.what()).rfind("m.tessera: ", 0), 0u) << e.what();
  }
}

TEST(Safetensors, ComesBackAsItWasWritten) {
  const SafeTensors a = example(), b = parse_safetensors(format_safetensors(a), "m");
  EXPECT_EQ(a.metadata, b.metadata);
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (const auto& [name, t] : a.tensors) {
    EXPECT_EQ(t.dtype, b.at(name).dtype);
    EXPECT_EQ(t.shape, b.at(name).shape);
    EXPECT_EQ(t.bytes, b.at(name).bytes);
  }
  EXPECT_EQ(b.at("w").values<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(format_safetensors(a), format_safetensors(b));
}

TEST(Safetensors, EveryTensorIsAligned) {
  const std::string bytes = format_safetensors(example());
  uint64_t length;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ((8 + length) % 8, 0u);
  EXPECT_LT(bytes.find("\"data_offsets\":[0,8],\"dtype\":\"I64\""), bytes.size()) << "the widest elements come first";
}

TEST(Safetensors, AskingForWhatIsNotThereIsAnError) {
  const SafeTensors s = example();
  EXPECT_THROW(s.at("v"), Error);
  EXPECT_THROW(s.at("w").values<double>(), Error);
}

TEST(Safetensors, WrittenFromElsewhereTheFileIsTheSame) {
  const SafeTensors s = example();
  std::vector<TensorPlace> places;
  for (const auto& [name, t] : s.tensors) places.insert(places.begin(), {name, t.dtype, t.shape});  // in any order
  const std::string path =
      (std::filesystem::temp_directory_path() / ("tessera_places_" + std::to_string(::getpid()))).string();
  {
    AtomicFile file(path, true, false);
    write_safetensors(file, places, s.metadata,
                      [&](const TensorPlace& t) { return std::span<const std::byte>(s.tensors.at(t.name).bytes); });
    file.commit();
  }
  EXPECT_EQ(read_file(path), format_safetensors(s));
  remove_file(path);
}

TEST(Safetensors, BytesThatDoNotFitTheShapeAreNotWritten) {
  SafeTensors s = example();
  s.tensors["w"].shape = {2, 2};
  EXPECT_THROW(format_safetensors(s), Error);
}

TEST(Safetensors, HostileHeaders) {
  const auto one = [](const std::string& inside) { return "{\"w\":{" + inside + "}}"; };
  expect_format_error("", "too few");
  expect_format_error("1234567", "too few");
  expect_format_error(std::string(8, '\xfe'), "declare a header");
  expect_format_error(file("{}", 0).substr(0, 9), "declare a header");
  expect_format_error(file("{\"w\":", 0), "not JSON from byte");
  expect_format_error(file("[]", 0), "not a JSON object");
  expect_format_error(file(std::string(100000, '['), 0), "nests deeper");
  expect_format_error(file("{\"w\":\"\xff\"}", 0), "not JSON");
  expect_format_error(file("{\"w\":7}", 0), "exactly dtype, shape and data_offsets");
  expect_format_error(file(one(R"("dtype":"F32","shape":[1])"), 4), "exactly dtype");
  expect_format_error(file(one(R"("dtype":"X9","shape":[1],"data_offsets":[0,4])"), 4), "unknown dtype");
  expect_format_error(file(one(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), 4), "not a natural number");
  expect_format_error(file(one(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"), 4), "not a natural number");
  expect_format_error(file(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,8])"), 4), "not a pair");
  expect_format_error(file(one(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), 4), "by its shape and dtype");
  expect_format_error(file(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), 4), "by its shape and dtype");
  expect_format_error(file(one(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), 8), "end at 0");
  expect_format_error(file(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])"), 4), "the file has 4");
  expect_format_error(file(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), 5), "1 bytes follow");
  expect_format_error(file(one(R"("dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0])"), 0),
                      "too large");
  expect_format_error(file(one(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4])"), 4),
                      "not a natural number");
  expect_format_error(file(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})"
                           R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                           6),
                      "end at 4");
  expect_format_error(file(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})"
                           R"(,"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                           1),
                      "twice");
  expect_format_error(file(R"({"__metadata__":{"a":1}})", 0), "not a text");
  expect_format_error(file(R"({"__metadata__":[]})", 0), "not a JSON object");
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string whole = format_safetensors(example());
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_THROW(parse_safetensors(whole.substr(0, n), "m"), Error) << n;
}

TEST(Safetensors, RandomDamageIsRefusedOrHarmless) {
  const std::string whole = format_safetensors(example());
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = whole;
    for (int k = 0; k < 1 + i % 3; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    try {
      const SafeTensors s = parse_safetensors(bytes, "m");
      size_t total = 0;
      for (const auto& [name, t] : s.tensors) total += t.bytes.size();
      EXPECT_LE(total, bytes.size());
    } catch (const Error& e) { EXPECT_EQ(e.code(), ErrorCode::format) << e.what(); }
  }
}

}  // namespace
}  // namespace tessera
