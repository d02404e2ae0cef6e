#include "tables/types/keys.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/text/ascii.h"
#include "tables/kinds/cells.h"
#include "tables/texts/text_kind.h"
#include "tables/types/types.h"

namespace tessera {
bool named_like_moment(const std::string& name) {
  const std::string small = lower_case(name);
  for (const char* moment : {"date", "time", "year", "month"})
    if (small.find(moment) != small.npos) return true;
  return false;
}

namespace {

using Words = std::string_view;  // " one two "

bool has(Words words, const std::string& word) { return !word.empty() && words.find(' ' + word + ' ') != words.npos; }

constexpr Words kMarks = " id no nr nro num number nummer numero número numéro cod codigo código code ";
constexpr Words kNumberMarks = " number nummer num numero número numéro ";  // of quantities too
// persons, and what is numbered for them, as they stand in names of keys; with the German joints
constexpr Words kOwners =
    " account acct applicant application auftrag auftrags beleg benutzer bestell bill booking buchung buchungs case "
    "claim cli client cliente commande compte contract contrat contrato cuenta cust customer dossier emp empleado "
    "employe employee expediente factura facture fall file invoice konto kunde kunden member mitarbeiter mitglied "
    "mitglieds order paciente pat patient patienten pedido person persona personal poliza póliza police policy "
    "rechnung "
    "rechnungs reservation reserva student subj subject ticket transaction tx txn user usubj usuario versicherungs "
    "vertrag vertrags ";

constexpr size_t longest_word(Words words) {
  size_t longest = 0, length = 0;
  for (const char c : words) longest = std::max(longest, length = c == ' ' ? 0 : length + 1);
  return longest;
}
constexpr size_t kMaxPart = std::max(longest_word(kMarks), longest_word(kOwners));

// The words of a name, in small letters: accountNo, "Account No." → account, no; kundennr, numcli, userid → two each.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> out(1);
  for (size_t i = 0; i < name.size(); ++i) {
    const auto is_upper = [&](size_t at) { return at < name.size() && lower(name[at]) != name[at]; };
    const char c = lower(name[i]);
    const bool letter = (c >= 'a' && c <= 'z') || (c & 0x80) != 0, follows_small = i > 0 && !is_upper(i - 1),
               precedes_small = i + 1 < name.size() && upper(name[i + 1]) != name[i + 1];
    if ((!letter || (is_upper(i) && (follows_small || precedes_small))) && !out.back().empty()) out.emplace_back();
    if (letter) out.back() += c;
  }
  if (out.size() > 1 && out.back().empty()) out.pop_back();
  std::vector<std::string> parts;
  for (std::string& word : out) {
    constexpr std::string_view kNumber = "nummer";
    // of a word longer than two parts, only the end can split off
    size_t at = word.size() > 2 * kMaxPart ? word.size() - kNumber.size() : 2;
    for (; at + 2 <= word.size(); ++at) {
      const std::string first = word.substr(0, at), second = word.substr(at);
      if ((has(kMarks, first) && has(kOwners, second)) || (has(kOwners, first) && has(kMarks, second)) ||
          second == "nr" || second == kNumber)
        break;
    }
    const bool splits = at + 2 <= word.size();
    parts.push_back(splits ? word.substr(0, at) : word);
    if (splits) parts.push_back(word.substr(at));
  }
  return parts;
}

// What a name says of whole numbers or codes: number: of an account, or how many.
enum class Named { otherwise, number, key };

Named named_like(const std::string& name) {
  constexpr Words kNames =
      " index row rowid row_number unnamed: 0 customer user client patient member employee "
      "student subject kunde cliente paciente usuario benutzer mitarbeiter ";
  constexpr Words kLast = " id uid key no nr nro mrn ssn serial folio matricula matrícula matricule ";
  if (named_like_moment(name)) return Named::otherwise;
  if (has(kNames, lower_case(name))) return Named::key;
  std::vector<std::string> words = words_of(name);
  if (has(kLast, words.back()) || words.front() == "id") return Named::key;
  // numero de cliente, número del pedido; "number of children" counts
  std::erase_if(words, [](const std::string& word) { return has(" de del do da du ", word); });
  const size_t n = words.size();
  if (n > 1 &&
      ((has(kMarks, words[0]) && has(kOwners, words[1])) || (has(kMarks, words[n - 1]) && has(kOwners, words[n - 2]))))
    return Named::key;
  return n > 0 && has(kNumberMarks, words[n - 1]) ? Named::number : Named::otherwise;
}

// product_id, storeId: keys of things, not persons; other columns follow from them.
bool named_like_thing(const std::string& name) {
  constexpr Words kThings =
      " airport article branch category city class code color country course diagnosis district drug flight group "
      "house item line location lot material model package part plan procedure product region route "
      "shop site sku state station store supplier train type vendor warehouse zip zone artikel haus produkt zimmer ";
  const std::vector<std::string> words = words_of(name);
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) { return has(kThings, word); });
}

