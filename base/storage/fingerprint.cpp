#include "base/storage/fingerprint.h"

#include <cstring>

namespace tessera {
namespace {

// Both halves of a product folded into one: every bit of either factor reaches every bit of the result.
uint64_t fold(uint64_t x, uint64_t y) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(x) * y;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

constexpr uint64_t kFirst = 0xA0761D6478BD642Fu, kSecond = 0xE7037ED1A0B428DBu;

}  // namespace

void Fingerprint::add(const void* bytes, size_t count) {
  mix(bytes, count);
  close(count);
}

void Fingerprint::mix(const void* bytes, size_t count) {
  const char* at = static_cast<const char*>(bytes);
  for (size_t left = count; left > 0;) {
    uint64_t word[2] = {};
    const size_t some = left < sizeof word ? left : sizeof word;
    std::memcpy(word, at, some);
    // Sums as well as folds: a factor that happens to be 0 must not erase earlier input.
    a_ = fold(word[0] ^ a_, word[1] ^ kFirst) + (a_ << 1 | a_ >> 63);
    b_ = fold(word[1] ^ b_, word[0] ^ kSecond) + (b_ << 1 | b_ >> 63);
    at += some, left -= some;
  }
}

void Fingerprint::close(size_t count) {
  a_ = fold(a_ ^ count, kSecond) + b_;
  b_ = fold(b_ ^ count, kFirst) + a_;
}

std::string Fingerprint::text() const {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  for (const uint64_t half : {fold(a_ ^ kFirst, b_ ^ kSecond), fold(b_ ^ kFirst, a_ ^ kSecond) + a_})
    for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[half >> shift & 15];
  return out;
}

}  // namespace tessera
