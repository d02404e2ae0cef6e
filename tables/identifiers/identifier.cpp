#include "tables/identifiers/identifier.h"

#include <algorithm>

#include "base/storage/fingerprint.h"
#include "kernels/math/philox.h"
#include "tables/identifiers/permutation.h"
#include "tables/texts/characters.h"

namespace tessera {
namespace {

// Uses of Purpose::identifier; those of repeats.cpp follow.
enum Use : uint32_t { kOfCondition = 1, kOfColumn = 2, kShape = 3, kFreePlaces = 4 };

uint64_t word_pair(const Philox& p, int i) { return (static_cast<uint64_t>(p.word[i]) << 32) | p.word[i + 1]; }

}  // namespace

uint64_t fingerprint_of(std::string_view text) {
  Fingerprint f;
  f.add(text);
  return std::stoull(f.text().substr(0, 16), nullptr, 16);
}

IdentifierKey identifier_key(uint64_t seed, uint64_t condition, uint64_t column) {
  const Philox sample = random_words(seed, Purpose::identifier, 0, condition, kOfCondition);
  IdentifierKey key;
  key.order = word_pair(random_words(word_pair(sample, 0), Purpose::identifier, 0, column, kOfColumn), 0);
  key.block = condition == 0 && seed < NumberCounter::kSeedBlocks
                  ? seed
                  : NumberCounter::kSeedBlocks + (word_pair(sample, 2) >> 32);
  return key;
}

uint64_t Identifier::Places::plan() {
  uint64_t size = 1;
  spelled_from = alphabet.size();
  while (spelled_from > 0 && size <= FreshIndices::kMaxSize / alphabet[spelled_from - 1].size())
    size *= alphabet[--spelled_from].size();
  return size;
}

bool Identifier::Places::index_of(std::u32string_view text, uint64_t& index) const {
  if (text.size() != alphabet.size()) return false;
  index = 0;
  for (size_t p = 0; p < text.size(); ++p) {
    const size_t at = alphabet[p].find(text[p]);
    if (at == std::u32string::npos) return false;
    if (p >= spelled_from) index = index * alphabet[p].size() + at;
  }
  return true;
}

std::string Identifier::text(uint64_t row, const IdentifierKey& key) const {
  if (kind_ != Kind::places) {
    const uint64_t n = kind_ == Kind::sequence                   ? counter_.at(row, key.block)
                       : distinct_ && row >= numbers_.capacity() ? beyond() + (row - numbers_.capacity())
                                                                 : low_ + numbers_.at(row, key.order);
    std::string digits = std::to_string(n);
    if (digits.size() < static_cast<size_t>(digits_))
      digits.insert(0, static_cast<size_t>(digits_) - digits.size(), '0');
    return prefix_ + digits + suffix_;
  }
  // In every `weights` successive rows, each shape has `weight` of them, in a secret order. So a shape's own rows are
  // numbered without gaps, and its capacity is used by no other shape.
  const uint64_t weights = all_weights();
  uint64_t turn = row % weights;
  if (places_.size() > 1) {
    const uint64_t block = row / weights;
    turn = Permutation(weights, word_pair(random_words(key.order, Purpose::identifier, 0, block, kShape), 0))(turn);
  }
  size_t shape = 0;
  while (turn >= places_[shape].weight) turn -= places_[shape++].weight;

  const Places& p = places_[shape];
  std::u32string out(p.alphabet.size(), U' ');
  const uint64_t in_shape = row / weights * p.weight + turn, again = distinct_ ? in_shape / p.indices.capacity() : 0;
  uint64_t index = p.indices.at(in_shape, key.order);
  for (size_t i = p.alphabet.size(); i-- > p.spelled_from;) {
    out[i] = p.alphabet[i][index % p.alphabet[i].size()];
    index /= p.alphabet[i].size();
  }
  Philox words{};
  for (size_t i = 0; i < p.spelled_from; ++i) {
    if (i % 4 == 0)
      words = random_words(key.order, Purpose::identifier, static_cast<uint32_t>(i / 4), row, kFreePlaces);
    out[i] = p.alphabet[i][words.word[i % 4] % p.alphabet[i].size()];
  }
  return prefix_ + decode_text(texts_, out) + suffix_ + (again > 0 ? "#" + std::to_string(again + 1) : "");
}

// The first number with more digits than the pattern's.
uint64_t Identifier::beyond() const {
  uint64_t power = 10;
  while (power <= high_) power *= 10;
  return power;
}

uint64_t Identifier::capacity() const {
  if (kind_ == Kind::sequence) return counter_.capacity();
  if (kind_ == Kind::number) return numbers_.capacity();
  uint64_t least = FreshIndices::kMaxSize;
  for (const Places& p : places_) least = std::min(least, rows_of(p, all_weights()));
  return least;
}

uint64_t Identifier::all_weights() const {
  uint64_t weights = 0;
  for (const Places& p : places_) weights += p.weight;
  return weights;
}

// Rows of the column that exhaust the shape: whole blocks, so that a short last block cannot take more than its share.
uint64_t Identifier::rows_of(const Places& p, uint64_t weights) {
  if (p.weight == weights) return p.indices.capacity();
  const unsigned __int128 blocks = p.indices.capacity() / p.weight;
  const unsigned __int128 rows = blocks == 0 ? p.indices.capacity() : blocks * weights;
  return static_cast<uint64_t>(std::min<unsigned __int128>(rows, FreshIndices::kMaxSize));
}

std::string Identifier::describe() const {
  std::string middle = described(texts_);
  if (!middle.empty()) return middle;
  if (kind_ == Kind::places)
    middle = std::to_string(places_[0].alphabet.size()) + " characters" +
             (places_.size() > 1 ? " (" + std::to_string(places_.size()) + " shapes)" : "");
  else middle = digits_ > 0 ? "a number of " + std::to_string(digits_) + " digits" : "a number";
  if (kind_ == Kind::sequence) middle += " that counts up from " + std::to_string(counter_.next());
  std::string out = prefix_.empty() ? middle : "\"" + prefix_ + "\", then " + middle;
  if (!suffix_.empty()) out += ", then \"" + suffix_ + "\"";
  return out;
}

}  // namespace tessera
