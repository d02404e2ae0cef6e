#include "models/encoding/identifier.h"

#include <algorithm>
#include <map>

#include "kernels/philox.h"
#include "models/encoding/permutation.h"

namespace tessera {
namespace {

constexpr uint64_t kMaxIndices = uint64_t{1} << 62;
constexpr double kChance = 1e-6;     // training values one expects to meet by chance in as many rows; below, nothing is stored
constexpr size_t kMaxShapes = 64;    // different shapes of texts that are told apart
constexpr size_t kEnough = 20;       // texts that must agree on a character before it counts as part of the pattern
constexpr const char* kDigits = "0123456789";
constexpr const char* kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr const char* kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_sign(char c) { return !is_digit(c) && !is_lower(c) && !is_upper(c); }

// Letters outside ASCII become 'a', one for each, so that a made text is valid UTF-8 whatever character is drawn.
std::string to_ascii(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80) continue;
    out += static_cast<unsigned char>(c) >= 0x80 ? 'a' : c;
  }
  return out;
}

// Length of the longest common beginning of a and b.
size_t common(std::string_view a, std::string_view b) {
  size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  return n;
}

// Longest common beginning and end, cut so that they stop at a change of character class: the digits that all texts happen to share belong to the number.
void common_ends(std::span<const std::string> values, size_t& front, size_t& back) {
  front = back = 0;
  if (values.size() < 2) return;
  const std::string& first = values[0];
  front = back = first.size();
  size_t shortest = first.size();
  for (const std::string& v : values) {
    shortest = std::min(shortest, v.size());
    front = std::min(front, common(first, v));
    size_t n = 0;
    while (n < v.size() && n < back && first[first.size() - 1 - n] == v[v.size() - 1 - n]) ++n;
    back = std::min(back, n);
  }
  back = std::min(back, shortest - std::min(front, shortest));
  auto only_digits_between = [&] {
    for (const std::string& v : values)
      if (!std::all_of(v.begin() + static_cast<std::ptrdiff_t>(front), v.end() - static_cast<std::ptrdiff_t>(back), is_digit)) return false;
    return true;
  };
  const bool digits = only_digits_between();
  auto belongs_to_middle = [&](char c) { return digits ? is_digit(c) : !is_sign(c); };
  while (front > 0 && (belongs_to_middle(first[front - 1]) || static_cast<unsigned char>(first[front - 1]) >= 0x80)) --front;
  while (back > 0 && (belongs_to_middle(first[first.size() - back]) || static_cast<unsigned char>(first[first.size() - back]) >= 0x80)) --back;
}

constexpr char kAny = '\x01';  // in a shape: a letter or digit that varies

// Calls visit(number, begin, length) for every run of letters and digits between signs.
template <class Visit>
void for_each_word(std::string_view text, Visit&& visit) {
  size_t number = 0;
  for (size_t p = 0; p < text.size();) {
    if (is_sign(text[p])) {
      ++p;
      continue;
    }
    size_t end = p;
    while (end < text.size() && !is_sign(text[end])) ++end;
    visit(number++, p, end - p);
    p = end;
  }
}

// Words of letters that many texts have at the same place ("INV" and "CRN", "example" and "org") belong to the pattern.
using Words = std::map<std::pair<size_t, std::string>, size_t>;
Words common_words(const std::vector<std::string>& texts) {
  Words words;
  for (const std::string& t : texts)
    for_each_word(t, [&](size_t number, size_t begin, size_t length) {
      const std::string word = t.substr(begin, length);
      if (length <= 32 && std::none_of(word.begin(), word.end(), is_digit)) ++words[{number, word}];
    });
  std::erase_if(words, [&](const auto& w) { return w.second < std::max(kEnough, texts.size() / 50); });
  return words;
}

// Texts of one shape have their signs and common words at the same places. Other letters and digits are one class here, or every UUID would have a
// shape of its own.
std::string shape_of(const std::string& text, const Words& words) {
  std::string shape = text;
  for_each_word(text, [&](size_t number, size_t begin, size_t length) {
    if (!words.contains({number, text.substr(begin, length)})) std::fill_n(shape.begin() + static_cast<std::ptrdiff_t>(begin), length, kAny);
  });
  return shape;
}

// The characters a place may take, from those seen there: a class of characters, or exactly the seen ones where the rows are too many for chance.
std::string alphabet_of(const std::string& seen, size_t texts) {
  std::string all;
  bool digit = false, lower = false, upper = false, beyond_hex = false;
  for (const char c : seen) {
    digit |= is_digit(c), lower |= is_lower(c), upper |= is_upper(c);
    beyond_hex |= (is_lower(c) && c > 'f') || (is_upper(c) && c > 'F');
  }
  if (digit) all += kDigits;
  const bool hex = digit && !beyond_hex && lower != upper;
  if (lower) all += hex ? "abcdef" : kLower;
  if (upper) all += hex ? "ABCDEF" : kUpper;
  if (all.empty()) return seen;
  return texts >= kEnough && texts >= 20 * all.size() ? seen : texts >= kEnough && seen.size() == 1 ? seen : all;
}

