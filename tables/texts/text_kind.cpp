#include "tables/texts/text_kind.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "base/text/utf8.h"
#include "tables/texts/characters.h"
#include "tables/texts/kinds.h"

namespace tessera {
namespace {

constexpr const char* kKindNames[] = {"plain",      "ipv4",  "card", "iban",  "email",       "name",        "ipv6",
                                      "uuid",       "hash",  "url",  "phone", "coordinates", "postal_code", "address",
                                      "first_name", "dates", "luhn", "ean",   "isbn",        "nhs"};
constexpr const char* kDescribed[] = {"",
                                      "IPv4 addresses",
                                      "payment card numbers",
                                      "IBANs",
                                      "e-mail addresses",
                                      "names of persons",
                                      "IPv6 addresses",
                                      "UUIDs",
                                      "hashes in hexadecimal digits",
                                      "URLs",
                                      "telephone numbers",
                                      "coordinates",
                                      "postal codes",
                                      "street addresses",
                                      "first names",
                                      "dates beside words",
                                      "numbers with a check digit by Luhn",
                                      "EAN, UPC, GTIN or ISBN-13 numbers",
                                      "ISBN-10 or ISSN numbers",
                                      "numbers with a check digit modulo 11"};
static_assert(std::size(kKindNames) == std::size(kDescribed));
constexpr std::string_view kReserved[] = {"example.com", "example.org", "example.net"};
constexpr size_t kMaxTyped = 256;  // bytes of a telephone number, an address or a name
constexpr size_t kIssuerDigits = 6, kBankAt = 4, kBankCharacters = 4;

bool is_capital(char32_t c) { return c >= 'A' && c <= 'Z'; }

// --- IPv4 ---

std::optional<std::u32string> octets_of(std::string_view text) {
  std::u32string out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('.', at), text.size());
    const std::string_view octet = text.substr(at, end - at);
    if (octet.empty() || octet.size() > 3 || (octet.size() > 1 && octet[0] == '0')) return {};
    char32_t value = 0;
    for (const char c : octet) {
      if (!is_decimal(static_cast<unsigned char>(c))) return {};
      value = value * 10 + static_cast<char32_t>(c - '0');
    }
    if (value >= kOctets) return {};
    out += kFirstOctet + value;
    at = end + 1;
  }
  return out.size() == 4 ? std::optional(out) : std::nullopt;
}

// --- check digits ---

bool is_card(std::u32string_view text) {
  const auto digits = std::count_if(text.begin(), text.end(), is_decimal);
  if (digits < 13 || digits > 19 || text[0] < '2' || text[0] > '6') return false;
  if (!std::all_of(text.begin(), text.end(), [](char32_t c) { return is_decimal(c) || c == ' ' || c == '-'; }))
    return false;
  // issuers with 15 digits; other such numbers are those of devices
  if (digits == 15 && !text.starts_with(U"34") && !text.starts_with(U"37") && !text.starts_with(U"2131")) return false;
  return check_digit(TextKind::card, text) == text[last_digit(text)];
}

// ISO 13616: the country and the check digits count from the end.
int remainder_97(std::u32string_view iban) {
  std::u32string all;
  for (const char32_t c : iban)
    if (c != ' ') all += c;
  std::rotate(all.begin(), all.begin() + 4, all.end());
  int rest = 0;
  for (const char32_t c : all)
    rest = is_decimal(c) ? (rest * 10 + static_cast<int>(c - '0')) % 97
                         : (rest * 100 + static_cast<int>(c - 'A') + 10) % 97;
  return rest;
}

bool is_iban(std::u32string_view text) {
  const auto held = std::count_if(text.begin(), text.end(), [](char32_t c) { return c != ' '; });
  return held >= 15 && held <= 34 && is_capital(text[0]) && is_capital(text[1]) && is_decimal(text[2]) &&
         is_decimal(text[3]) &&
         std::all_of(text.begin(), text.end(), [](char32_t c) { return is_decimal(c) || is_capital(c) || c == ' '; }) &&
         remainder_97(text) == 1;
}

