// Names of persons: each word is a symbol of the list of its language, sex and position; titles, particles and initials
// stay.
#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <numeric>
#include <unordered_map>

#include "base/text/utf8.h"
#include "tables/texts/characters.h"
#include "tables/texts/kinds.h"
#include "tables/texts/names.h"
#include "tables/texts/text_kind.h"

namespace tessera {
namespace {

enum NamePart : size_t { male, female, family };
enum LetterCase : size_t { title_case, upper_case, lower_case };
using Languages = uint32_t;  // bits
constexpr size_t kLanguagesOfNames = std::size(kNameLists);
static_assert(kNamesOfAList == 32 && kLanguagesOfNames <= 32 &&
              kLanguagesOfNames * kNameParts * kNamesOfAList <= kNamesOfACase);
constexpr size_t kMaxNameWords = 8;

char32_t lower_letter(char32_t c) {
  const bool latin = (c >= 'A' && c <= 'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7);
  if (c == 0x130) return 'i';
  return latin                                    ? c + 32
         : c >= 0x100 && c <= 0x137 && c % 2 == 0 ? c + 1
         : c >= 0x139 && c <= 0x148 && c % 2 == 1 ? c + 1
         : c >= 0x14A && c <= 0x177 && c % 2 == 0 ? c + 1
         : c == 0x179 || c == 0x17B || c == 0x17D ? c + 1
                                                  : c;
}
char32_t upper_letter(char32_t c) {
  for (const char32_t at : {c - 32, c - 1})
    if (at < c && lower_letter(at) == c) return at;
  return c;
}
bool is_name_letter(char32_t c) { return class_of(c) != 0 && !(c >= '0' && c <= '9'); }

std::string lower_text(std::u32string_view word) {
  std::string out;
  for (const char32_t c : word) append_utf8(lower_letter(c), out);
  return out;
}

std::string_view listed_name(size_t language, size_t part, size_t n) {
  std::string_view list = kNameLists[language][part];
  for (; n > 0; --n) list.remove_prefix(list.find(' ') + 1);
  return list.substr(0, list.find(' '));
}

// The languages whose lists contain the word, by part.
std::array<Languages, kNameParts> languages_of(std::u32string_view word) {
  static const auto known = [] {
    std::unordered_map<std::string, std::array<Languages, kNameParts>> out;
    for (size_t l = 0; l < kLanguagesOfNames; ++l)
      for (size_t part = 0; part < kNameParts; ++part)
        for (size_t n = 0; n < kNamesOfAList; ++n)
          out[lower_text(code_points(listed_name(l, part, n)))][part] |= Languages{1} << l;
    return out;
  }();
  const auto at = known.find(lower_text(word));
  return at == known.end() ? std::array<Languages, kNameParts>{} : at->second;
}

bool is_in(std::string_view words, std::u32string_view word) {
  return words.find(' ' + lower_text(word) + ' ') != std::string_view::npos;
}

struct NameWord {
  size_t begin, end;
  bool stays, last = false;  // stays: a title or particle
};

struct NameText {
  std::vector<NameWord> words;
  size_t names = 0;  // words that do not stay
  LetterCase spelling = title_case;
  std::optional<NamePart> sex;  // from a title
};

// The words of a name; none if the text has digits, too many words, or words that cannot be names.
std::optional<NameText> name_text(std::u32string_view text) {
  NameText out;
  std::array<size_t, 3> cases{};
  for (size_t at = 0; at < text.size();) {
    if (!is_name_letter(text[at])) {
      if (text[at] >= '0' && text[at] <= '9') return {};
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && is_name_letter(text[end])) ++end;
    const std::u32string_view word = text.substr(at, end - at);
    // "St." and "Sr." are titles, "Sr" is ambiguous
    const std::u32string_view dotted = text.substr(at, end - at + (end < text.size() && text[end] == '.'));
    const bool man = is_in(kMaleTitles, word), woman = is_in(kFemaleTitles, word);
    if (man) out.sex = male;
    if (woman) out.sex = female;
    const bool stays = man || woman || is_in(kOtherTitles, word) || is_in(kOtherTitles, dotted) ||
                       (is_in(kParticles, word) && word[0] == lower_letter(word[0]));
    const bool letter = word.size() == 1 || (end < text.size() && text[end] == '\'');  // J. Smith, O'Neil
    if (!stays && !letter) {
      const bool lower = word[0] == lower_letter(word[0]),
                 upper = std::all_of(word.begin(), word.end(), [](char32_t c) { return c == upper_letter(c); });
      ++cases[lower ? lower_case : upper ? upper_case : title_case];
      if (++out.names > kMaxNameWords) return {};  // a long text is not read to its end
    }
    if (!letter) out.words.push_back({at, end, stays});
    at = end;
  }
  if (out.names == 0) return {};
  if (cases[lower_case] == out.names) out.spelling = lower_case;
  else if (cases[lower_case] > 0) return {};
  else if (cases[upper_case] == out.names) out.spelling = upper_case;
  const size_t comma = text.find(U',');
  NameWord* last = nullptr;  // in "First Last", or before the comma in "Last, First"
  for (NameWord& w : out.words) {
    if (w.stays) continue;
    if (comma != text.npos && w.begin < comma) w.last = true;
    last = &w;
  }
  if (comma == text.npos || std::none_of(out.words.begin(), out.words.end(), [](auto& w) { return w.last; }))
    last->last = true;
  return out;
}

bool is_first_part(const std::array<Languages, kNameParts>& l) { return (l[male] | l[female]) != 0; }

}  // namespace

bool is_name(std::string_view text) { return name_text(code_points(text)).has_value(); }

NameEvidence name_evidence(std::span<const std::string_view> texts) {
  constexpr std::string_view kCompanies = " inc llc ltd gmbh ag co corp company plc group sons holdings bv nv sa spa ";
  NameEvidence out;
  for (const std::string_view t : texts) {
    const std::u32string text = code_points(t);
    const auto name = name_text(text);
    if (!name) continue;
    bool first = name->sex.has_value(), last = false, company = false;
    for (const NameWord& w : name->words) {
      const std::u32string_view word = std::u32string_view(text).substr(w.begin, w.end - w.begin);
      company |= is_in(kCompanies, word);
      if (w.stays) continue;
      const auto l = languages_of(word);
      const bool alone = name->names == 1;
      first |= is_first_part(l) && (alone || !w.last);
      last |= l[family] != 0 && w.last;
    }
    if (company) continue;
    if (name->names == 1 && !name->sex) {
      ++out.single, out.single_first += first && !last, out.single_last += last;
    } else {
      ++out.shaped, out.known += first || last;
    }
  }
  return out;
}

NameStyle::NameStyle(std::span<const std::string_view> texts) {
  std::vector<double> score(kLanguagesOfNames, 0);
  for (const std::string_view t : texts) {
    const std::u32string text = code_points(t);
    const auto name = name_text(text);
    if (!name) continue;
    for (const NameWord& w : name->words) {
      if (w.stays) continue;
      const auto l = languages_of(std::u32string_view(text).substr(w.begin, w.end - w.begin));
      const Languages all = w.last && name->names > 1 ? l[family] : l[male] | l[female];
      for (size_t k = 0; k < score.size(); ++k)
        if (all >> k & 1) score[k] += 1.0 / std::popcount(all);
    }
  }
  // Languages that rarely occur only share names with others.
  constexpr double kShare = 0.1;
  const double sum = std::accumulate(score.begin(), score.end(), 0.0);
  for (size_t k = 0; k < score.size(); ++k)
    if (score[k] > 0 && score[k] >= kShare * sum) weights_.emplace_back(k, score[k]);
  if (weights_.empty()) weights_ = {{0, 1.0}, {1, 1.0}};
}

std::optional<std::u32string> NameStyle::encode(std::string_view t, uint64_t turn, bool first_names) const {
  const std::u32string text = code_points(t);
  const auto name = name_text(text);
  if (!name) return {};
  std::vector<double> score(weights_.size(), 0);
  std::optional<NamePart> sex = name->sex;
  const auto word_of = [&](const NameWord& w) { return std::u32string_view(text).substr(w.begin, w.end - w.begin); };
  for (const NameWord& w : name->words) {
    if (w.stays) continue;
    const auto l = languages_of(word_of(w));
    const bool last = w.last && !(first_names && name->names == 1);
    for (size_t k = 0; k < weights_.size(); ++k)
      score[k] += static_cast<double>((last ? l[family] : l[male] | l[female]) >> weights_[k].first & 1);
    if (!sex && !last && (l[male] != 0) != (l[female] != 0)) sex = l[male] != 0 ? male : female;
  }
  if (!sex) sex = turn / 2 % 2 == 0 ? male : female;
  size_t language = static_cast<size_t>(std::max_element(score.begin(), score.end()) - score.begin());
  if (score[language] == 0) {  // one of the column's languages, by their shares
    double at = 0, sum = 0;
    for (const auto& [l, weight] : weights_) sum += weight;
    double left = sum * static_cast<double>(turn * 0x9e3779b97f4a7c15 >> 11) * 0x1p-53;
    for (language = 0; language + 1 < weights_.size() && (at = weights_[language].second) <= left; ++language)
      left -= at;
  }
  std::u32string out;
  size_t done = 0;
  uint64_t next = 0;
  for (const NameWord& w : name->words) {
    out += text.substr(done, w.begin - done);
    done = w.end;
    if (w.stays) {
      for (const char32_t c : word_of(w)) out += c < 0x80 ? kFirstConstant + c : c;
      continue;
    }
    const size_t part = w.last && !(first_names && name->names == 1) ? size_t{family} : size_t{*sex};
    const uint64_t in_list = (turn * kMaxNameWords + next++) * 0x9e3779b97f4a7c15 >> 59;  // one of 32, for any stride
    out += static_cast<char32_t>(kFirstName + name->spelling * kNamesOfACase +
                                 (weights_[language].first * kNameParts + part) * kNamesOfAList + in_list);
  }
  return out + text.substr(done);
}

// The symbols of a text if all its words are listed.
std::optional<std::u32string> listed_symbols(std::string_view t, bool first_names) {
  const std::u32string text = code_points(t);
  const auto name = name_text(text);
  if (!name) return {};
  std::u32string out;
  size_t done = 0;
  for (const NameWord& w : name->words) {
    const std::u32string_view word = std::u32string_view(text).substr(w.begin, w.end - w.begin);
    out += text.substr(done, w.begin - done);
    done = w.end;
    if (w.stays) {
      for (const char32_t c : word) out += c < 0x80 ? kFirstConstant + c : c;
      continue;
    }
    const bool last = w.last && !(first_names && name->names == 1);
    const size_t before = out.size();
    for (size_t l = 0; l < kLanguagesOfNames && out.size() == before; ++l)
      for (size_t part = last ? size_t{family} : size_t{male}; part < kNameParts && (last || part != family); ++part)
        for (size_t n = 0; n < kNamesOfAList && out.size() == before; ++n) {
          const auto symbol = static_cast<char32_t>(kFirstName + name->spelling * kNamesOfACase +
                                                    (l * kNameParts + part) * kNamesOfAList + n);
          if (code_points(name_of_symbol(symbol)) == word) out += symbol;
        }
    if (out.size() == before) return {};
  }
  return out + text.substr(done);
}

std::string name_of_symbol(char32_t symbol) {
  const size_t at = symbol - kFirstName, spelling = at / kNamesOfACase, n = at % kNamesOfACase;
  const size_t list = n / kNamesOfAList;
  if (list >= kLanguagesOfNames * kNameParts) return {};
  std::u32string name = code_points(listed_name(list / kNameParts, list % kNameParts, n % kNamesOfAList));
  for (char32_t& c : name)
    if (spelling != title_case) c = spelling == upper_case ? upper_letter(c) : lower_letter(c);
  return utf8(name);
}

}  // namespace tessera
