// gzip and Zstandard: what is compressed comes back; every cut and every changed byte is an error or harmless.
#include "base/storage/compression.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "support/thrown.h"

namespace tessera {
namespace {

class Compressed : public testing::TestWithParam<Compression> {
 protected:
  std::string pack(std::string_view bytes, size_t piece = SIZE_MAX) const {
    std::string out;
    const ByteSink sink = [&](std::string_view some) { out += some; };
    const auto compressor = make_compressor(GetParam(), "t");
    for (size_t at = 0; at < bytes.size(); at += std::min(piece, bytes.size() - at))
      compressor->write(bytes.substr(at, piece), sink);
    compressor->finish(sink);
    return out;
  }
  std::string unpack(std::string_view bytes) const {
    std::string out;
    decompress(GetParam(), bytes, "t", [&](std::string_view some) { out += some; });
    return out;
  }
  // Deterministic bytes that neither repeat nor compress well.
  static std::string text(size_t size) {
    std::string out;
    for (uint64_t state = 1; out.size() < size;) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      out += std::to_string(state >> 40) + ",";
    }
    out.resize(size);
    return out;
  }
  Error error_of(std::string_view bytes) const {
    try {
      unpack(bytes);
    } catch (const Error& e) { return e; }
    return Error(ErrorCode::internal, "(no error)");
  }
};

TEST_P(Compressed, ComesBack) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1000}, size_t{1} << 20}) {
    const std::string bytes = text(size), packed = pack(bytes);
    EXPECT_EQ(compression_of(packed), GetParam());
    EXPECT_EQ(unpack(packed), bytes);
    EXPECT_EQ(unpack(pack(bytes, 777)), bytes);
    EXPECT_EQ(pack(bytes), packed) << "the same bytes give the same file";
  }
}

TEST_P(Compressed, MembersAreOneText) {
  const std::string a = text(5000), b = text(70);
  EXPECT_EQ(unpack(pack(a) + pack("") + pack(b)), a + b);
}

// Files of pzstd and seekable ones begin with a frame that readers skip, and may have more behind.
TEST(Compression, SkippableFramesAreSkipped) {
  const auto pack = [](std::string_view bytes) {
    std::string out;
    const auto to = [&](std::string_view some) { out += some; };
    const auto compressor = make_compressor(Compression::zstd, "t");
    compressor->write(bytes, to), compressor->finish(to);
    return out;
  };
  for (const char kind : {'\x50', '\x5F'}) {
    const std::string skipped = kind + std::string("\x2A\x4D\x18\x03\0\0\0abc", 10);
    const std::string file = skipped + pack("one,") + skipped + pack("two") + skipped;
    ASSERT_EQ(compression_of(file), Compression::zstd);
    std::string out;
    decompress(Compression::zstd, file, "t", [&](std::string_view some) { out += some; });
    EXPECT_EQ(out, "one,two");
  }
}

// Tapes and block devices fill up with zeros, and gzip(1) ignores them; anything else behind is damage.
TEST(Compression, ZerosBehindAGzipMemberAreIgnored) {
  std::string file;
  const auto to = [&](std::string_view some) { file += some; };
  const auto compressor = make_compressor(Compression::gzip, "t");
  compressor->write("a,b\n", to), compressor->finish(to);
  std::string out;
  const auto take = [&](std::string_view some) { out += some; };
  decompress(Compression::gzip, file + std::string(512, '\0'), "t", take);
  EXPECT_EQ(out, "a,b\n");
  EXPECT_THROW(decompress(Compression::gzip, file + std::string(9, '\0') + "x", "t", take), Error);
}

TEST_P(Compressed, EveryCutIsSaid) {
  const std::string packed = pack(text(300));
  for (size_t size = 1; size < packed.size(); ++size) {
    const Error e = error_of(std::string_view(packed).substr(0, size));
    EXPECT_EQ(e.code(), ErrorCode::data) << size;
    EXPECT_NE(std::string(e.what()).find("at byte"), std::string::npos) << e.what();
  }
}

TEST_P(Compressed, DamageIsSaidOrHarmless) {
  const std::string bytes = text(300), packed = pack(bytes);
  for (size_t at = 0; at < packed.size(); ++at) {
    std::string damaged = packed;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    try {
      EXPECT_EQ(unpack(damaged), bytes) << at;  // a byte of the header that means nothing
    } catch (const Error& e) { EXPECT_EQ(e.code(), ErrorCode::data) << at; }
  }
  EXPECT_EQ(error_of(packed + "x").code(), ErrorCode::data);
}

TEST_P(Compressed, ABombIsNotSpread) {
  const std::string bomb = pack(std::string(kExpansionChecked + kExpansionChecked / 2, '\0'));
  uint64_t spread = 0;
  test::expect_error(ErrorCode::data, {"expand"},
                     [&] { decompress(GetParam(), bomb, "t", [&](std::string_view some) { spread += some.size(); }); });
  EXPECT_LE(spread, kExpansionChecked);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Compressed, testing::Values(Compression::gzip, Compression::zstd),
                         [](const auto& kind) { return std::string(name(kind.param)); });

TEST(Compression, OtherBytesAreNotCompressed) {
  for (const char* bytes : {"", "\x1F", "a,b\n1,2\n", "PAR1", "\x28\xB5\x2F"})
    EXPECT_EQ(compression_of(bytes), Compression::none);
  EXPECT_EQ(make_compressor(Compression::none, "t"), nullptr);
  std::string out;
  decompress(Compression::none, "plain", "t", [&](std::string_view some) { out += some; });
  EXPECT_EQ(out, "plain");
}

}  // namespace
}  // namespace tessera
