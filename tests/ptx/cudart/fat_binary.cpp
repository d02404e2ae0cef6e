// A wrapper of nvcc's points to a header, and images behind it: each a header of its own, and text or machine code,
// which nvcc 13 packs with zstd. NVIDIA does not document it; what is not as expected is an error.
#include "ptx/cudart/fat_binary.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace tessera::ptx {
namespace {

struct Wrapper {
  uint32_t magic, version;
  const char* images;
};
struct Header {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;
};
struct Image {
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t bytes;         // with padding
  uint32_t packed_bytes;  // 0: not packed
  uint32_t unknown;
  uint32_t language, architecture;
  uint32_t unknown_too[6];
  uint64_t unpacked_bytes;
};
constexpr uint32_t kWrapperMagic = 0x466243B1u, kHeaderMagic = 0xBA55ED50u;
constexpr uint16_t kText = 1;
static_assert(sizeof(Image) == 64);

std::string unpacked(const char* from, size_t bytes, size_t to_bytes) {
  static void* library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error("PTX is packed by zstd, and there is no libzstd.so.1 to unpack it");
  static const auto decompress =
      reinterpret_cast<size_t (*)(void*, size_t, const void*, size_t)>(dlsym(library, "ZSTD_decompress"));
  std::string text(to_bytes, 0);
  if (decompress == nullptr || decompress(text.data(), to_bytes, from, bytes) != to_bytes)
    throw std::runtime_error("the PTX of a fat binary is packed otherwise than by zstd");
  return text;
}

}  // namespace

std::string ptx_of(const void* wrapper, int architecture) {
  const auto& w = *static_cast<const Wrapper*>(wrapper);
  Header h;
  std::memcpy(&h, w.images, sizeof h);
  if (w.magic != kWrapperMagic || h.magic != kHeaderMagic) throw std::runtime_error("not a fat binary of nvcc");
  std::string best;
  uint32_t best_for = 0;
  for (const char *at = w.images + h.header_bytes, *end = at + h.bytes; at < end;) {
    Image i;
    std::memcpy(&i, at, sizeof i);
    const char* data = at + i.header_bytes;
    if (i.kind == kText && i.architecture <= static_cast<uint32_t>(architecture) && i.architecture > best_for) {
      best = i.packed_bytes == 0 ? std::string(data, i.bytes) : unpacked(data, i.packed_bytes, i.unpacked_bytes);
      best.resize(std::strlen(best.c_str()));
      best_for = i.architecture;
    }
    at += i.header_bytes + i.bytes;
  }
  return best;
}

}  // namespace tessera::ptx
