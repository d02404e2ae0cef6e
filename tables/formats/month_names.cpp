#include "tables/formats/month_names.h"

#include <cstring>

namespace tessera {

const MonthNames kMonthNames[kMonthLists] = {
    {"", false, {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}},
    {"",
     true,
     {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
      "December"}},
    {"en.", false, {"Jan.", "Feb.", "Mar.", "Apr.", "May", "June", "July", "Aug.", "Sept.", "Oct.", "Nov.", "Dec."}},
    {"de", false, {"Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"}},
    {"de",
     true,
     {"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
      "Dezember"}},
    {"de.", false, {"Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez."}},
    {"fr.", false, {"janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."}},
    {"fr", false, {"janv", "févr", "mars", "avr", "mai", "juin", "juil", "août", "sept", "oct", "nov", "déc"}},
    {"fr",
     true,
     {"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre",
      "décembre"}},
    {"es", false, {"ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sep", "oct", "nov", "dic"}},
    {"es",
     true,
     {"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre",
      "diciembre"}},
    {"it", false, {"gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic"}},
    {"it",
     true,
     {"gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre",
      "novembre", "dicembre"}},
    {"pt", false, {"jan", "fev", "mar", "abr", "mai", "jun", "jul", "ago", "set", "out", "nov", "dez"}},
    {"pt",
     true,
     {"janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro",
      "dezembro"}},
};

namespace {

// Letters of ASCII, and those of Latin-1 as the second byte of their UTF-8: À … Þ and à … þ differ by 0x20 too.
char lower_byte(char c, bool second) {
  const auto u = static_cast<unsigned char>(c);
  if (second) return u >= 0x80 && u <= 0x9E ? static_cast<char>(u + 0x20) : c;
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (size_t i = 0; i < out.size(); ++i) out[i] = lower_byte(text[i], i > 0 && text[i - 1] == '\xC3');
  return out;
}

std::string raised(std::string_view text, size_t letters) {
  std::string out(text);
  for (size_t i = 0, n = 0; i < out.size() && n < letters; ++i) {
    const auto u = static_cast<unsigned char>(out[i]);
    if (i > 0 && out[i - 1] == '\xC3' && u >= 0xA0 && u <= 0xBE) out[i] = static_cast<char>(u - 0x20);
    else if (out[i] >= 'a' && out[i] <= 'z') out[i] = static_cast<char>(out[i] - 32);
    n += out[i] != '\xC3';
  }
  return out;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

std::string spelled(const char* name, NameCase spelling) {
  switch (spelling) {
    case NameCase::upper: return raised(name, std::strlen(name));
    case NameCase::lower: return lowered(name);
    case NameCase::title: return raised(lowered(name), 1);
    case NameCase::natural: break;
  }
  return name;
}

}  // namespace

uint32_t read_month(const char* p, const char* end, int& month, int& bytes) {
  constexpr size_t kLongest = 16;
  const std::string text = lowered({p, std::min(kLongest, static_cast<size_t>(end - p))});
  uint32_t lists = 0;
  bytes = 0;
  if (text.empty() || !is_letter(text[0])) return 0;
  for (int list = 0; list < kMonthLists; ++list)
    for (int m = 0; m < 12; ++m) {
      const std::string name = lowered(kMonthNames[list].names[m]);
      const auto n = static_cast<int>(name.size());
      if (n < bytes || text.compare(0, name.size(), name) != 0) continue;
      if (name.size() < text.size() && name.back() != '.' && is_letter(text[name.size()])) continue;
      if (n > bytes) lists = 0;
      bytes = n, month = m + 1;
      lists |= 1u << list;
    }
  return lists;
}

int month_list(std::string_view tag, bool whole) {
  for (int list = 0; list < kMonthLists; ++list)
    if (tag == kMonthNames[list].tag && whole == kMonthNames[list].whole) return list;
  return -1;
}

void write_month(int list, int month, NameCase spelling, std::string& out) {
  out += spelled(kMonthNames[list].names[month - 1], spelling);
}

}  // namespace tessera
