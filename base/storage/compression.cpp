#include "base/storage/compression.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <vector>

#include "base/error.h"

namespace tessera {
namespace {

constexpr size_t kPiece = size_t{1} << 18;

// zlib's binary interface, the same since version 1.
struct ZStream {
  const unsigned char* next_in = nullptr;
  unsigned avail_in = 0;
  unsigned long total_in = 0;
  unsigned char* next_out = nullptr;
  unsigned avail_out = 0;
  unsigned long total_out = 0;
  const char* message = nullptr;
  void *state = nullptr, *allocate = nullptr, *release = nullptr, *opaque = nullptr;
  int data_type = 0;
  unsigned long checksum = 0, reserved = 0;
};
constexpr int kZOk = 0, kZEnd = 1, kZMemory = -4, kZBuffer = -5;
constexpr int kZNoFlush = 0, kZFinish = 4, kZDeflated = 8;
constexpr int kGzipWindow = 15 + 16;    // the largest window, with a header and trailer of gzip
constexpr const char* kZVersion = "1";  // zlib compares the first digit

struct ZlibApi {
  int (*inflate_init)(ZStream*, int, const char*, int);
  int (*inflate)(ZStream*, int);
  int (*inflate_reset)(ZStream*);
  int (*inflate_end)(ZStream*);
  int (*deflate_init)(ZStream*, int, int, int, int, int, const char*, int);
  int (*deflate)(ZStream*, int);
  int (*deflate_end)(ZStream*);
};

// libzstd's stable interface, of version 1.4 and later.
struct ZstdIn {
  const void* bytes;
  size_t size, at;
};
struct ZstdOut {
  void* bytes;
  size_t size, at;
};
constexpr int kZstdContinue = 0, kZstdEnd = 2, kZstdLevel = 100, kZstdChecksum = 201;

struct ZstdApi {
  void* (*create_reader)();
  size_t (*free_reader)(void*);
  size_t (*read)(void*, ZstdOut*, ZstdIn*);
  void* (*create_writer)();
  size_t (*free_writer)(void*);
  size_t (*set)(void*, int, int);
  size_t (*write)(void*, ZstdOut*, ZstdIn*, int);
  unsigned (*is_error)(size_t);
  const char* (*error_name)(size_t);
};

// A shared library, opened once and never closed.
class Library {
 public:
  Library(const char* file, const char* package) : package_(package), handle_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr)
      if (const char* error = dlerror(); error != nullptr) why_ = error;
  }
  template <class Function>
  void find(Function& to, const char* symbol) {
    if (handle_ == nullptr) return;
    to = reinterpret_cast<Function>(dlsym(handle_, symbol));
    if (to == nullptr && why_.empty()) why_ = fmt::format("it has no {}", symbol);
  }
  void check(const std::string& file, Compression c) const {
    if (!why_.empty())
      throw Error(ErrorCode::unsupported, fmt::format("{}: {} is not available: {}.\n  Install it (Debian: {}).", file,
                                                      name(c), why_, package_));
  }

 private:
  const char* package_;
  void* handle_;
  std::string why_;
};

struct Zlib : Library, ZlibApi {
  Zlib() : Library("libz.so.1", "zlib1g"), ZlibApi() {
    find(inflate_init, "inflateInit2_"), find(inflate, "inflate"), find(inflate_reset, "inflateReset");
    find(inflate_end, "inflateEnd"), find(deflate_init, "deflateInit2_"), find(deflate, "deflate");
    find(deflate_end, "deflateEnd");
  }
};

struct Zstd : Library, ZstdApi {
  Zstd() : Library("libzstd.so.1", "libzstd1"), ZstdApi() {
    find(create_reader, "ZSTD_createDStream"), find(free_reader, "ZSTD_freeDStream");
    find(read, "ZSTD_decompressStream"), find(create_writer, "ZSTD_createCStream");
    find(free_writer, "ZSTD_freeCStream"), find(set, "ZSTD_CCtx_setParameter"), find(write, "ZSTD_compressStream2");
    find(is_error, "ZSTD_isError"), find(error_name, "ZSTD_getErrorName");
  }
};

const Zlib& zlib(const std::string& file) {
  static const Zlib once;
  once.check(file, Compression::gzip);
  return once;
}

const Zstd& zstd(const std::string& file) {
  static const Zstd once;
  once.check(file, Compression::zstd);
  return once;
}

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
    if (out > kExpansionChecked && out / kMostExpansion > consumed)
      throw Error(ErrorCode::data,
                  fmt::format("{}: its first {} bytes expand to more than {} times their size.\n  If the file is meant "
                              "to be like that, decompress it first.",
                              file, consumed, kMostExpansion));
    if (!bytes.empty()) sink(bytes);
  }
  [[noreturn]] void fail(size_t at, const std::string& why) const {
    throw Error(ErrorCode::data, fmt::format("{}: the {} file is damaged at byte {}: {}.\n  Copy or download it again.",
                                             file, name(kind), at, why));
  }
  [[noreturn]] void fail_cut(size_t at) const { fail(at, "it ends early"); }
};

struct Inflating {
  const Zlib& z;
  ZStream s;
  explicit Inflating(const std::string& file) : z(zlib(file)) {
    const int status = z.inflate_init(&s, kGzipWindow, kZVersion, sizeof s);
    if (status == kZMemory) fail_memory(file, Compression::gzip);
    if (status != kZOk)
      throw Error(ErrorCode::unsupported, file + ": this version of zlib is not known.\n  Install zlib 1.2 or later.");
  }
  ~Inflating() { z.inflate_end(&s); }
  Inflating(const Inflating&) = delete;
  Inflating& operator=(const Inflating&) = delete;
};

