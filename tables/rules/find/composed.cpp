// Texts that are put together of other columns. In proposing rows, each text is read from its start: the next piece is
// a part of a column that all texts go on with there, or a character that all of them share.
#include "tables/rules/kinds/composed.h"

#include <algorithm>
#include <set>

#include "tables/kinds/kind.h"
#include "tables/rules/find/search.h"

namespace tessera {
namespace {

constexpr size_t kMaxTextColumns = 60, kReadRows = 200, kMinReadRows = 20, kMinTexts = 8;
constexpr size_t kMaxParts = 8;
constexpr int kMaxReadings = 400;  // of one column's texts

struct PartColumn {
  int column;
  std::vector<std::string> cells;  // of the rows that are read
};

// The parts of a cell that are looked for.
std::vector<TextPart> forms_of(const Column& c, const std::vector<std::string>& cells) {
  if (is_whole(c)) {
    std::vector<TextPart> out{{c.name}};
    for (int width = 2; width <= 10; ++width) out.push_back({.column = c.name, .width = width});
    return out;
  }
  std::vector<TextPart> out;
  for (const auto letters : {TextPart::Case::as_is, TextPart::Case::lower, TextPart::Case::upper}) {
    out.push_back({.column = c.name, .letters = letters});
    out.push_back({.column = c.name, .letters = letters, .compact = true});
    for (const int first : {1, 2, 3}) out.push_back({.column = c.name, .letters = letters, .first = first});
  }
  if (std::ranges::any_of(cells, [](const std::string& cell) { return in_plain_letters(cell) != cell; }))
    for (size_t k = 0, all = out.size(); k < all; ++k) out.push_back(out[k]), out.back().plain = true;
  return out;
}

// A single part is a copy, or the beginning of a text that is more informative than the beginning.
bool says_enough(const ComposedData& found) {
  const bool adds = std::any_of(found.between.begin(), found.between.end(), [](const auto& s) { return !s.empty(); });
  const bool changed = found.parts.size() == 1 && found.parts[0] != TextPart{.column = found.parts[0].column};
  return found.parts.size() > 1 || (found.parts[0].first == 0 && (adds || changed));
}

// Parses the texts of one column into pieces that compose all of them.
class TextReader {
 public:
  TextReader(const RuleSearch& search, const std::vector<PartColumn>& others, const PartColumn& target)
      : target_(target), at_(target.cells.size(), 0) {
    for (const PartColumn& c : others)
      for (TextPart& form : forms_of(search.column(c.column), c.cells)) offer(c, std::move(form));
  }

  bool read() { return go_on(); }
  ComposedData found{{}, {}, {""}};

 private:
  struct Piece {
    TextPart part;
    std::vector<std::string> texts;  // by row
    size_t length = 0;               // of all
  };

  void offer(const PartColumn& c, TextPart form) {
    Piece p{std::move(form), {}, 0};
    for (size_t i = 0; i < target_.cells.size(); ++i) {
      p.texts.push_back(p.part.of(c.cells[i]));
      if (p.texts.back().empty() || target_.cells[i].find(p.texts.back()) == std::string::npos) return;
      p.length += p.texts.back().size();
    }
    if (std::adjacent_find(p.texts.begin(), p.texts.end(), std::not_equal_to<>()) != p.texts.end())
      pieces_.push_back(std::move(p));
  }

  bool at_end() const {
    for (size_t i = 0; i < at_.size(); ++i)
      if (at_[i] != target_.cells[i].size()) return false;
    return true;
  }
  bool goes_on(const Piece& p) const {
    for (size_t i = 0; i < at_.size(); ++i)
      if (target_.cells[i].compare(at_[i], p.texts[i].size(), p.texts[i]) != 0) return false;
    return true;
  }
  // '\0': the texts have no character in common here.
  char shared_character() const {
    const char c = at_[0] < target_.cells[0].size() ? target_.cells[0][at_[0]] : '\0';
    for (size_t i = 0; i < at_.size(); ++i)
      if (at_[i] >= target_.cells[i].size() || target_.cells[i][at_[i]] != c) return '\0';
    return c;
  }

