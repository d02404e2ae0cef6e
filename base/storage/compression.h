// Bytes compressed with gzip or Zstandard, by zlib and libzstd.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tessera {

enum class Compression { none, gzip, zstd };

const char* name(Compression c);  // "gzip", "Zstandard"
// Determined by the first bytes of a file.
Compression compression_of(std::string_view bytes);

using ByteSink = std::function<void(std::string_view)>;

// Passes the decompressed bytes on in pieces: all members of a gzip file, all frames of a Zstandard file. Error(data)
// naming `file` and the byte if they are damaged or end early, or if they expand to more than kMaxExpansion times
// their size (data crafted to fill a disk); Error(memory).
constexpr size_t kMaxExpansion = 250, kExpansionChecked = size_t{1} << 26;
void decompress(Compression c, std::string_view bytes, const std::string& file, const ByteSink& sink);

// A compressor; the same bytes give the same file.
class Compressor {
 public:
  virtual ~Compressor() = default;
  virtual void write(std::string_view bytes, const ByteSink& sink) = 0;
  virtual void finish(const ByteSink& sink) = 0;  // once, at the end
};

// The CRC-32 of gzip and zip of further bytes, after that of those before them.
uint32_t crc32_after(uint32_t before, std::string_view bytes);

// gzip level 6, Zstandard level 3 with a checksum. Error(memory).
std::unique_ptr<Compressor> make_compressor(Compression c, const std::string& file);

}  // namespace tessera
