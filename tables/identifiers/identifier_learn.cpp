// Learns the pattern of a column's texts: properties that at least `least` of them share.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/text/ascii.h"
#include "tables/identifiers/identifier.h"
#include "tables/texts/characters.h"

namespace tessera {
namespace {

constexpr size_t kMaxLearnt = 65536;    // if there are more texts, this many, evenly spaced, are used
constexpr size_t kMaxShapes = 64;       // distinct shapes of texts
constexpr size_t kMaxCharacters = 256;  // per place
constexpr size_t kLongestShape = 1024;
// texts that must have a word at the same place for it to be part of the pattern
constexpr size_t kCommon = 20;
constexpr size_t kMaxWords = 6;  // such words per shape
constexpr size_t kEnough = 8;    // from this many common characters of a script on, only those are used
// share of a shape's texts that a place's common characters must cover for others to be omitted
constexpr double kCovered = 0.8;
// capacity in texts that a shape needs, per text it was learned from: texts that repeated may repeat again
constexpr uint64_t kSpare = FreshIndices::kSpare, kSpareOfRepeated = 2;
// capacity in rows that a shape needs before it repeats a text, per row of the table
constexpr uint64_t kRowsAhead = 100;
constexpr char32_t kAny = 0x110000;  // in a shape: a letter or digit that varies

bool all_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }
bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Lengths of the longest common prefix and suffix of texts, in bytes, shortened to end at a sign: letters that all
// texts happen to share belong to the variable part. If there are only digits between them, they end at the digits.
struct Ends {
  size_t front = 0, back = 0;
  std::string_view middle(std::string_view text) const { return text.substr(front, text.size() - front - back); }
};

Ends common_ends(std::span<const std::string_view> texts) {
  const std::string_view first = texts[0];
  size_t front = first.size(), back = first.size(), shortest = first.size();
  for (const std::string_view v : texts) {
    shortest = std::min(shortest, v.size());
    front = std::min(front, static_cast<size_t>(std::mismatch(first.begin(), first.end(), v.begin(), v.end()).first -
                                                first.begin()));
    back = std::min(back, static_cast<size_t>(std::mismatch(first.rbegin(), first.rend(), v.rbegin(), v.rend()).first -
                                              first.rbegin()));
  }
  while (front > 0 && front < first.size() && continues(first[front])) --front;
  back = std::min(back, shortest - std::min(front, shortest));
  while (back > 0 && continues(first[first.size() - back])) --back;

  Ends ends{front, back};
  const bool digits = std::all_of(texts.begin(), texts.end(), [&](std::string_view v) {
    return std::all_of(v.begin() + static_cast<std::ptrdiff_t>(front), v.end() - static_cast<std::ptrdiff_t>(back),
                       is_digit);
  });
  const auto varies = [&](char32_t c) { return digits ? class_of(c) == kDigitClass : class_of(c) != 0; };
  const std::u32string before = code_points(first.substr(0, front)),
                       after = code_points(first.substr(first.size() - back));
  for (size_t i = before.size(); i > 0 && varies(before[i - 1]); --i) ends.front -= utf8({&before[i - 1], 1}).size();
  for (size_t i = 0; i < after.size() && varies(after[i]); ++i) ends.back -= utf8({&after[i], 1}).size();
  return ends;
}

// A run of letters that many texts have at the same place ("INV" and "CRN", "example" and "org").
struct Word {
  size_t begin, length, texts;
};

// Calls visit(number, begin, length) for every run of letters and digits between signs.
template <class Visit>
void for_each_word(std::u32string_view text, Visit&& visit) {
  size_t number = 0;
  for (size_t p = 0; p < text.size();) {
    size_t end = p;
    while (end < text.size() && class_of(text[end]) != 0) ++end;
    if (end > p) visit(number++, p, end - p);
    p = std::max(end, p + 1);
  }
}

// The characters that a place of a shape may take: those of its texts (`seen`), or all of their classes.
struct PlaceChoice {
  std::u32string seen, any;
};

uint64_t capacity_of(const std::vector<std::u32string>& alphabet) {
  unsigned __int128 capacity = 1;
  for (const std::u32string& a : alphabet)
    capacity = std::min<unsigned __int128>(capacity * a.size(), FreshIndices::kMaxSize);
  return static_cast<uint64_t>(capacity);
}

bool share_a_text(const std::vector<std::u32string>& a, const std::vector<std::u32string>& b) {
  if (a.size() != b.size()) return false;
  for (size_t p = 0; p < a.size(); ++p)
    if (a[p].find_first_of(b[p]) == std::u32string::npos) return false;
  return true;
}

}  // namespace

