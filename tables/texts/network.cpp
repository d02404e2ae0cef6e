// Network addresses, URLs and hexadecimal identifiers.
#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "base/text/ascii.h"
#include "tables/texts/characters.h"
#include "tables/texts/kinds.h"
#include "tables/texts/text_kind.h"

namespace tessera {
namespace {

constexpr size_t kGroups = 8, kGroupDigits = 4;
constexpr std::string_view kVariants = "89ab";
constexpr size_t kVariantAt = 19;

bool is_hex(char c) { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f'); }

// Appends the groups of a part of an address; false if one is invalid.
bool add_groups(std::string_view part, std::vector<std::string_view>& groups) {
  if (part.empty()) return true;
  for (size_t at = 0; at <= part.size();) {
    const size_t end = std::min(part.find(':', at), part.size());
    const std::string_view group = part.substr(at, end - at);
    if (group.empty() || group.size() > kGroupDigits || !std::all_of(group.begin(), group.end(), is_hex)) return false;
    groups.push_back(group);
    at = end + 1;
  }
  return true;
}

// All eight groups; none if the text is not an address. "::" stands for one or more groups of zeros.
std::vector<std::string_view> groups_of(std::string_view text) {
  std::vector<std::string_view> front, back;
  const size_t gap = text.find("::");
  const bool fits =
      add_groups(text.substr(0, gap), front) && (gap == text.npos || add_groups(text.substr(gap + 2), back));
  const size_t held = front.size() + back.size();
  if (!fits || (gap == text.npos ? held != kGroups : held >= kGroups)) return {};
  front.resize(kGroups - back.size(), "0");
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

// Begin and end of the host of a URL, with user and port; {0, 0} if the text is not a URL.
std::pair<size_t, size_t> host_of(std::string_view text) {
  for (const std::string_view scheme : {"http://", "https://", "ftp://"}) {
    if (text.substr(0, scheme.size()) != scheme) continue;
    const size_t end = std::min(text.find_first_of("/?#", scheme.size()), text.size());
    const std::string_view host = text.substr(scheme.size(), end - scheme.size());
    const size_t point = host.find('.');
    if (point != host.npos && point > 0 && point + 1 < host.size()) return {scheme.size(), end};
  }
  return {0, 0};
}

}  // namespace

bool is_ipv6(std::string_view text) { return text.find(':') != text.npos && !groups_of(text).empty(); }

std::u32string ipv6_digits(std::string_view text) {
  std::u32string out;
  for (const std::string_view group : groups_of(text)) {
    out.append(kGroupDigits - group.size(), U'0');
    for (const char c : group) out += static_cast<char32_t>(lower(c));
  }
  return out;
}

std::string ipv6_of(std::u32string_view digits) {
  std::array<std::string, kGroups> groups;
  for (size_t g = 0; g < kGroups; ++g) {
    const std::u32string_view group = digits.substr(g * kGroupDigits, kGroupDigits);
    groups[g] = utf8(group.substr(std::min(group.find_first_not_of(U'0'), kGroupDigits - 1)));
  }
  size_t gap = 0, longest = 1;  // the first of the longest runs of at least two zero groups
  for (size_t g = 0; g < kGroups; ++g) {
    size_t end = g;
    while (end < kGroups && groups[end] == "0") ++end;
    if (end - g > longest) longest = end - g, gap = g;
  }
  std::string out;
  for (size_t g = 0; g < kGroups; ++g) {
    if (longest > 1 && g == gap) {
      out += "::";
      g += longest - 1;
      continue;
    }
    if (!out.empty() && out.back() != ':') out += ':';
    out += groups[g];
  }
  return out;
}

bool is_uuid(std::string_view text) {
  constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (text.size() != kShape.size()) return false;
  for (size_t i = 0; i < text.size(); ++i)
    if (kShape[i] == '-' ? text[i] != '-' : !is_hex(text[i])) return false;
  return kVariants.find(lower(text[kVariantAt])) != kVariants.npos;
}

std::u32string uuid_symbols(std::string_view text) {
  std::u32string out = code_points(text);
  const bool capitals = std::any_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'F'; });
  out[kVariantAt] = (capitals ? kFirstCapitalVariant : kFirstVariant) +
                    static_cast<char32_t>(kVariants.find(lower(text[kVariantAt])));
  return out;
}

bool is_hash(std::string_view text) {
  constexpr size_t kLengths[] = {32, 40, 56, 64, 96, 128};
  return std::find(std::begin(kLengths), std::end(kLengths), text.size()) != std::end(kLengths) &&
         std::all_of(text.begin(), text.end(), is_hex) && !std::all_of(text.begin(), text.end(), is_digit);
}

bool is_url(std::string_view text) {
  return host_of(text).second > 0 && text.find_first_of(" \"<>") == std::string_view::npos;
}

std::u32string url_symbols(std::string_view text) {
  const auto [begin, end] = host_of(text);
  if (end == 0) return code_points(text);
  return code_points(text.substr(0, begin)) + constants("example.com") + code_points(text.substr(end));
}

}  // namespace tessera
