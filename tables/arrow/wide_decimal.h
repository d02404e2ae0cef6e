// Decimals of up to 256 bits, as in Arrow: an integer times a power of ten.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// A sign and a magnitude below 2²⁵⁵, in limbs of 64 bits, the lowest first.
struct WideInteger {
  std::array<uint64_t, 4> limb{};
  bool negative = false;

  static WideInteger load(const void* bytes, int width);  // two's complement of 4, 8, 16 or 32 bytes, little-endian
  void store(void* bytes, int width) const;
};

// The integer times 10^-scale, written in full: 1250 at scale 2 is "12.50", at scale −2 "125000".
void write_wide(const WideInteger& value, int scale, std::string& out);

// "12.5", "-3e4" in units of 10^-scale, rounded half away from zero, clamped to ±(10^precision − 1). False: not a
// number.
bool read_wide(std::string_view text, int precision, int scale, WideInteger& value);

// Significant digits of a number written in full, without zeros at either end.
int significant_digits(std::string_view text);

}  // namespace tessera