uint64_t word_pair(const Philox& p, int i) { return (static_cast<uint64_t>(p.word[i]) << 32) | p.word[i + 1]; }

Philox draw(uint64_t row, uint64_t seed, uint32_t column, uint32_t block) {
  return philox(column, static_cast<uint32_t>(row), static_cast<uint32_t>(row >> 32), (static_cast<uint32_t>(Purpose::decode) << 16) | (0x8000u + block), static_cast<uint32_t>(seed),
                static_cast<uint32_t>(seed >> 32));
}

}  // namespace

void FreshIndices::leave_out(const std::vector<uint64_t>& taken) {
  const double n = static_cast<double>(taken.size());
  if (n * n / static_cast<double>(size_) < kChance) return;
  // With one bucket for every ln 2 values, half of the buckets are taken: what a set bit says holds for half of all values.
  buckets_ = std::clamp<uint64_t>(static_cast<uint64_t>(n / 0.6931), 1, std::min<uint64_t>(size_, 0xffffffff));
  const Permutation order(size_, salt_);
  std::vector<bool> used(buckets_);
  for (const uint64_t t : taken) used[order(t) % buckets_] = true;
  free_.clear();
  for (uint64_t b = 0; b < buckets_; ++b)
    if (!used[b]) free_.push_back(static_cast<uint32_t>(b));
  if (free_.empty()) buckets_ = 1, free_ = {0};  // the pattern is used up: nothing new can be made of it
}

uint64_t FreshIndices::room() const { return free_.size() * (size_ / buckets_); }

uint64_t FreshIndices::at(uint64_t i, uint64_t key) const {
  const uint64_t turn = Permutation(room(), key)(i % room());
  const uint64_t place = free_[turn % free_.size()] + buckets_ * (turn / free_.size());
  return Permutation(size_, salt_).inverse(place);
}

Identifier Identifier::learn(std::span<const std::string> values, uint64_t seed) {
  Identifier out;
  size_t front = 0, back = 0;
  common_ends(values, front, back);
  if (front > 0) out.prefix_ = values[0].substr(0, front);
  if (back > 0) out.suffix_ = values[0].substr(values[0].size() - back);
  std::vector<std::string> middle;
  middle.reserve(values.size());
  for (const std::string& v : values) middle.push_back(v.substr(front, v.size() - front - back));
  if (!out.learn_number(middle, seed)) out.learn_places(middle, seed);
  return out;
}

bool Identifier::learn_number(std::span<const std::string> values, uint64_t seed) {
  size_t shortest = values[0].size(), longest = 0;
  bool leading_zero = false;
  for (const std::string& v : values) {
    if (v.empty() || v.size() > 18 || !std::all_of(v.begin(), v.end(), is_digit)) return false;
    shortest = std::min(shortest, v.size()), longest = std::max(longest, v.size());
    leading_zero |= v[0] == '0' && v.size() > 1;
  }
  if (leading_zero && shortest != longest) return false;
  std::vector<uint64_t> numbers;
  numbers.reserve(values.size());
  for (const std::string& v : values) numbers.push_back(std::stoull(v));
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  low_ = *low, high_ = *high;
  digits_ = leading_zero ? static_cast<int>(longest) : 0;
  if (high_ - low_ + 1 <= 2 * numbers.size()) {  // numbered through: new rows take the numbers that follow
    kind_ = Kind::sequence;
    return true;
  }
  kind_ = Kind::number;
  // Widened to two significant digits, since the smallest and the largest number are somebody's.
  uint64_t step = 1, low_magnitude = 1;
  while (high_ / step >= 100) step *= 10;
  while (low_ / low_magnitude >= 10) low_magnitude *= 10;
  low_ = low_ == 0 ? 0 : std::max(low_ / step * step, low_magnitude);
  high_ = high_ / step * step + (step - 1);
  numbers_ = FreshIndices(high_ - low_ + 1, seed);
  for (uint64_t& x : numbers) x -= low_;
  numbers_.leave_out(numbers);
  return true;
}

uint64_t Identifier::Places::plan() {
  uint64_t size = 1;
  spelled_from = alphabet.size();
  while (spelled_from > 0 && size <= kMaxIndices / alphabet[spelled_from - 1].size()) size *= alphabet[--spelled_from].size();
  return size;
}