// Sets the n-th … characters that are not blanks to `c`.
void overwrite(std::u32string& text, size_t from, size_t count, char32_t c) {
  size_t n = 0;
  for (char32_t& held : text) {
    if (held == ' ' || held == '-') continue;
    if (n >= from && n < from + count) held = c;
    ++n;
  }
}

std::u32string finished_iban(std::u32string text) {
  overwrite(text, 2, 2, '0');
  const int check = 98 - remainder_97(text);
  overwrite(text, 2, 1, static_cast<char32_t>('0' + check / 10));
  overwrite(text, 3, 1, static_cast<char32_t>('0' + check % 10));
  return text;
}

// --- mail addresses ---

bool is_email(std::string_view text) {
  const size_t at = text.find('@');
  return at != std::string_view::npos && at > 0 && text.find('@', at + 1) == std::string_view::npos &&
         text.find('.', at + 2) < text.size() - 1 && text.find_first_of(" ,;<>\"") == std::string_view::npos;
}

// --- names ---

// Columns that hold names of persons, unless their texts contradict it.
bool is_name_column(std::string column) {
  constexpr std::string_view kColumns =
      " name full_name fullname customer customer_name patient patient_name passenger employee employee_name contact "
      "contact_name author person first_name firstname given_name last_name lastname surname family_name vorname "
      "nachname nom prenom prénom nombre apellido nome cognome sobrenome voornaam achternaam ";
  for (char& c : column)
    c = c == ' ' || c == '-' || c == '.' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return kColumns.find(' ' + column + ' ') != kColumns.npos;
}

TextKind kind_of_names(std::span<const std::string_view> texts, const std::string& column) {
  const NameEvidence e = name_evidence(texts);
  const bool named = is_name_column(column);
  if ((e.shaped + e.single) * 5 < texts.size() * 4) return TextKind::plain;
  if (2 * e.shaped >= e.single) return e.known * (named ? 10 : 4) >= e.shaped ? TextKind::name : TextKind::plain;
  if ((e.single_first + e.single_last) * (named ? 10 : 2) < e.single) return TextKind::plain;
  return e.single_first > e.single_last ? TextKind::first_name : TextKind::name;
}

bool has_check_digit(TextKind kind) { return kind >= TextKind::luhn && kind <= TextKind::nhs; }

std::u32string fixed(TextKind kind, std::u32string text) {
  if (kind == TextKind::card) {
    overwrite(text, 0, kIssuerDigits, '9');
    text[last_digit(text)] = '0';
  } else if (kind == TextKind::iban) {
    overwrite(text, 2, 2, '0');
    overwrite(text, kBankAt, kBankCharacters, '0');
  } else if (kind == TextKind::email) {
    const size_t domain = text.find(U'@') + 1;
    const std::u32string_view at = std::u32string_view(text).substr(domain);
    const auto* kept = std::find_if(std::begin(kReserved), std::end(kReserved),
                                    [&](std::string_view r) { return at == code_points(r) || at == constants(r); });
    text.replace(domain, std::u32string::npos, constants(kept == std::end(kReserved) ? kReserved[0] : *kept));
  }
  return text;
}

// Appends the text of a symbol; any other character is itself.
void append_symbol(char32_t c, std::string& out) {
  const auto of = [&](char32_t first, char32_t count) { return c >= first && c < first + count; };
  const auto degrees = [&](char32_t first, char32_t most) {
    const char32_t at = c - first;
    return (at >= most ? "-" : "") + std::to_string(at % most);
  };
  if (of(kFirstOctet, kOctets)) out += std::to_string(c - kFirstOctet);
  else if (of(kFirstName, kNameSymbols)) out += name_of_symbol(c);
  else if (of(kFirstLatitude, 2 * kLatitudes)) out += degrees(kFirstLatitude, kLatitudes);
  else if (of(kFirstLongitude, 2 * kLongitudes)) out += degrees(kFirstLongitude, kLongitudes);
  else if (of(kFirstVariant, kVariantSymbols)) out += "89ab"[c - kFirstVariant];
  else if (of(kFirstCapitalVariant, kVariantSymbols)) out += "89AB"[c - kFirstCapitalVariant];
  else if (of(kFirstStreet, kStreetSymbols)) out += street_of(c - kFirstStreet);
  else if (of(kMonthSymbol, kYearSymbol + kYearSymbols - kMonthSymbol)) out += number_of_symbol(c);
  else if (of(kFirstConstant, kConstants)) out += static_cast<char>(c - kFirstConstant);
  else append_utf8(c, out);
}

}  // namespace