// Texts such as C100357, ORD-2024-0012 or 7f3a09: no blanks, with digits; equal but for their digits, or of one length.
// Up to 5 % may differ.
bool look_generated(const std::vector<std::string>& texts) {
  constexpr size_t kOthers = 20, kFrames = 8, kWithDigits = 5, kLongest = 64;
  std::unordered_set<std::string> frames;
  std::vector<size_t> of_length(kLongest + 1);
  size_t others = 0, digitless = 0;
  for (const std::string& text : texts) {
    if (text.size() > kLongest || std::any_of(text.begin(), text.end(), [](char c) { return c <= ' ' || c > '~'; })) {
      ++others;
      continue;
    }
    std::string frame;
    bool digits = false;
    for (const char c : text) {
      if (!is_digit(c)) frame += c;
      else if (frame.empty() || frame.back() != '0') frame += '0', digits = true;
    }
    digitless += !digits, ++of_length[text.size()];
    if (digits && frames.size() <= texts.size()) frames.insert(std::move(frame));
  }
  if (others * kOthers > texts.size() || digitless * kWithDigits > texts.size()) return false;
  const size_t alike = *std::max_element(of_length.begin(), of_length.end());
  return (digitless * kOthers <= texts.size() && frames.size() <= std::max(kFrames, texts.size() / kOthers)) ||
         (texts.size() - alike) * kOthers <= texts.size();
}

struct Repeated {
  size_t values = 0, distinct = 0;
  size_t rare = 0;  // rows of values that few rows share
  void add(size_t rows) {
    constexpr size_t kSharedBy = 5;
    values += rows, distinct += rows > 0;
    if (rows < kSharedBy) rare += rows;
  }
  // As keys do, not as quantities or categories: most values are rare, or there are too many to be levels.
  bool like_keys() const {
    constexpr size_t kMinKeys = 20, kLevels = 256, kMaxRowsOfKey = 50;
    return distinct >= kMinKeys && distinct * kMaxRowsOfKey >= values &&
           (distinct == values || 2 * rare > values || distinct > kLevels);
  }
};

constexpr double kLong = 1e7;  // eight digits

bool is_long(const Bulk<double>& numbers) {
  return std::none_of(numbers.begin(), numbers.end(), [](double v) { return v < kLong; });
}