class PatternLearner {
 public:
  PatternLearner(std::span<const std::string_view> texts, std::span<const int64_t> rows,
                 const IdentifierOptions& options)
      : texts_(texts), least_(static_cast<size_t>(std::max(options.least, kRareRows))), highest_(options.highest) {
    unique_ = std::all_of(rows.begin(), rows.end(), [](int64_t n) { return n == 1; });
    for (const int64_t n : rows) all_rows_ += n;
    if (texts.size() < least_) return;
    out_.texts_ = options.kind ? *options.kind : text_kind_of(texts);
    encode(rows);
    if (seen_.size() < least_) out_.texts_ = TextKind::plain, encode(rows);  // the given kind does not fit
    unique_ = unique_ && !may_repeat(out_.texts_);
  }

  Identifier learn() {
    out_.distinct_ = unique_;
    if (texts_.size() < least_ || few_words()) {
      learn_nothing();
      return std::move(out_);
    }
    out_.prefix_ = utf8(code_points(texts_[0].substr(0, ends_.front)));
    out_.suffix_ = utf8(code_points(texts_[0].substr(texts_[0].size() - ends_.back)));
    if (out_.texts_ != TextKind::plain || !learn_number()) learn_places();
    return std::move(out_);
  }

 private:
  using Places = Identifier::Places;

  void encode(std::span<const int64_t> rows) {
    encoder_.emplace(out_.texts_, texts_, least_);
    if (out_.texts_ == TextKind::plain) ends_ = common_ends(texts_);
    const size_t n = std::min(texts_.size(), kMaxLearnt);
    for (size_t i = 0; i < n; ++i) {
      const size_t at = i * texts_.size() / n;
      std::optional<std::u32string> symbols = encoder_->encode(ends_.middle(texts_[at]), i);
      if (!symbols) continue;
      seen_.push_back(std::move(*symbols));
      rows_.push_back(rows.empty() ? 1 : rows[at]);
    }
  }

  // Words that repeat in a table of a few rows: letters by place would not form words.
  bool few_words() const {
    constexpr int64_t kFewRows = 80;
    constexpr size_t kLongestWord = 20;
    return all_rows_ < kFewRows && 2 * all_rows_ >= 3 * static_cast<int64_t>(texts_.size()) &&
           out_.texts_ == TextKind::plain && std::all_of(texts_.begin(), texts_.end(), [](std::string_view t) {
             return t.size() <= kLongestWord && std::none_of(t.begin(), t.end(), is_digit);
           });
  }

  // Too few texts: eight digits; if they repeat, "value 1", "value 2" …, as many as there are texts.
  void learn_nothing() {
    constexpr std::string_view kOfNumbers = "0123456789.-";
    out_.kind_ = Identifier::Kind::number, out_.texts_ = TextKind::plain;
    if (std::all_of(texts_.begin(), texts_.end(),
                    [&](std::string_view t) { return t.find_first_not_of(kOfNumbers) == t.npos; })) {
      out_.low_ = 10'000'000, out_.high_ = 99'999'999;
    } else {
      out_.prefix_ = "value ", out_.suffix_.clear();
      out_.low_ = 1, out_.high_ = unique_ ? 9999 : texts_.size();
    }
    out_.numbers_ = FreshIndices(out_.high_ - out_.low_ + 1);
  }

  bool learn_number() {
    size_t shortest = ends_.middle(texts_[0]).size(), longest = 0;
    bool leading_zero = false;
    std::vector<uint64_t> numbers;
    numbers.reserve(texts_.size());
    for (const std::string_view t : texts_) {
      const std::string_view v = ends_.middle(t);
      if (v.size() > 18 || !all_digits(v)) return false;
      shortest = std::min(shortest, v.size()), longest = std::max(longest, v.size());
      leading_zero |= v[0] == '0' && v.size() > 1;
      numbers.push_back(std::stoull(std::string(v)));
    }
    if (leading_zero && shortest != longest) return false;
    std::sort(numbers.begin(), numbers.end());
    out_.digits_ = leading_zero ? static_cast<int>(longest) : 0;
    const uint64_t n = numbers.size();
    // numbered consecutively: new rows continue
    if (unique_ && numbers.back() - numbers.front() + 1 <= 2 * n) {
      out_.kind_ = Identifier::Kind::sequence;
      out_.counter_ = NumberCounter(numbers.front(), numbers.back(), n,
                                    shortest == longest ? static_cast<int>(longest) : 0, leading_zero, highest_);
      return true;
    }
    out_.kind_ = Identifier::Kind::number;
    take_range(numbers);
    out_.numbers_ = FreshIndices(out_.high_ - out_.low_ + 1);
    std::erase_if(numbers, [&](uint64_t x) { return x < out_.low_ || x > out_.high_; });
    for (uint64_t& x : numbers) x -= out_.low_;
    out_.numbers_.leave_out(numbers);
    return true;
  }