const char* name(TextKind kind) { return kKindNames[static_cast<size_t>(kind)]; }
const char* described(TextKind kind) { return kDescribed[static_cast<size_t>(kind)]; }

bool parse_text_kind(const std::string& text, TextKind& kind) {
  for (size_t k = 0; k < std::size(kKindNames); ++k)
    if (text == kKindNames[k]) return kind = static_cast<TextKind>(k), true;
  return false;
}

std::string text_kind_names() {
  std::string out;
  for (size_t k = 1; k < std::size(kKindNames); ++k) out += (k > 1 ? ", " : "") + std::string(kKindNames[k]);
  return out;
}

TextKind text_kind_of(std::span<const std::string_view> texts, const std::string& column) {
  constexpr size_t kMin = 5;
  if (texts.size() < kMin) return TextKind::plain;
  const auto all = [&](auto is) { return std::all_of(texts.begin(), texts.end(), is); };
  const auto long_enough = [](std::string_view t) { return t.size() >= 13; };
  if (all([](std::string_view t) { return octets_of(t).has_value(); })) return TextKind::ipv4;
  if (all([&](std::string_view t) { return long_enough(t) && is_card(code_points(t)); })) return TextKind::card;
  if (all([&](std::string_view t) { return long_enough(t) && is_iban(code_points(t)); })) return TextKind::iban;
  if (const TextKind checked = check_of(texts); checked != TextKind::plain) return checked;
  if (all(is_email)) return TextKind::email;
  if (all(is_ipv6)) return TextKind::ipv6;
  if (all(is_uuid)) return TextKind::uuid;
  if (all(is_hash) && all([&](std::string_view t) { return t.size() == texts[0].size(); })) return TextKind::hash;
  if (all(is_coordinates)) return TextKind::coordinates;
  if (all(is_postal_code)) return TextKind::postal_code;
  // Texts typed by people have exceptions, which are not learned: a fifth at most, so that few texts of another column
  // are read.
  const auto nearly_all = [&](auto is) {
    size_t others = 0;
    return all([&](std::string_view t) { return is(t) || ++others * 5 <= texts.size(); });
  };
  const auto typed = [](auto is) { return [is](std::string_view t) { return t.size() <= kMaxTyped && is(t); }; };
  if (nearly_all([](std::string_view t) { return date_symbols(t).has_value(); })) return TextKind::dates;
  if (nearly_all(is_url)) return TextKind::url;
  if (nearly_all(typed(is_phone))) return TextKind::phone;
  if (nearly_all(typed(is_street_address))) return TextKind::address;
  if (!nearly_all(typed([](std::string_view) { return true; }))) return TextKind::plain;
  return kind_of_names(texts, column);
}

TextKind check_of(std::span<const std::string_view> texts) {
  constexpr size_t kMinDistinct = 5;  // one in ten has the right digit by chance
  if (std::set<std::string_view>(texts.begin(),
                                 texts.begin() + static_cast<std::ptrdiff_t>(std::min(texts.size(), 4 * kMinDistinct)))
          .size() < kMinDistinct)
    return TextKind::plain;
  for (const TextKind kind : {TextKind::luhn, TextKind::ean, TextKind::nhs, TextKind::isbn})
    if (std::all_of(texts.begin(), texts.end(), [&](std::string_view t) { return is_checked(kind, t); })) return kind;
  return TextKind::plain;
}

bool may_be(TextKind kind, std::string_view text) {
  if (has_check_digit(kind)) return is_checked(kind, text);
  switch (kind) {
    case TextKind::ipv4: return octets_of(text).has_value();
    case TextKind::ipv6: return is_ipv6(text);
    case TextKind::uuid: return is_uuid(text);
    case TextKind::email: return is_email(text);
    case TextKind::card: return !text.empty() && is_card(code_points(text));
    case TextKind::iban: return text.size() > kBankAt && is_iban(code_points(text));
    case TextKind::url: return is_url(text);
    case TextKind::coordinates: return is_coordinates(text);
    case TextKind::dates: return date_symbols(text).has_value();
    default: return true;
  }
}

