#include "base/storage/compression.h"

#define ZLIB_CONST  // zlib then only reads its input
#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <vector>

#include "base/error.h"

namespace tessera {
namespace {

constexpr size_t kPiece = size_t{1} << 18;
constexpr int kGzipWindow = 15 + 16;  // the largest window, with a header and trailer of gzip

[[noreturn]] void fail_memory(const std::string& file, Compression c) {
  throw Error(ErrorCode::memory, fmt::format("{}: there is not enough memory for {}.", file, name(c)));
}

// Counts the bytes in and out, and stops data crafted to fill a disk.
struct Expansion {
  const std::string& file;
  Compression kind;
  const ByteSink& sink;
  uint64_t out = 0;

  void pass(std::string_view bytes, size_t consumed) {
    out += bytes.size();
    if (out > kExpansionChecked && out / kMaxExpansion > consumed)
      throw Error(ErrorCode::data,
                  fmt::format("{}: its first {} bytes expand to more than {} times their size.\n  If the file is meant "
                              "to be like that, decompress it first.",
                              file, consumed, kMaxExpansion));
    if (!bytes.empty()) sink(bytes);
  }
  [[noreturn]] void fail(size_t at, const std::string& why) const {
    throw Error(ErrorCode::data, fmt::format("{}: the {} file is damaged at byte {}: {}.\n  Copy or download it again.",
                                             file, name(kind), at, why));
  }
  [[noreturn]] void fail_cut(size_t at) const { fail(at, "it ends early"); }
};

struct Inflating {
  z_stream s{};
  explicit Inflating(const std::string& file) {
    if (inflateInit2(&s, kGzipWindow) != Z_OK) fail_memory(file, Compression::gzip);
  }
  ~Inflating() { inflateEnd(&s); }
  Inflating(const Inflating&) = delete;
  Inflating& operator=(const Inflating&) = delete;
};

void decompress_gzip(std::string_view bytes, Expansion& to) {
  Inflating in(to.file);
  std::vector<unsigned char> piece(kPiece);
  size_t at = 0;  // consumed
  int status = Z_OK;
  while (at < bytes.size() || status != Z_STREAM_END) {
    // Tapes and block devices fill a file up with zeros; gzip(1) ignores them too.
    if (status == Z_STREAM_END && bytes.find_first_not_of('\0', at) == std::string_view::npos) return;
    if (status == Z_STREAM_END && inflateReset(&in.s) != Z_OK) fail_memory(to.file, to.kind);
    const size_t some = std::min<size_t>(bytes.size() - at, UINT_MAX);
    in.s.next_in = reinterpret_cast<const Bytef*>(bytes.data()) + at, in.s.avail_in = static_cast<unsigned>(some);
    in.s.next_out = piece.data(), in.s.avail_out = static_cast<unsigned>(piece.size());
    status = inflate(&in.s, Z_NO_FLUSH);
    at += some - in.s.avail_in;
    if (status == Z_MEM_ERROR) fail_memory(to.file, to.kind);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      to.fail(at, in.s.msg != nullptr ? in.s.msg : "it is not gzip");
    const size_t made = piece.size() - in.s.avail_out;
    to.pass({reinterpret_cast<const char*>(piece.data()), made}, at);
    if (status != Z_STREAM_END && made == 0 && at == bytes.size()) to.fail_cut(at);
  }
}

void decompress_zstd(std::string_view bytes, Expansion& to) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> reader(ZSTD_createDStream(), ZSTD_freeDStream);
  if (reader == nullptr) fail_memory(to.file, to.kind);
  std::vector<char> piece(kPiece);
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  size_t left = 1;  // 0: a frame is complete
  while (in.pos < in.size || left != 0) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    const size_t before = in.pos;
    left = ZSTD_decompressStream(reader.get(), &out, &in);
    if (ZSTD_isError(left) != 0) to.fail(in.pos, ZSTD_getErrorName(left));
    to.pass({piece.data(), out.pos}, in.pos);
    if (left != 0 && out.pos == 0 && in.pos == before && in.pos == in.size) to.fail_cut(in.pos);
  }
}

