#include "tables/csv/scan.h"

#include <bit>
#include <cstring>

#include "base/text/utf8.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tessera {
namespace {

constexpr size_t kBlock = 64;

struct BlockMasks {
  uint64_t specials;
  bool odd;  // a NUL or non-ASCII byte
};

#if defined(__SSE2__)
BlockMasks classify(const char* p, char delimiter) {
  const __m128i comma = _mm_set1_epi8(delimiter), quote = _mm_set1_epi8('"'), lf = _mm_set1_epi8('\n'),
                cr = _mm_set1_epi8('\r'), zero = _mm_setzero_si128();
  uint64_t specials = 0;
  int odd = 0;
  for (int i = 0; i < 4; ++i) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + i);
    const __m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, comma), _mm_cmpeq_epi8(v, quote)),
                                     _mm_or_si128(_mm_cmpeq_epi8(v, lf), _mm_cmpeq_epi8(v, cr)));
    specials |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(hit))) << (16 * i);
    odd |= _mm_movemask_epi8(_mm_or_si128(v, _mm_cmpeq_epi8(v, zero)));
  }
  return {specials, odd != 0};
}
#else
BlockMasks classify(const char* p, char delimiter) {
  BlockMasks m{0, false};
  for (size_t i = 0; i < kBlock; ++i) {
    const char c = p[i];
    m.specials |= static_cast<uint64_t>(c == delimiter || c == '"' || c == '\n' || c == '\r') << i;
    m.odd |= c == 0 || (static_cast<unsigned char>(c) & 0x80) != 0;
  }
  return m;
}
#endif

}  // namespace

std::string_view single_quotes(const CsvField& field, std::string& scratch) {
  scratch.clear();
  for (size_t i = 0; i < field.size; ++i) {
    scratch.push_back(field.data[i]);
    if (field.data[i] == '"') ++i;
  }
  return scratch;
}

// Kept out of line, so that the loop over fields stays small.
[[gnu::noinline]] void CsvScanner::load_block() {
  block_ = next_block_;
  const size_t left = static_cast<size_t>(end_ - block_);
  BlockMasks m;
  if (left >= kBlock) {
    m = classify(block_, delimiter_);
    next_block_ = block_ + kBlock;
  } else {
    char tail[kBlock];
    std::memset(tail, ' ', sizeof tail);
    std::memcpy(tail, block_, left);
    m = classify(tail, delimiter_);
    if (delimiter_ == ' ') m.specials &= (uint64_t{1} << left) - 1;
    next_block_ = end_;
  }
  specials_ = m.specials;
  block_odd_bytes_ = m.odd;
  odd_bytes_ |= m.odd;
}

inline const char* CsvScanner::special() {
  while (specials_ == 0) {
    if (next_block_ == end_) return end_;
    load_block();
  }
  const char* p = block_ + std::countr_zero(specials_);
  specials_ &= specials_ - 1;
  return p;
}

void CsvScanner::fail(CsvFault::Kind kind, const char* value, const char* value_end) const {
  constexpr std::ptrdiff_t kShown = 200;
  const std::ptrdiff_t length = std::min(value_end - value, kShown);
  throw CsvFault{kind, line_, static_cast<int64_t>(count_), std::string(value, static_cast<size_t>(length))};
}

// The field is written member by member: a copy right after its bytes were set would stall on store forwarding.
inline void CsvScanner::push(const char* data, const char* end, bool quoted, bool doubled) {
  if (count_ < most_fields_) {
    if (count_ == fields_.size()) fields_.emplace_back();
    CsvField& field = fields_[count_];
    field.data = data;
    field.size = static_cast<size_t>(end - data);
    field.quoted = quoted;
    field.doubled = doubled;
  } else if (count_ == kMaxFields) {
    fail(CsvFault::Kind::too_many_fields, data, data);
  }
  ++count_;
}

// On return at_ is at a delimiter, a line end or the end of the text.
[[gnu::noinline]] void CsvScanner::scan_quoted(const char* open) {
  special();  // the opening quote itself
  bool doubled = false;
  const char* p;
  for (;;) {
    p = special();
    if (p == end_) fail(CsvFault::Kind::open_quote, open, end_);
    if (*p == '\n' || (*p == '\r' && (p + 1 == end_ || p[1] != '\n'))) {
      ++next_line_;
      if (limit_ != nullptr && p > limit_) fail(CsvFault::Kind::abandoned, p, p);
    }
    if (*p != '"') continue;
    if (p + 1 == end_ || p[1] != '"') break;
    special();
    doubled = true;
  }
  const char* close = p;
  do ++p;
  while (p < end_ && is_space(*p));
  if (p < end_ && *p != delimiter_ && *p != '\n' && *p != '\r') fail(CsvFault::Kind::after_quote, open, p + 1);
  at_ = p < end_ ? special() : end_;
  push(open + 1, close, true, doubled);
}

inline void CsvScanner::scan_field() {
  const char* first = at_;
  while (first < end_ && is_space(*first)) ++first;
  if (first < end_ && *first == '"') return scan_quoted(first);
  do at_ = special();
  while (at_ < end_ && *at_ == '"');
  const char* last = at_;
  while (last > first && is_space(last[-1])) --last;
  push(first, last, false, false);
}

void CsvScanner::end_line(const char* at) {
  ++next_line_;
  at_ = at + 1;
  if (*at == '\r' && at_ < end_ && *at_ == '\n') {
    special();
    ++at_;
  }
}

void CsvScanner::check_row(const char* row) const {
  const char* nul = static_cast<const char*>(std::memchr(row, 0, static_cast<size_t>(at_ - row)));
  const char* bad = find_bad_utf8(row, at_);
  if (nul == nullptr && bad == at_) return;
  const char* at = nul != nullptr && nul < bad ? nul : bad;
  CsvFault fault{at == nul ? CsvFault::Kind::nul_byte : CsvFault::Kind::bad_utf8, line_, -1, std::string(at, at + 1)};
  const size_t kept = std::min(count_, most_fields_);
  for (size_t i = 0; i < kept; ++i)
    if (at >= fields_[i].data && at <= fields_[i].data + fields_[i].size) fault.column = static_cast<int64_t>(i);
  throw fault;
}

bool CsvScanner::next() {
  if (at_ == end_) return false;
  const char* row = at_;
  count_ = 0;
  line_ = next_line_;
  for (;;) {
    scan_field();
    if (at_ == end_) {
      ++next_line_;
      break;
    }
    if (*at_ != delimiter_) {
      end_line(at_);
      break;
    }
    ++at_;
  }
  if (limit_ != nullptr && at_ > limit_) fail(CsvFault::Kind::abandoned, at_, at_);
  if (odd_bytes_ && check_text_) check_row(row);
  odd_bytes_ = block_odd_bytes_;
  return true;
}

}  // namespace tessera
