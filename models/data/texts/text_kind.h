// What the texts of a regenerated column are, where characters by place would make texts that cannot be: addresses of
// computers with parts above 255, numbers with wrong check digits, names of random letters.
//
// The texts of a kind are learned as symbols: an octet or a name is one character of plane 16, a constant stands for
// what may not be real. Everything else of a pattern stays as it is for any text.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

enum class TextKind : uint8_t {
  plain,
  ipv4,   // an octet is a symbol
  card,   // payment cards: 999999 for the issuer, check digit by Luhn
  iban,   // the bank's first four characters are 0, check digits modulo 97
  email,  // at a reserved domain (RFC 2606)
  name,   // of persons: each word is a symbol, from the lists of names.h
  ipv6,   // hexadecimal digits by place
  uuid,   // the variant is a symbol
  hash,
  url,          // at a reserved domain
  phone,        // one digit is a constant, which makes it a number that cannot be
  coordinates,  // whole degrees are symbols
  postal_code,
  address,  // of streets, which are symbols, from the lists of street_names.h
};

const char* name(TextKind kind);                                // "plain", "ipv4" …
bool parse_text_kind(const std::string& text, TextKind& kind);  // false: no such kind
const char* described(TextKind kind);                           // "IPv4 addresses"; "" for plain

// Whether two rows may have the same text: two persons one name, or one address.
inline bool may_repeat(TextKind kind) { return kind == TextKind::name || kind == TextKind::address; }

// The kind of all these texts, or of most of them where people write them; plain if there are fewer than five.
TextKind text_kind_of(std::span<const std::string_view> texts);

// The symbols that a text is learned as. `turn` numbers the texts: words of names become symbols in turn, so that no
// symbol tells a name.
std::u32string encode_text(TextKind kind, std::string_view text, uint64_t turn);
// The symbols that decode_text() would make this very text of; none if it cannot.
std::optional<std::u32string> symbols_of(TextKind kind, std::string_view text);
std::string decode_text(TextKind kind, std::u32string_view symbols);

// Symbols: octets, first and last names, whole degrees (from 0, then from −0), variants of UUIDs, streets.
constexpr char32_t kFirstOctet = 0x100000, kFirstName = 0x100200, kFirstLastName = 0x100300;
constexpr char32_t kOctets = 256, kNames = 128;
constexpr char32_t kFirstLatitude = 0x100400, kFirstLongitude = 0x100500, kLatitudes = 90, kLongitudes = 180;
constexpr char32_t kFirstVariant = 0x100700, kFirstCapitalVariant = 0x100704, kVariantSymbols = 4;
constexpr char32_t kFirstStreet = 0x100800, kStreetSymbols = 192;
// ASCII characters that stay where they are: signs, not letters or digits
constexpr char32_t kFirstConstant = 0x100F00, kConstants = 128;
std::u32string constants(std::string_view ascii);

}  // namespace tessera