class GzipCompressor : public Compressor {
 public:
  explicit GzipCompressor(const std::string& file) : piece_(kPiece) {
    constexpr int kLevel = 6, kMemory = 8;
    if (deflateInit2(&s_, kLevel, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
      fail_memory(file, Compression::gzip);
  }
  ~GzipCompressor() override { deflateEnd(&s_); }
  GzipCompressor(const GzipCompressor&) = delete;
  GzipCompressor& operator=(const GzipCompressor&) = delete;

  void write(std::string_view bytes, const ByteSink& sink) override {
    for (size_t at = 0; at < bytes.size(); at += UINT_MAX) {
      const std::string_view some = bytes.substr(at, UINT_MAX);
      s_.next_in = reinterpret_cast<const Bytef*>(some.data()), s_.avail_in = static_cast<unsigned>(some.size());
      while (s_.avail_in > 0) step(Z_NO_FLUSH, sink);
    }
  }
  void finish(const ByteSink& sink) override {
    while (step(Z_FINISH, sink) != Z_STREAM_END) {}
  }

 private:
  int step(int flush, const ByteSink& sink) {
    s_.next_out = piece_.data(), s_.avail_out = static_cast<unsigned>(piece_.size());
    const int status = deflate(&s_, flush);
    if (const size_t made = piece_.size() - s_.avail_out; made > 0)
      sink({reinterpret_cast<const char*>(piece_.data()), made});
    return status;
  }

  z_stream s_{};
  std::vector<unsigned char> piece_;
};

class ZstdCompressor : public Compressor {
 public:
  explicit ZstdCompressor(const std::string& file)
      : file_(file), writer_(ZSTD_createCStream(), ZSTD_freeCStream), piece_(kPiece) {
    if (writer_ == nullptr) fail_memory(file, Compression::zstd);
    ZSTD_CCtx_setParameter(writer_.get(), ZSTD_c_compressionLevel, 3);
    ZSTD_CCtx_setParameter(writer_.get(), ZSTD_c_checksumFlag, 1);
  }
  void write(std::string_view bytes, const ByteSink& sink) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    while (in.pos < in.size) step(in, ZSTD_e_continue, sink);
  }
  void finish(const ByteSink& sink) override {
    ZSTD_inBuffer nothing{nullptr, 0, 0};
    while (step(nothing, ZSTD_e_end, sink) != 0) {}
  }

 private:
  size_t step(ZSTD_inBuffer& in, ZSTD_EndDirective how, const ByteSink& sink) {
    ZSTD_outBuffer out{piece_.data(), piece_.size(), 0};
    const size_t left = ZSTD_compressStream2(writer_.get(), &out, &in, how);
    if (ZSTD_isError(left) != 0)
      throw Error(ErrorCode::memory, fmt::format("{}: Zstandard failed: {}.", file_, ZSTD_getErrorName(left)));
    if (out.pos > 0) sink({piece_.data(), out.pos});
    return left;
  }

  const std::string file_;
  std::unique_ptr<ZSTD_CStream, size_t (*)(ZSTD_CStream*)> writer_;
  std::vector<char> piece_;
};

}  // namespace

const char* name(Compression c) {
  return c == Compression::gzip ? "gzip" : c == Compression::zstd ? "Zstandard" : "plain";
}

Compression compression_of(std::string_view bytes) {
  if (bytes.substr(0, 2) == "\x1F\x8B") return Compression::gzip;
  // A frame, or one that readers skip, with which pzstd and seekable files begin.
  const bool skipped = bytes.size() >= 4 && (bytes[0] & 0xF0) == 0x50 && bytes.substr(1, 3) == "\x2A\x4D\x18";
  return skipped || bytes.substr(0, 4) == "\x28\xB5\x2F\xFD" ? Compression::zstd : Compression::none;
}

void decompress(Compression c, std::string_view bytes, const std::string& file, const ByteSink& sink) {
  Expansion to{file, c, sink};
  if (c == Compression::gzip) decompress_gzip(bytes, to);
  else if (c == Compression::zstd) decompress_zstd(bytes, to);
  else sink(bytes);
}

std::unique_ptr<Compressor> make_compressor(Compression c, const std::string& file) {
  if (c == Compression::gzip) return std::make_unique<GzipCompressor>(file);
  if (c == Compression::zstd) return std::make_unique<ZstdCompressor>(file);
  return nullptr;
}

uint32_t crc32_after(uint32_t before, std::string_view bytes) {
  return static_cast<uint32_t>(::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace tessera