  // The range of ascending numbers without the `least` smallest and largest, widened to two significant digits, and
  // until new numbers fit.
  void take_range(const std::vector<uint64_t>& numbers) {
    const uint64_t low = numbers[least_ - 1], high = numbers[numbers.size() - least_];
    uint64_t step = 10, magnitude = 1;
    while (std::max(low, high) / step >= 100) step *= 10;
    while (std::min(low, high) / magnitude >= 10) magnitude *= 10;
    out_.low_ = std::min(low, high) == 0 ? 0 : std::max(std::min(low, high) / step * step, magnitude);
    const uint64_t limit = std::clamp<uint64_t>(highest_, high, NumberCounter::kLimit), n = numbers.size();
    out_.high_ = std::min(NumberCounter::rounded_up(std::max(low, high)), limit);
    if (!unique_) return;
    // Widen: first above, within the width, then below; beyond the width only if the capacity is below kSpare times.
    uint64_t end = 10;
    while (end <= out_.high_ || std::to_string(end - 1).size() < static_cast<size_t>(out_.digits_)) end *= 10;
    const uint64_t wanted = (kSpare + 3) * n, first = out_.digits_ > 0 ? 0 : end / 10;
    const auto capacity = [&] { return out_.high_ - out_.low_ + 1; };
    if (capacity() < wanted) out_.high_ = std::min({NumberCounter::rounded_up(out_.low_ + wanted), end - 1, limit});
    if (capacity() < wanted)
      out_.low_ = std::min(out_.low_, std::max(first, out_.high_ < wanted ? 0 : (out_.high_ - wanted) / step * step));
    if (capacity() >= std::min(kSpare * n, limit - out_.low_ + 1)) return;
    out_.high_ = std::min(NumberCounter::rounded_up(out_.low_ + wanted), limit), out_.widened_ = true;
  }

  // Whether all texts have the same letters in the same order, between digits and signs: the x of 12x32.
  bool same_letters() const {
    const auto letters_of = [](std::u32string text) {
      std::erase_if(text, [](char32_t c) { return class_of(c) == 0 || class_of(c) == kDigitClass; });
      return text;
    };
    const std::u32string letters = letters_of(seen_[0]);
    return !letters.empty() &&
           std::all_of(seen_.begin(), seen_.end(), [&](const std::u32string& t) { return letters_of(t) == letters; });
  }

  void learn_places() {
    out_.kind_ = Identifier::Kind::places;
    letters_stay_ = out_.texts_ == TextKind::plain && same_letters();
    count_characters();
    std::vector<std::vector<Word>> words = common_words();
    std::vector<size_t> pending(seen_.size());
    for (size_t i = 0; i < pending.size(); ++i) pending[i] = i;
    std::erase_if(pending, [&](size_t i) { return seen_[i].size() > kLongestShape; });
    // Shapes with as many common words as the texts have; texts that do not form a shape this way drop their least
    // common word.
    for (size_t kept = kMaxWords + 1; kept-- > 0;) {
      std::map<std::u32string, std::vector<size_t>> groups;
      for (const size_t i : pending)
        if (words[i].size() >= kept) groups[shape_of(seen_[i], words[i], kept)].push_back(i);
      std::set<size_t> done;
      for (const auto& [shape, group] : groups)
        if (take_shape(shape, group, kept)) done.insert(group.begin(), group.end());
      std::erase_if(pending, [&](size_t i) { return done.contains(i); });
    }
    if (out_.places_.empty()) invent_shape();
    std::stable_sort(out_.places_.begin(), out_.places_.end(),
                     [](const Places& a, const Places& b) { return a.weight > b.weight; });
    if (out_.places_.size() > kMaxShapes) out_.places_.erase(out_.places_.begin() + kMaxShapes, out_.places_.end());
    if (unique_) widen_narrow(), drop_overlaps();
    take_indices();
    if (unique_) drop_narrow();
  }

