// Street addresses: a house number and a street, in the order of the language.
#include <algorithm>
#include <iterator>
#include <vector>

#include "base/text/ascii.h"
#include "tables/texts/characters.h"
#include "tables/texts/kinds.h"
#include "tables/texts/street_names.h"
#include "tables/texts/text_kind.h"

namespace tessera {
namespace {

constexpr const Streets* kLanguages[] = {&kEnglishStreets, &kGermanStreets,  &kFrenchStreets,
                                         &kSpanishStreets, &kItalianStreets, &kPortugueseStreets};
static_assert(std::size(kLanguages) * kStreetsOfALanguage == kStreetSymbols);
enum Language : size_t { english, german, french, spanish, italian, portuguese };

constexpr size_t kMaxWords = 6, kMaxExtraWords = 2;

struct Word {
  size_t begin, end;
};

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> out;
  for (size_t at = 0; at < text.size();) {
    at = std::min(text.find_first_not_of(' ', at), text.size());
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) out.push_back({at, end});
    at = end;
  }
  return out;
}

std::string plain(std::string_view word) {  // lower case, without a trailing point or comma
  while (!word.empty() && (word.back() == '.' || word.back() == ',')) word.remove_suffix(1);
  std::string out(word);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

template <size_t N>
bool among(const std::string& word, const std::string_view (&list)[N]) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

bool is_house_number(std::string_view word) { return !word.empty() && is_digit(word[0]) && word.size() <= 6; }

bool ends_street(const std::string& word) {  // of English
  constexpr std::string_view kTypes[] = {"street", "st",   "avenue",  "ave",   "road",   "rd",      "boulevard",
                                         "blvd",   "lane", "ln",      "drive", "dr",     "court",   "ct",
                                         "place",  "pl",   "way",     "sq",    "square", "ter",     "terrace",
                                         "circle", "cir",  "parkway", "pkwy",  "hwy",    "highway", "trail"};
  return among(word, kTypes);
}

bool is_german_street(const std::string& word) {
  for (const std::string_view end : {"straße", "strasse", "str", "weg", "platz", "allee", "gasse"})
    if (word.size() > end.size() && word.compare(word.size() - end.size(), end.size(), end) == 0) return true;
  return false;
}

std::optional<Language> begins_street(const std::string& word) {
  constexpr std::string_view kFrench[] = {"rue", "boulevard", "place", "chemin", "impasse", "allée", "quai", "route"};
  constexpr std::string_view kSpanish[] = {"calle", "avenida", "av", "plaza", "paseo", "camino", "carrera", "c/"};
  constexpr std::string_view kItalian[] = {"via", "viale", "piazza", "corso", "vicolo"};
  constexpr std::string_view kPortuguese[] = {"rua", "travessa", "praça", "alameda"};
  if (among(word, kFrench)) return french;
  if (among(word, kSpanish)) return spanish;
  if (among(word, kItalian)) return italian;
  if (among(word, kPortuguese)) return portuguese;
  return {};
}

struct Street {
  size_t begin, end;  // bytes of its name
  Language language;
};

// "12 Oak Street", "12 rue du Moulin": the number first.
std::optional<Street> behind_number(std::string_view text, const std::vector<Word>& words) {
  const auto word = [&](size_t i) { return plain(text.substr(words[i].begin, words[i].end - words[i].begin)); };
  const size_t first = words.size() > 2 && (word(1) == "bis" || word(1) == "ter") ? 2 : 1;
  if (begins_street(word(first)) == french || (word(first) == "avenue" && words.size() > first + 1))
    return Street{words[first].begin, words.back().end, french};
  for (size_t i = first + 1; i < words.size(); ++i)
    if (ends_street(word(i)) && words.size() - i - 1 <= kMaxExtraWords) {
      const bool sign = text[words[i].end - 1] == ',';
      return Street{words[first].begin, words[i].end - sign, english};
    }
  return {};
}

// "Gartenstraße 12", "Calle Mayor, 12", "Via Roma 12": the number last.
std::optional<Street> before_number(std::string_view text, const std::vector<Word>& words) {
  size_t last = words.size() - 1;
  if (last > 1 && !is_house_number(text.substr(words[last].begin))) --last;  // "12 a"
  if (last == 0 || !is_house_number(text.substr(words[last].begin, words[last].end - words[last].begin))) return {};
  const std::string first = plain(text.substr(0, words[0].end)),
                    street = plain(text.substr(words[last - 1].begin, words[last - 1].end - words[last - 1].begin));
  const size_t end = words[last - 1].end - (text[words[last - 1].end - 1] == ',');
  auto language = begins_street(first);
  constexpr std::string_view kPortugueseOf[] = {"da", "do", "das", "dos"};  // "Avenida" is used in two languages
  if (language == spanish && among(plain(text.substr(words[1].begin, words[1].end - words[1].begin)), kPortugueseOf))
    language = portuguese;
  if (language && language != french && last > 1) return Street{words[0].begin, end, *language};
  return is_german_street(street) ? std::optional(Street{words[0].begin, end, german}) : std::nullopt;
}

std::optional<Street> find_street(std::string_view text) {
  const std::vector<Word> words = words_of(text);
  if (words.size() < 2 || words.size() > kMaxWords + kMaxExtraWords) return {};
  return is_house_number(text.substr(words[0].begin, words[0].end - words[0].begin)) ? behind_number(text, words)
                                                                                     : before_number(text, words);
}

}  // namespace

bool is_street_address(std::string_view text) { return find_street(text).has_value(); }

std::optional<std::u32string> street_symbols(std::string_view text, std::optional<uint64_t> turn) {
  const std::optional<Street> street = find_street(text);
  if (!street) return code_points(text);
  const Streets& list = *kLanguages[street->language];
  const std::string_view name = text.substr(street->begin, street->end - street->begin);
  const size_t at = turn ? static_cast<size_t>(*turn % kStreetsOfALanguage)
                         : static_cast<size_t>(std::find(list.begin(), list.end(), name) - list.begin());
  if (at == kStreetsOfALanguage) return {};
  const auto symbol = static_cast<char32_t>(kFirstStreet + street->language * kStreetsOfALanguage + at);
  return code_points(text.substr(0, street->begin)) + symbol + code_points(text.substr(street->end));
}

std::string_view street_of(size_t symbol) {
  return (*kLanguages[symbol / kStreetsOfALanguage])[symbol % kStreetsOfALanguage];
}

}  // namespace tessera