  // The longest part first.
  bool go_on() {
    if (at_end()) return !found.parts.empty() && says_enough(found);
    if (++readings_ > kMaxReadings) return false;
    std::vector<const Piece*> next;
    for (const Piece& p : pieces_)
      if (goes_on(p)) next.push_back(&p);
    std::stable_sort(next.begin(), next.end(), [](const Piece* a, const Piece* b) { return a->length > b->length; });
    for (const Piece* p : next) {
      if (found.parts.size() == kMaxParts) break;
      for (size_t i = 0; i < at_.size(); ++i) at_[i] += p->texts[i].size();
      found.parts.push_back(p->part), found.between.emplace_back();
      if (go_on()) return true;
      found.parts.pop_back(), found.between.pop_back();
      for (size_t i = 0; i < at_.size(); ++i) at_[i] -= p->texts[i].size();
    }
    const char shared = shared_character();
    if (shared == '\0') return false;
    for (size_t& at : at_) ++at;
    found.between.back() += shared;
    if (go_on()) return true;
    found.between.back().pop_back();
    for (size_t& at : at_) --at;
    return false;
  }

  const PartColumn& target_;
  std::vector<Piece> pieces_;
  std::vector<size_t> at_;
  int readings_ = 0;
};

// All different texts are a key, unless they are names of persons; their parts may not be one.
bool stays_unique(const RuleSearch& search, const Column& target, const ComposedData& found) {
  const auto unique = [](const Column& c) {
    std::set<double> seen;
    for (size_t i = 0; i < static_cast<size_t>(c.size()); ++i)
      if (!c.is_missing(static_cast<int64_t>(i)) && !seen.insert(c.key(i)).second) return false;
    return true;
  };
  return target.kind == "name" || !unique(target) ||
         std::any_of(found.parts.begin(), found.parts.end(),
                     [&](const TextPart& p) { return p.first == 0 && unique(column_of(search.table, p.column)); });
}

// Rows to parse: those with a text in which these columns are all present.
std::vector<int64_t> rows_with(const RuleSearch& search, const Column& target,
                               const std::vector<const Column*>& parts) {
  std::vector<int64_t> out;
  for (const int64_t row : search.proposing)
    if (out.size() < kReadRows && !target.is_missing(row) &&
        std::none_of(parts.begin(), parts.end(), [=](const Column* c) { return c->is_missing(row); }))
      out.push_back(row);
  return out;
}

}  // namespace

std::optional<FoundRule> find_composed(const RuleSearch& search) {
  std::vector<int> columns;
  for (int j = 0; j < static_cast<int>(search.columns()) && columns.size() < kMaxTextColumns; ++j)
    if (search.in_rules(j) && can_be_part(search.column(j))) columns.push_back(j);
  std::vector<const Column*> often;
  for (const int j : columns) {
    if (search.misses_few(search.column(j))) often.push_back(&search.column(j));
    search.column(j).relax();
  }
  const auto tried = static_cast<double>(columns.size() * columns.size());
  std::optional<FoundRule> longest;
  size_t most = 0;
  for (const int j : columns) {
    const Column& target = search.column(j);
    if (is_whole(target)) continue;
    std::vector<int64_t> rows = rows_with(search, target, often);
    if (rows.size() < kMinReadRows) rows = rows_with(search, target, {});
    const auto cells = [&](int column) {
      std::vector<std::string> out;
      for (const int64_t row : rows) out.push_back(part_cell(search.column(column), static_cast<size_t>(row)));
      search.column(column).relax();
      return out;
    };
    const PartColumn own{j, cells(j)};
    if (rows.size() < kMinReadRows || std::set(own.cells.begin(), own.cells.end()).size() < kMinTexts) continue;
    std::vector<PartColumn> others;
    for (const int other : columns)
      if (other != j) others.push_back({other, cells(other)});
    TextReader reader(search, others, own);
    const ComposedData& found = reader.found;
    if (!reader.read() || !stays_unique(search, target, found)) continue;
    std::vector<const Column*> of;
    for (const TextPart& p : found.parts) of.push_back(&column_of(search.table, p.column));
    bool gaps = false;
    const auto holds = [&](int64_t row, int64_t other) {
      const std::string text = composed_text(found, of, static_cast<size_t>(row));
      const bool missing = target.is_missing(other);
      if (!text.empty() && !missing) return text == part_cell(target, static_cast<size_t>(other)) ? 1 : 0;
      return search.of_missing(missing, text.empty(), row == other, gaps);
    };
    const auto evidence = search.evidence_of(holds, tried);
    size_t length = 0;
    for (const std::string& cell : own.cells) length += cell.size();
    if (!evidence || length <= most) continue;
    // longest first: a shorter one may be part of it
    longest = FoundRule{
        make_rule(ComposedData{head_of(target), found.parts, found.between, search.seen_as(target, gaps)}), *evidence};
    most = length;
  }
  return longest;
}

}  // namespace tessera