// What whole numbers are of which each ends in a check digit; or nothing. By chance one in ten does.
std::string checked_as(const std::vector<double>& ascending) {
  constexpr size_t kMinDistinct = 20;
  if (ascending.front() < kLong) return {};
  std::vector<std::string> texts;
  for (size_t i = 0; i < ascending.size(); ++i) {
    if (i > 0 && ascending[i] == ascending[i - 1]) continue;
    texts.push_back(std::to_string(static_cast<int64_t>(ascending[i])));
    // the first few decide for nearly all columns
    if (texts.size() == kMinDistinct &&
        check_of(std::vector<std::string_view>(texts.begin(), texts.end())) == TextKind::plain)
      return {};
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return texts.size() < kMinDistinct ? "" : described(check_of(views));
}

// Account numbers, not counts: each has as many digits, at least four.
bool are_of_one_length(const std::vector<double>& ascending) {
  constexpr double kShort = 1000;
  const auto digits = [](double v) { return std::to_string(static_cast<int64_t>(v)).size(); };
  return ascending.front() >= kShort && digits(ascending.front()) == digits(ascending.back());
}

// Whether the numbers were given out, not measured, whatever the column is called: many, no two alike, and not many of
// their range left over. Of as many that are drawn from that range by chance, hundreds would be alike. In ascending or
// descending order they may number the steps of a series.
bool are_given_out(const Column& column) {
  constexpr size_t kMinRows = 1000, kRangeOfRows = 4;
  constexpr Words kOrders =
      " age day epoch iteration level minute order place platz pos position rang rank ranking round score second seq "
      "sequence step t tick ts week ";
  const std::vector<std::string> words = words_of(column.name);
  if (named_like_moment(column.name) ||
      std::any_of(words.begin(), words.end(), [&](const std::string& word) { return has(kOrders, word); }))
    return false;
  double low = INFINITY, high = -INFINITY, last = NAN;
  size_t held = 0, rises = 0, falls = 0;
  for (const double v : column.numbers) {
    if (v != v) continue;
    low = std::min(low, v), high = std::max(high, v), rises += v > last, falls += v < last, ++held, last = v;
  }
  if (held < kMinRows || low < 0 || high - low >= static_cast<double>(kRangeOfRows * held) || rises == 0 || falls == 0)
    return false;
  std::vector<bool> taken(static_cast<size_t>(high - low) + 1);
  for (const double v : column.numbers) {
    if (v != v) continue;
    const auto at = static_cast<size_t>(v - low);
    if (taken[at]) return false;
    taken[at] = true;
  }
  return true;
}

std::string reason_of_numbers(const Column& column) {
  constexpr size_t kMaxRows = 5'000'000;
  const Named named = named_like(column.name);
  if (named != Named::key && are_given_out(column))
    return "whole numbers, all distinct, and dense in their range: given out, not measured";
  const bool by_name = named == Named::key || (named == Named::number && !named_like_thing(column.name));
  if (column.numbers.size() > kMaxRows || (!by_name && !is_long(column.numbers))) return {};
  std::vector<double> values;
  for (const double v : column.numbers)
    if (v == v) values.push_back(v);
  std::sort(values.begin(), values.end());
  if (values.empty() || values.front() < 0) return {};
  const std::string check = checked_as(values);
  if (check.empty() && (!by_name || (named == Named::number && !are_of_one_length(values)))) return {};
  Repeated repeated;
  for (size_t i = 0, end = 0; i < values.size(); i = end) {
    while (end < values.size() && values[end] == values[i]) ++end;
    repeated.add(end - i);
  }
  if (!repeated.like_keys()) return {};
  if (!check.empty())
    return grouped(static_cast<int64_t>(repeated.distinct)) + " whole numbers: " + check + ", which are no quantities";
  if (repeated.distinct == values.size()) return "whole numbers, all distinct, and the name is that of a key";
  return grouped(static_cast<int64_t>(repeated.distinct)) + " whole numbers that repeat, and the name is that of a key";
}

std::string reason_of_texts(const Column& column) {
  if (named_like(column.name) == Named::otherwise || named_like_thing(column.name)) return {};
  std::vector<size_t> rows(column.values.size());
  for (const int32_t code : column.codes)
    if (code >= 0) ++rows[static_cast<size_t>(code)];
  Repeated repeated;
  for (const size_t n : rows) repeated.add(n);
  if (!repeated.like_keys() || !look_generated(column.values)) return {};
  return grouped(static_cast<int64_t>(repeated.distinct)) + " codes that repeat, and the name is that of a key";
}

}  // namespace

std::string reason_of_key(const Column& column) {
  return has_texts(column) ? reason_of_texts(column) : reason_of_numbers(column);
}

}  // namespace tessera
