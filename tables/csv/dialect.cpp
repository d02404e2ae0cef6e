#include "tables/csv/dialect.h"

#include <algorithm>
#include <cmath>

#include "tables/csv/scan.h"
#include "tables/formats/values.h"
#include "tables/types/types.h"

namespace tessera {
namespace {

// The first complete rows, up to a fault in the text (which the reader will report).
std::vector<std::vector<std::string>> head_rows(const char* begin, const char* end, char delimiter) {
  const bool cut = end - begin > kHeadBytes;
  CsvScanner scanner(begin, cut ? begin + kHeadBytes : end, delimiter);
  scanner.check_text(false);
  std::vector<std::vector<std::string>> rows;
  std::string scratch;
  try {
    while (rows.size() < kHeadRows && scanner.next()) {
      if (cut && scanner.position() == begin + kHeadBytes && !rows.empty()) break;
      if (scanner.is_blank()) continue;
      std::vector<std::string>& row = rows.emplace_back();
      for (size_t i = 0; i < scanner.count(); ++i) row.emplace_back(csv_text(scanner.fields()[i], scratch));
    }
  } catch (const CsvFault&) {}
  return rows;
}

// either: "100 m", "08:00" may be values, and name columns
enum class Kind { missing, value, text, either };

Kind kind_of(const std::string& cell) {
  static const MissingWords none;
  if (none.always(cell) || MissingWords::usual(cell)) return Kind::missing;
  TypeEvidence evidence;
  evidence.add(cell, 0, none);
  if (evidence.is_text()) return Kind::text;
  const bool dressed = evidence.forms.affix > 1 || evidence.forms.separator != 0;
  return dressed || (evidence.forms.kinds & (form::kClock | form::kSpans)) != 0 ? Kind::either : Kind::value;
}

// Numbers that name columns: those that rise beside the empty corner of an index, years in even steps, and what pandas
// writes for columns without names (0, 1, 2 …), unless the row below has such too.
bool are_numbered(const std::vector<std::string>& names, const std::vector<std::string>& below) {
  const auto numbers = [](const std::vector<std::string>& row) {
    std::vector<double> out;
    for (const std::string& cell : row) {
      if (const Kind kind = kind_of(cell); kind == Kind::text || kind == Kind::missing) continue;
      double x = 0;
      out.push_back(read_finite(cell, x) ? x : NAN);
    }
    return out;
  };
  const auto are_years = [](const std::vector<double>& row) {
    return row.size() > 1 &&
           std::ranges::all_of(row, [](double x) { return x >= 1800 && x <= 2100 && x == std::floor(x); });
  };
  const auto rises = [](const std::vector<double>& row, bool evenly) {
    for (size_t i = 1; i < row.size(); ++i)
      if (!(row[i] > row[i - 1]) || (evenly && row[i] - row[i - 1] != row[1] - row[0])) return false;
    return row.size() > 1;
  };
  const std::vector<double> first = numbers(names), second = numbers(below);
  if (names[0].empty() && !below[0].empty() && first.size() + 1 == names.size() && rises(first, false)) return true;
  if (!rises(first, true)) return false;
  if (are_years(first)) return !are_years(second);
  return first.size() > 2 && (first[0] == 0 || first[0] == 1) && first[1] == first[0] + 1 && !rises(second, true);
}

}  // namespace

char find_delimiter(const char* begin, const char* end) {
  char best = ',';
  double best_share = 0;
  size_t best_fields = 1;
  for (const char candidate : {',', ';', '\t', '|'}) {
    const auto rows = head_rows(begin, end, candidate);
    if (rows.empty() || rows[0].size() < 2) continue;
    const size_t fields = rows[0].size();
    const auto same = std::count_if(rows.begin(), rows.end(), [&](const auto& row) { return row.size() == fields; });
    const double share = static_cast<double>(same) / static_cast<double>(rows.size());
    if (share > best_share || (share == best_share && fields > best_fields))
      best = candidate, best_share = share, best_fields = fields;
  }
  return best;
}

bool find_header(const char* begin, const char* end, char delimiter) {
  const auto rows = head_rows(begin, end, delimiter);
  if (rows.empty()) return true;
  bool has_value = false;
  for (size_t j = 0; j < rows[0].size(); ++j) {
    const Kind first = kind_of(rows[0][j]);
    has_value |= first == Kind::value;
    if (first != Kind::text) continue;
    bool values_below = false, texts_below = false;
    for (size_t i = 1; i < rows.size(); ++i) {
      if (j >= rows[i].size()) continue;
      const Kind kind = kind_of(rows[i][j]);
      values_below |= kind == Kind::value || kind == Kind::either;
      texts_below |= kind == Kind::text;
    }
    if (values_below && !texts_below) return true;
  }
  return !has_value || (rows.size() > 1 && are_numbered(rows[0], rows[1]));
}

}  // namespace tessera
