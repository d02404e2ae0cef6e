// Kinds of texts of a regenerated column for which characters by place would give impossible texts: network addresses
// with parts above 255, numbers with wrong check digits, names of random letters.
//
// The texts of a kind are learned as symbols: an octet or a name is one character of plane 16; a constant stands for a
// part that must not be real. Everything else of a pattern is treated as in any text.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

enum class TextKind : uint8_t {
  plain,
  ipv4,   // an octet is a symbol
  card,   // payment cards: 999999 for the issuer, check digit by Luhn
  iban,   // the bank's first four characters are 0, check digits modulo 97
  email,  // at a reserved domain (RFC 2606)
  name,   // of persons: each word is a symbol from the lists of names.h; titles and particles stay
  ipv6,   // hexadecimal digits by place
  uuid,   // the variant is a symbol
  hash,
  url,          // at a reserved domain
  phone,        // common areas stay; one constant digit makes the number impossible
  coordinates,  // whole degrees are symbols
  postal_code,
  address,  // of streets, which are symbols, from the lists of street_names.h
  first_name,
  dates,  // of numbers, beside a few words: year, month, day and time are symbols
  // digits, of which the last is a check digit:
  luhn,  // IMEI, SIM cards, national numbers
  ean,   // EAN, UPC, GTIN, ISBN-13, SSCC: weights 3, 1
  isbn,  // ISBN-10, ISSN: modulo 11, X for 10
  nhs,   // modulo 11, never 10
};

const char* name(TextKind kind);                                // "plain", "ipv4" …
bool parse_text_kind(const std::string& text, TextKind& kind);  // false: no such kind
std::string text_kind_names();                                  // all but "plain", as a list
const char* described(TextKind kind);                           // "IPv4 addresses"; "" for plain

// Whether two rows may have the same text: two persons may share a name, an address, or a day.
inline bool may_repeat(TextKind kind) {
  return kind == TextKind::name || kind == TextKind::first_name || kind == TextKind::address || kind == TextKind::dates;
}

// The kind of all these texts, or of most if people typed them; plain if there are fewer than five. `column`: the name
// of the column, which may indicate names of persons.
TextKind text_kind_of(std::span<const std::string_view> texts, const std::string& column = "");

// The check digit that all these texts have; plain: none.
TextKind check_of(std::span<const std::string_view> texts);

// Whether a text can be of a kind that is formal; true for what people write as they like, such as names.
bool may_be(TextKind kind, std::string_view text);

// The languages of the names in a column, by the lists that contain its words.
class NameStyle {
 public:
  NameStyle() = default;
  explicit NameStyle(std::span<const std::string_view> texts);
  // Replaces a word by a name of the list of its language, sex and position, in turn, so that no symbol reveals a name.
  // The sex is that of the title, or of the first given name. None if the text is not a name.
  std::optional<std::u32string> encode(std::string_view text, uint64_t turn, bool first_names) const;

 private:
  std::vector<std::pair<size_t, double>> weights_;  // by language
};

// Encodes the texts of a column as symbols.
class TextEncoder {
 public:
  // Properties that at least `least` of the texts share may stay.
  TextEncoder(TextKind kind, std::span<const std::string_view> texts, size_t least);
  // None if the text is not of the kind. `turn` numbers the texts.
  std::optional<std::u32string> encode(std::string_view text, uint64_t turn) const;
  // The symbols from which decode_text() would make exactly this text; none if there are none.
  std::optional<std::u32string> exact(std::string_view text) const;

 private:
  TextKind kind_;
  NameStyle names_;
  std::vector<std::string> areas_;  // of telephone numbers, ascending
};
std::string decode_text(TextKind kind, std::u32string_view symbols);

// Symbols: octets, names (as listed, in capitals, in lower case), whole degrees (from 0, then from −0), variants of
// UUIDs, streets, parts of dates (months, days, hours and minutes written 05, then 5).
constexpr char32_t kFirstOctet = 0x100000, kFirstName = 0x102000;
constexpr char32_t kOctets = 256, kNamesOfACase = 0x800, kNameSymbols = 3 * kNamesOfACase;
constexpr char32_t kFirstLatitude = 0x100400, kFirstLongitude = 0x100500, kLatitudes = 90, kLongitudes = 180;
constexpr char32_t kFirstVariant = 0x100700, kFirstCapitalVariant = 0x100704, kVariantSymbols = 4;
constexpr char32_t kFirstStreet = 0x100800, kStreetSymbols = 192;
constexpr char32_t kMonthSymbol = 0x100900, kDaySymbol = 0x100910, kHourSymbol = 0x100930, kMinuteSymbol = 0x100950;
constexpr char32_t kMonthSymbols = 12, kDaySymbols = 28, kHourSymbols = 24, kMinuteSymbols = 60, kShortForms = 0x100;
constexpr char32_t kYearSymbol = 0x100B00, kYearSymbols = 256;
constexpr int kFirstYearListed = 1880;
// ASCII characters that stay in place: signs, not letters or digits
constexpr char32_t kFirstConstant = 0x100F00, kConstants = 128;
std::u32string constants(std::string_view ascii);

}  // namespace tessera