  // The characters of each class that enough texts have, and the texts that have each character at a place.
  void count_characters() {
    constexpr size_t kPlaces = 64;
    for (const std::u32string& t : seen_)
      for (size_t p = 0; p < std::min(t.size(), kPlaces); ++p) {
        if (p == at_place_.size()) at_place_.emplace_back();
        if (class_of(t[p]) != 0) ++at_place_[p][t[p]];
      }
    std::unordered_map<char32_t, std::pair<size_t, size_t>>
        texts_with;  // the last text that has it, and the number of texts
    for (size_t i = 0; i < seen_.size(); ++i)
      for (const char32_t c : seen_[i]) {
        auto& [last, count] = texts_with[c];
        if (count == 0 || last != i) last = i, ++count;
      }
    std::map<CharacterClass, std::vector<std::pair<size_t, char32_t>>> of_class;
    for (const auto& [c, found] : texts_with)
      if (class_of(c) != 0 && found.second >= least_) of_class[class_of(c)].push_back({found.second, c});
    for (auto& [cls, characters] : of_class) {
      common_[cls] = 0;
      for (const auto& [count, c] : characters) common_[cls] += count;
      if (is_ascii_class(cls) || characters[0].second >= kFirstOctet) continue;  // the whole class is used
      std::sort(characters.begin(), characters.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
      });
      std::u32string all;
      for (size_t k = 0; k < std::min(characters.size(), kMaxCharacters); ++k) all += characters[k].second;
      if (all.size() < kEnough) all += members_of(cls);
      std::sort(all.begin(), all.end());
      all.erase(std::unique(all.begin(), all.end()), all.end());
      class_characters_[cls] = std::move(all);
    }
  }

  const std::u32string& characters_of(CharacterClass cls) {
    std::u32string& all = class_characters_[cls];
    if (all.empty()) all = members_of(cls);
    return all;
  }

  // The common words of each text at their place, the most common first.
  std::vector<std::vector<Word>> common_words() const {
    std::map<std::pair<size_t, std::u32string_view>, size_t> count;
    const auto each = [](const std::u32string& text, auto&& visit) {
      for_each_word(text, [&](size_t number, size_t begin, size_t length) {
        const std::u32string_view word(text.data() + begin, length);
        if (length <= 32 &&
            std::none_of(word.begin(), word.end(), [](char32_t c) { return class_of(c) == kDigitClass; }))
          visit(std::pair{number, word}, begin);
      });
    };
    for (const std::u32string& t : seen_) each(t, [&](const auto& key, size_t) { ++count[key]; });
    std::vector<std::vector<Word>> out(seen_.size());
    for (size_t i = 0; i < seen_.size(); ++i) {
      each(seen_[i], [&](const auto& key, size_t begin) {
        if (const size_t n = count.at(key); n >= enough()) out[i].push_back({begin, key.second.size(), n});
      });
      std::stable_sort(out[i].begin(), out[i].end(), [](const Word& a, const Word& b) { return a.texts > b.texts; });
      if (out[i].size() > kMaxWords) out[i].resize(kMaxWords);
    }
    return out;
  }

  size_t enough() const { return std::max({kCommon, least_, seen_.size() / 50}); }

  // Texts of one shape have their signs and the first `kept` of their common words at the same places, and letters that
  // stay. Other letters and digits form one class here; otherwise every UUID would have its own shape.
  std::u32string shape_of(const std::u32string& text, const std::vector<Word>& words, size_t kept) const {
    std::u32string shape = text;
    for (char32_t& c : shape)
      if (letters_stay_ ? class_of(c) == kDigitClass : class_of(c) != 0) c = kAny;
    for (size_t k = 0; k < kept; ++k)
      std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(words[k].begin), words[k].length,
                  shape.begin() + static_cast<std::ptrdiff_t>(words[k].begin));
    return shape;
  }

  bool take_shape(const std::u32string& shape, const std::vector<size_t>& group, size_t words) {
    if (group.size() < (words > 0 ? enough() : least_)) return false;
    std::vector<std::u32string> alphabet;
    std::vector<PlaceChoice> choices(shape.size());
    for (size_t p = 0; p < shape.size(); ++p) {
      if (shape[p] == kAny) choices[p] = choice_at(p, group);
      alphabet.push_back(shape[p] == kAny ? choices[p].seen : std::u32string(1, shape[p]));
    }
    // A group needs the capacity for kSpare times its texts; otherwise places take whole classes, from the last to the
    // first, but where many texts have the same character (the 0 and the x of 0x3f).
    const uint64_t wanted = (unique_ ? kSpare : kSpareOfRepeated) * (group.size() * texts_.size() / seen_.size());
    const size_t same = out_.texts_ != TextKind::plain || group.size() < enough() ? 1 : 2;
    for (size_t p = shape.size(); p-- > 0 && capacity_of(alphabet) < wanted;)
      if (shape[p] == kAny && alphabet[p].size() >= same) alphabet[p] = choices[p].any;
    if (words > 0 && capacity_of(alphabet) < wanted) return false;
    if (unique_ && capacity_of(alphabet) < wanted) {  // exhausted: new texts are longer
      const auto last = std::find(shape.rbegin(), shape.rend(), kAny);
      const std::u32string more =
          last == shape.rend() ? members_of(kDigitClass) : choices[static_cast<size_t>(shape.rend() - last) - 1].any;
      while (capacity_of(alphabet) < wanted) alphabet.push_back(more), out_.widened_ = true;
    }
    uint64_t rows = 0;
    for (const size_t i : group) rows += static_cast<uint64_t>(rows_[i]);
    add(std::move(alphabet), rows);
    return true;
  }

  PlaceChoice choice_at(size_t place, const std::vector<size_t>& group) {
    std::map<char32_t, size_t> count;
    std::map<CharacterClass, size_t> classes;
    for (const size_t i : group) ++count[seen_[i][place]];
    for (const auto& [c, n] : count) classes[class_of(c)] += n;
    size_t most = 0;
    for (const auto& [cls, n] : classes) most = std::max(most, n);

    PlaceChoice out;
    const auto hex = [&](CharacterClass cls, char32_t last, CharacterClass other) {
      return classes.contains(kDigitClass) && !classes.contains(other) &&
             std::all_of(count.begin(), count.end(),
                         [&](const auto& c) { return class_of(c.first) != cls || c.first <= last; });
    };
    for (const auto& [cls, n] : classes) {
      if (n < std::min(least_, most)) continue;
      const bool short_class =
          (cls == kLowerClass && hex(cls, U'f', kUpperClass)) || (cls == kUpperClass && hex(cls, U'F', kLowerClass));
      out.any += characters_of(cls).substr(0, short_class ? 6 : std::u32string::npos);
    }
    std::sort(out.any.begin(), out.any.end());
    size_t covered = 0;
    for (const auto& [c, n] : count)
      if (n >= least_) out.seen += c, covered += n;
    const double enough = kCovered * static_cast<double>(group.size());
    if (static_cast<double>(covered) < enough) out.seen = common_at(place, classes, count, covered);
    if (static_cast<double>(covered) < enough || out.seen.size() > kMaxCharacters) out.seen = out.any;
    return out;
  }

  // For a small group: the characters of its classes that enough texts of any shape have at this place, and how many of
  // the group they cover.
  std::u32string common_at(size_t place, const std::map<CharacterClass, size_t>& classes,
                           const std::map<char32_t, size_t>& count, size_t& covered) const {
    std::u32string common;
    covered = 0;
    if (place >= at_place_.size()) return common;
    for (const auto& [c, n] : at_place_[place]) {
      if (n < least_ || !classes.contains(class_of(c))) continue;
      common += c;
      if (const auto of_group = count.find(c); of_group != count.end()) covered += of_group->second;
    }
    return common;
  }

  // No shape is shared by enough texts (free text): letters of the most common class, words of the mean length, in a
  // text of the mean length.
  void invent_shape() {
    CharacterClass cls = kLowerClass;
    size_t most = 0;
    for (const auto& [c, n] : common_)
      if (n > most) most = n, cls = c;
    size_t length = 0, spaces = 0, with_space = 0;
    for (const std::u32string& t : seen_) {
      const auto n = static_cast<size_t>(std::count(t.begin(), t.end(), U' '));
      length += t.size(), spaces += n, with_space += n > 0;
    }
    const size_t word = 2 * with_space >= seen_.size() && spaces > 0
                            ? std::max<size_t>((length - spaces) / (spaces + seen_.size()), 1)
                            : length;
    std::vector<std::u32string> alphabet;
    const auto more = [&] {
      alphabet.push_back(alphabet.size() % (word + 1) == word ? std::u32string(1, U' ') : characters_of(cls));
    };
    while (alphabet.size() < std::clamp<size_t>(length / seen_.size(), 1, kLongestShape) ||
           capacity_of(alphabet) < 1000 * texts_.size())
      more();
    if (alphabet.back().size() == 1) alphabet.pop_back();
    add(std::move(alphabet), 1);
  }

  void add(std::vector<std::u32string> alphabet, uint64_t weight) {
    Places p;
    p.weight = weight;
    p.alphabet = std::move(alphabet);
    out_.places_.push_back(std::move(p));
  }

  // Two shapes could give two rows the same text: keep the one with more rows.
  void drop_overlaps() {
    std::vector<Places> kept;
    for (Places& p : out_.places_)
      if (std::none_of(kept.begin(), kept.end(), [&](const Places& k) { return share_a_text(k.alphabet, p.alphabet); }))
        kept.push_back(std::move(p));
    out_.places_ = std::move(kept);
  }

  void take_indices() {
    // the shapes in which a training text could be drawn by chance
    std::vector<std::pair<Places*, std::vector<uint64_t>>> taken;
    for (Places& p : out_.places_) {
      p.indices = FreshIndices(p.plan());
      if (p.indices.could_meet(texts_.size())) taken.push_back({&p, {}});
    }
    if (taken.empty()) return;
    for (const std::string_view t : texts_) {
      const std::optional<std::u32string> text = encoder_->exact(ends_.middle(t));
      for (auto& [shape, indices] : taken)
        if (uint64_t index = 0; text && shape->index_of(*text, index)) indices.push_back(index);
    }
    for (auto& [shape, indices] : taken) shape->indices.leave_out(indices);
  }

  // Rows until a shape of this capacity is exhausted.
  uint64_t rows_ahead(uint64_t capacity, uint64_t weight) const {
    const unsigned __int128 rows = static_cast<unsigned __int128>(capacity) * out_.all_weights() / weight;
    return static_cast<uint64_t>(std::min<unsigned __int128>(rows, FreshIndices::kMaxSize));
  }

  // If a shape has too little capacity, more of its digits may be any digit, from the last to the first.
  void widen_narrow() {
    const std::u32string digits = members_of(kDigitClass);
    for (Places& p : out_.places_)
      for (size_t i = p.alphabet.size(); i-- > 0;) {
        if (rows_ahead(capacity_of(p.alphabet), p.weight) >= kRowsAhead * texts_.size()) break;
        const bool varies = p.alphabet[i].size() > 1;
        if (varies && p.alphabet[i].find_first_not_of(digits) == std::u32string::npos) p.alphabet[i] = digits;
      }
  }

  // Shapes with too little capacity are replaced by those with enough, if any.
  void drop_narrow() {
    uint64_t widest = 0;
    for (const Places& p : out_.places_) widest = std::max(widest, rows_ahead(p.indices.capacity(), p.weight));
    const uint64_t wanted = std::min<uint64_t>(widest / 4, kRowsAhead * texts_.size());
    std::vector<Places> kept;
    for (Places& p : out_.places_)
      if (rows_ahead(p.indices.capacity(), p.weight) >= wanted) kept.push_back(std::move(p));
    out_.places_ = std::move(kept);
  }

  std::span<const std::string_view> texts_;
  size_t least_;
  uint64_t highest_;
  bool unique_ = true;
  bool letters_stay_ = false;  // same_letters()
  int64_t all_rows_ = 0;
  std::optional<TextEncoder> encoder_;
  Ends ends_;
  std::vector<std::u32string> seen_;  // the variable parts of kMaxLearnt texts
  std::vector<int64_t> rows_;         // of each of them
  std::map<CharacterClass, size_t> common_;
  std::vector<std::map<char32_t, size_t>> at_place_;
  std::map<CharacterClass, std::u32string> class_characters_;
  Identifier out_;
};

Identifier Identifier::learn(std::span<const std::string_view> texts, std::span<const int64_t> rows,
                             const IdentifierOptions& options) {
  return PatternLearner(texts, rows, options).learn();
}

}  // namespace tessera