std::u32string constants(std::string_view ascii) {
  std::u32string out;
  for (const char c : ascii) out.push_back(kFirstConstant + static_cast<unsigned char>(c));
  return out;
}

TextEncoder::TextEncoder(TextKind kind, std::span<const std::string_view> texts, size_t least) : kind_(kind) {
  if (kind == TextKind::name || kind == TextKind::first_name) names_ = NameStyle(texts);
  if (kind != TextKind::phone) return;
  std::map<std::string_view, size_t> areas;
  for (const std::string_view t : texts)
    if (const std::string_view area = phone_area(t); !area.empty()) ++areas[area];
  for (const auto& [area, n] : areas)
    if (n >= least) areas_.emplace_back(area);
}

std::optional<std::u32string> TextEncoder::encode(std::string_view text, uint64_t turn) const {
  const auto if_is = [&](bool is, auto&& symbols) { return is ? std::optional(symbols(text)) : std::nullopt; };
  if (has_check_digit(kind_))
    return if_is(is_checked(kind_, text), [&](auto t) { return checked_symbols(kind_, code_points(t)); });
  switch (kind_) {
    case TextKind::ipv4: return octets_of(text);
    case TextKind::ipv6: return if_is(is_ipv6(text), ipv6_digits);
    case TextKind::uuid: return if_is(is_uuid(text), uuid_symbols);
    case TextKind::dates: return date_symbols(text);
    case TextKind::url: return if_is(is_url(text), url_symbols);
    case TextKind::coordinates: return if_is(is_coordinates(text), coordinates_symbols);
    case TextKind::address: return is_street_address(text) ? street_symbols(text, turn) : std::nullopt;
    case TextKind::phone: {
      if (!is_phone(text)) return {};
      const std::string_view own = phone_area(text);
      if (areas_.empty() || own.empty()) return phone_symbols(text, "");
      return if_is(std::binary_search(areas_.begin(), areas_.end(), own),
                   [&](std::string_view t) { return phone_symbols(t, own); });
    }
    case TextKind::name:
    case TextKind::first_name: return names_.encode(text, turn, kind_ == TextKind::first_name);
    case TextKind::email: return is_email(text) ? std::optional(fixed(kind_, code_points(text))) : std::nullopt;
    default: return fixed(kind_, code_points(text));
  }
}

std::optional<std::u32string> TextEncoder::exact(std::string_view text) const {
  if (kind_ == TextKind::plain) return code_points(text);
  if (kind_ == TextKind::name || kind_ == TextKind::first_name)
    return listed_symbols(text, kind_ == TextKind::first_name);
  if (kind_ == TextKind::address) return is_street_address(text) ? street_symbols(text, {}) : std::nullopt;
  std::optional<std::u32string> symbols = encode(text, 0);
  return symbols && decode_text(kind_, *symbols) == text ? symbols : std::nullopt;
}

std::string decode_text(TextKind kind, std::u32string_view symbols) {
  constexpr size_t kIpv6Digits = 32;
  if (kind == TextKind::ipv6 && symbols.size() == kIpv6Digits) return ipv6_of(symbols);
  std::u32string text(symbols);
  // Places that took whole classes of characters may have changed constant parts.
  if (kind == TextKind::email) {
    if (text.find(U'@') == std::u32string::npos) text += U'@';
    text = fixed(kind, text);
  } else if (kind == TextKind::card &&
             std::count_if(text.begin(), text.end(), [](char32_t c) { return is_decimal(c); }) > 1) {
    text = checked_text(kind, fixed(kind, text));
  } else if (has_check_digit(kind)) {
    text = checked_text(kind, text);
  } else if (kind == TextKind::iban && text.size() > kBankAt + kBankCharacters) {
    text = finished_iban(fixed(kind, text));
  }
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool octet = text[i] >= kFirstOctet && text[i] < kFirstOctet + kOctets;
    if (octet && i > 0) out += '.';
    append_symbol(text[i], out);
  }
  return out;
}

}  // namespace tessera