void decompress_gzip(std::string_view bytes, Expansion& to) {
  Inflating in(to.file);
  std::vector<unsigned char> piece(kPiece);
  size_t at = 0;  // consumed
  int status = kZOk;
  while (at < bytes.size() || status != kZEnd) {
    // Tapes and block devices fill a file up with zeros; gzip(1) ignores them too.
    if (status == kZEnd && bytes.find_first_not_of('\0', at) == std::string_view::npos) return;
    if (status == kZEnd && in.z.inflate_reset(&in.s) != kZOk) fail_memory(to.file, to.kind);
    const size_t some = std::min<size_t>(bytes.size() - at, UINT_MAX);
    in.s.next_in = reinterpret_cast<const unsigned char*>(bytes.data()) + at,
    in.s.avail_in = static_cast<unsigned>(some);
    in.s.next_out = piece.data(), in.s.avail_out = static_cast<unsigned>(piece.size());
    status = in.z.inflate(&in.s, kZNoFlush);
    at += some - in.s.avail_in;
    if (status == kZMemory) fail_memory(to.file, to.kind);
    if (status != kZOk && status != kZEnd && status != kZBuffer)
      to.fail(at, in.s.message != nullptr ? in.s.message : "it is not gzip");
    const size_t made = piece.size() - in.s.avail_out;
    to.pass({reinterpret_cast<const char*>(piece.data()), made}, at);
    if (status != kZEnd && made == 0 && at == bytes.size()) to.fail_cut(at);
  }
}

void decompress_zstd(std::string_view bytes, Expansion& to) {
  const Zstd& z = zstd(to.file);
  const std::unique_ptr<void, size_t (*)(void*)> reader(z.create_reader(), z.free_reader);
  if (reader == nullptr) fail_memory(to.file, to.kind);
  std::vector<char> piece(kPiece);
  ZstdIn in{bytes.data(), bytes.size(), 0};
  size_t left = 1;  // 0: a frame is complete
  while (in.at < in.size || left != 0) {
    ZstdOut out{piece.data(), piece.size(), 0};
    const size_t before = in.at;
    left = z.read(reader.get(), &out, &in);
    if (z.is_error(left) != 0) to.fail(in.at, z.error_name(left));
    to.pass({piece.data(), out.at}, in.at);
    if (left != 0 && out.at == 0 && in.at == before && in.at == in.size) to.fail_cut(in.at);
  }
}

class GzipCompressor : public Compressor {
 public:
  explicit GzipCompressor(const std::string& file) : z_(zlib(file)), piece_(kPiece) {
    constexpr int kLevel = 6, kMemory = 8, kUsual = 0;
    if (z_.deflate_init(&s_, kLevel, kZDeflated, kGzipWindow, kMemory, kUsual, kZVersion, sizeof s_) != kZOk)
      fail_memory(file, Compression::gzip);
  }
  ~GzipCompressor() override { z_.deflate_end(&s_); }
  GzipCompressor(const GzipCompressor&) = delete;
  GzipCompressor& operator=(const GzipCompressor&) = delete;

  void write(std::string_view bytes, const ByteSink& sink) override {
    for (size_t at = 0; at < bytes.size(); at += UINT_MAX) {
      const std::string_view some = bytes.substr(at, UINT_MAX);
      s_.next_in = reinterpret_cast<const unsigned char*>(some.data()),
      s_.avail_in = static_cast<unsigned>(some.size());
      while (s_.avail_in > 0) step(kZNoFlush, sink);
    }
  }
  void finish(const ByteSink& sink) override {
    while (step(kZFinish, sink) != kZEnd) {}
  }

 private:
  int step(int flush, const ByteSink& sink) {
    s_.next_out = piece_.data(), s_.avail_out = static_cast<unsigned>(piece_.size());
    const int status = z_.deflate(&s_, flush);
    if (const size_t made = piece_.size() - s_.avail_out; made > 0)
      sink({reinterpret_cast<const char*>(piece_.data()), made});
    return status;
  }

  const Zlib& z_;
  ZStream s_;
  std::vector<unsigned char> piece_;
};

class ZstdCompressor : public Compressor {
 public:
  explicit ZstdCompressor(const std::string& file)
      : file_(file), z_(zstd(file)), writer_(z_.create_writer(), z_.free_writer), piece_(kPiece) {
    if (writer_ == nullptr) fail_memory(file, Compression::zstd);
    z_.set(writer_.get(), kZstdLevel, 3);
    z_.set(writer_.get(), kZstdChecksum, 1);
  }
  void write(std::string_view bytes, const ByteSink& sink) override {
    ZstdIn in{bytes.data(), bytes.size(), 0};
    while (in.at < in.size) step(in, kZstdContinue, sink);
  }
  void finish(const ByteSink& sink) override {
    ZstdIn nothing{nullptr, 0, 0};
    while (step(nothing, kZstdEnd, sink) != 0) {}
  }

 private:
  size_t step(ZstdIn& in, int how, const ByteSink& sink) {
    ZstdOut out{piece_.data(), piece_.size(), 0};
    const size_t left = z_.write(writer_.get(), &out, &in, how);
    if (z_.is_error(left) != 0)
      throw Error(ErrorCode::memory, fmt::format("{}: Zstandard failed: {}.", file_, z_.error_name(left)));
    if (out.at > 0) sink({piece_.data(), out.at});
    return left;
  }

  const std::string file_;
  const Zstd& z_;
  std::unique_ptr<void, size_t (*)(void*)> writer_;
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

void check_compression(Compression c, const std::string& file) {
  if (c == Compression::gzip) zlib(file);
  if (c == Compression::zstd) zstd(file);
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

}  // namespace tessera
