// Kinds of texts that need more than a list of symbols: how each is recognized and encoded.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

inline bool is_decimal(char32_t c) { return c >= '0' && c <= '9'; }

bool is_ipv6(std::string_view text);
std::u32string ipv6_digits(std::string_view text);  // all 32, lower case
std::string ipv6_of(std::u32string_view digits);    // as RFC 5952 writes it

bool is_uuid(std::string_view text);                 // RFC 9562, of the usual variant
std::u32string uuid_symbols(std::string_view text);  // the variant is a symbol
bool is_hash(std::string_view text);  // 32, 40, 56, 64, 96 or 128 hexadecimal digits, some of them letters

// Numbers that end in a check digit, of the kinds luhn, ean, isbn, nhs (and card, beyond its own form).
bool is_checked(TextKind kind, std::string_view text);
size_t last_digit(std::u32string_view text);                    // its place; there must be one
char32_t check_digit(TextKind kind, std::u32string_view text);  // 'X' for 10
std::u32string checked_symbols(TextKind kind, std::u32string text);
std::u32string checked_text(TextKind kind, std::u32string symbols);

bool is_url(std::string_view text);
std::u32string url_symbols(std::string_view text);  // at a reserved domain

// With a country code, or North American: three, three and four digits.
bool is_phone(std::string_view text);
// The part before the subscriber number: country and area, "+49 30 " or "(212) "; empty if they cannot be separated.
std::string_view phone_area(std::string_view text);
// One digit becomes a constant that no number of the country has there: the first digit after `area`, which replaces
// the text's own area; if `area` is empty, the first after the country.
std::u32string phone_symbols(std::string_view text, std::string_view area);

// Latitude and longitude in degrees with a point: "48.8566, 2.3522", also in parentheses; "POINT(2.3522 48.8566)".
bool is_coordinates(std::string_view text);
std::u32string coordinates_symbols(std::string_view text);  // whole degrees are symbols

bool is_postal_code(std::string_view text);  // of formats that other codes rarely have

bool is_street_address(std::string_view text);
// The street becomes a symbol of its language's list: number `turn`; without `turn` its own, if it is listed.
std::optional<std::u32string> street_symbols(std::string_view text, std::optional<uint64_t> turn);
std::string_view street_of(size_t symbol);

// None if the text is no date of numbers with a year of four digits.
std::optional<std::u32string> date_symbols(std::string_view text);
std::string number_of_symbol(char32_t symbol);

bool is_name(std::string_view text);
// Counts of texts: those of several words that look like names, and with a listed word at its place; single words.
struct NameEvidence {
  size_t shaped = 0, known = 0, single = 0, single_first = 0, single_last = 0;
};
NameEvidence name_evidence(std::span<const std::string_view> texts);
std::optional<std::u32string> listed_symbols(std::string_view text, bool first_names);
std::string name_of_symbol(char32_t symbol);

}  // namespace tessera