uint64_t Identifier::Places::index_of(const std::string& text) const {
  uint64_t index = 0;
  for (size_t p = spelled_from; p < alphabet.size(); ++p) index = index * alphabet[p].size() + alphabet[p].find(text[p]);
  return index;
}

void Identifier::learn_places(std::span<const std::string> values, uint64_t seed) {
  kind_ = Kind::places;
  std::vector<std::string> ascii;
  for (const std::string& v : values) ascii.push_back(to_ascii(v));
  const Words words = common_words(ascii);
  std::map<std::string, std::vector<std::string>> by_shape;
  for (std::string& t : ascii) by_shape[shape_of(t, words)].push_back(std::move(t));
  std::vector<const std::pair<const std::string, std::vector<std::string>>*> shapes;
  for (const auto& s : by_shape) shapes.push_back(&s);
  std::stable_sort(shapes.begin(), shapes.end(), [](auto* a, auto* b) { return a->second.size() > b->second.size(); });
  if (shapes.size() > kMaxShapes) shapes.resize(kMaxShapes);

  uint64_t widest = 0;
  for (const auto* s : shapes) {
    const std::vector<std::string>& texts = s->second;
    Places places;
    places.weight = texts.size();
    for (size_t p = 0; p < s->first.size(); ++p) {
      if (s->first[p] != kAny) {
        places.alphabet.emplace_back(1, s->first[p]);
        continue;
      }
      std::string seen;
      for (const std::string& t : texts)
        if (seen.find(t[p]) == std::string::npos) seen += t[p];
      std::sort(seen.begin(), seen.end());
      places.alphabet.push_back(alphabet_of(seen, texts.size()));
    }
    places.indices = FreshIndices(places.plan(), seed);
    std::vector<uint64_t> taken;
    for (const std::string& t : texts) taken.push_back(places.index_of(t));
    places.indices.leave_out(taken);
    widest = std::max(widest, places.indices.room());
    places_.push_back(std::move(places));
  }
  // Shapes with too little room for unique texts give way to those that have it.
  const uint64_t wanted = std::min<uint64_t>(widest, 1000 * values.size());
  std::erase_if(places_, [&](const Places& p) { return p.indices.room() < wanted; });
}

std::string Identifier::text(uint64_t row, uint64_t seed, uint32_t column) const {
  if (kind_ == Kind::sequence || kind_ == Kind::number) {
    const uint64_t key = seed * 0x9e3779b97f4a7c15ull + column;
    const uint64_t n = kind_ == Kind::sequence ? high_ + 1 + row : low_ + numbers_.at(row, key);
    std::string digits = std::to_string(n);
    if (digits.size() < static_cast<size_t>(digits_)) digits.insert(0, static_cast<size_t>(digits_) - digits.size(), '0');
    return prefix_ + digits + suffix_;
  }
  uint64_t weights = 0;
  for (const Places& p : places_) weights += p.weight;
  const Philox head = draw(row, seed, column, 0);
  uint64_t turn = word_pair(head, 0) % weights;
  size_t shape = 0;
  while (turn >= places_[shape].weight) turn -= places_[shape++].weight;

  const Places& p = places_[shape];
  std::string out(p.alphabet.size(), ' ');
  uint64_t index = p.indices.at(row, seed * 0x9e3779b97f4a7c15ull + column);
  for (size_t i = p.alphabet.size(); i-- > p.spelled_from;) {
    out[i] = p.alphabet[i][index % p.alphabet[i].size()];
    index /= p.alphabet[i].size();
  }
  Philox words{};
  for (size_t i = 0; i < p.spelled_from; ++i) {
    if (i % 4 == 0) words = draw(row, seed, column, static_cast<uint32_t>(1 + i / 4));
    out[i] = p.alphabet[i][words.word[i % 4] % p.alphabet[i].size()];
  }
  return prefix_ + out + suffix_;
}

uint64_t Identifier::room() const {
  if (kind_ == Kind::sequence) return uint64_t{1} << 62;
  if (kind_ == Kind::number) return numbers_.room();
  uint64_t least = uint64_t{1} << 62;
  for (const Places& p : places_) least = std::min(least, p.indices.room());
  return least;
}

std::string Identifier::describe() const {
  std::string middle;
  if (kind_ == Kind::places) middle = std::to_string(places_[0].alphabet.size()) + " characters" + (places_.size() > 1 ? " (" + std::to_string(places_.size()) + " shapes)" : "");
  else middle = digits_ > 0 ? "a number of " + std::to_string(digits_) + " digits" : "a number";
  if (kind_ == Kind::sequence) middle += " that counts on from " + std::to_string(high_);
  std::string out = prefix_.empty() ? middle : "\"" + prefix_ + "\", then " + middle;
  if (!suffix_.empty()) out += ", then \"" + suffix_ + "\"";
  return out;
}

}  // namespace tessera
