#include "tables/arrow/wide_decimal.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/text/ascii.h"

namespace tessera {
namespace {

constexpr uint64_t kBillion = 1'000'000'000;

void negate(std::array<uint64_t, 4>& limb) {
  bool carry = true;
  for (uint64_t& l : limb) {
    l = ~l + (carry ? 1 : 0);
    carry = carry && l == 0;
  }
}

// Divides in place; the remainder.
uint64_t divide(std::array<uint64_t, 4>& limb, uint64_t by) {
  unsigned __int128 rest = 0;
  for (size_t i = 4; i-- > 0;) {
    rest = rest << 64 | limb[i];
    limb[i] = static_cast<uint64_t>(rest / by);
    rest %= by;
  }
  return static_cast<uint64_t>(rest);
}

void multiply_add(std::array<uint64_t, 4>& limb, uint64_t factor, uint64_t add) {
  unsigned __int128 carry = add;
  for (uint64_t& l : limb) {
    carry += static_cast<unsigned __int128>(l) * factor;
    l = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
}

}  // namespace

WideInteger WideInteger::load(const void* bytes, int width) {
  WideInteger out;
  std::memcpy(out.limb.data(), bytes, static_cast<size_t>(width));
  out.negative = (static_cast<const uint8_t*>(bytes)[width - 1] & 0x80) != 0;
  if (!out.negative) return out;
  std::memset(reinterpret_cast<char*>(out.limb.data()) + width, 0xFF, 32 - static_cast<size_t>(width));
  negate(out.limb);
  return out;
}

void WideInteger::store(void* bytes, int width) const {
  std::array<uint64_t, 4> out = limb;
  if (negative) negate(out);
  std::memcpy(bytes, out.data(), static_cast<size_t>(width));
}

void write_wide(const WideInteger& value, int scale, std::string& out) {
  std::string digits;  // the lowest first
  for (std::array<uint64_t, 4> left = value.limb; left != std::array<uint64_t, 4>{};) {
    uint64_t nine = divide(left, kBillion);
    for (int i = 0; i < 9; ++i, nine /= 10) digits += static_cast<char>('0' + nine % 10);
  }
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  if (scale < 0 && !digits.empty()) digits.insert(0, static_cast<size_t>(-scale), '0');
  const auto after = static_cast<size_t>(std::max(scale, 0));
  if (digits.size() <= after) digits.append(after + 1 - digits.size(), '0');
  const bool zero = digits.find_first_not_of('0') == std::string::npos;
  if (value.negative && !zero) out += '-';
  for (size_t i = digits.size(); i-- > 0;) {
    out += digits[i];
    if (i == after && after > 0) out += '.';
  }
}

bool read_wide(std::string_view text, int precision, int scale, WideInteger& value) {
  value = {};
  const char *p = text.data(), *end = p + text.size();
  value.negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  std::string digits;
  int64_t point = -1;  // digits before the point
  for (; p < end && (is_digit(*p) || (*p == '.' && point < 0)); ++p) {
    if (*p == '.') point = static_cast<int64_t>(digits.size());
    else digits += *p;
  }
  if (point < 0) point = static_cast<int64_t>(digits.size());
  if (digits.empty()) return false;
  if (p < end && (*p == 'e' || *p == 'E')) {
    int exponent = 0;
    if (++p < end && *p == '+') ++p;
    const auto [next, error] = std::from_chars(p, end, exponent);
    if (error != std::errc()) return false;
    p = next;
    point += exponent;
  }
  if (p != end) return false;

  const size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
  digits.erase(0, zeros);
  point -= static_cast<int64_t>(zeros);
  const int64_t kept = digits.empty() ? 0 : point + scale;  // digits of the result
  if (kept > precision) {
    digits.assign(static_cast<size_t>(precision), '9');
  } else if (kept < 0) {
    digits.clear();
  } else if (static_cast<size_t>(kept) >= digits.size()) {
    digits.append(static_cast<size_t>(kept) - digits.size(), '0');
  } else {
    const bool up = digits[static_cast<size_t>(kept)] >= '5';
    digits.resize(static_cast<size_t>(kept));
    // All nines at full precision stay: rounding up would not fit.
    if (up && !(kept == precision && digits.find_first_not_of('9') == std::string::npos)) {
      size_t at = digits.size();
      while (at > 0 && digits[at - 1] == '9') digits[--at] = '0';
      if (at > 0) ++digits[at - 1];
      else digits.insert(0, 1, '1');
    }
  }
  for (const char c : digits) multiply_add(value.limb, 10, static_cast<uint64_t>(c - '0'));
  return true;
}

int significant_digits(std::string_view text) {
  int count = 0, zeros = 0;
  for (const char c : text) {
    if (!is_digit(c) || (c == '0' && count == 0)) continue;
    zeros = c == '0' ? zeros + 1 : 0;
    ++count;
  }
  return count - zeros;
}

}  // namespace tessera
