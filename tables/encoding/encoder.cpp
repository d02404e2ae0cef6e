#include "tables/encoding/encoder.h"

#include <fast_float/fast_float.h>

#include <array>
#include <unordered_map>

#include "kernels/math/philox.h"
#include "tables/encoding/encoder_state.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"

namespace tessera {
namespace {

constexpr int64_t kBlockRows = 4096;   // a unit of parallel work
constexpr size_t kColumnsAtOnce = 16;  // neighbors in an encoded row fill whole cache lines

// Row r's uniform number is word r mod 4 of block r / 4, for any division of work. `first` is a multiple of 4.
void mode_uniforms(uint32_t column, int64_t first, int64_t rows, uint64_t seed, float* out) {
  for (int64_t i = 0; i < rows; i += 4) {
    const Philox p = random_words(seed, Purpose::encode, column, static_cast<uint64_t>(first + i) / 4);
    for (int64_t l = 0; l < 4 && i + l < rows; ++l) out[i + l] = open_uniform(p.word[l]);
  }
}

[[noreturn]] void unknown(const ColumnCode& column, int64_t row, const std::string& what) {
  throw Error(
      ErrorCode::data,
      "Column \"" + column.name + "\", row " + std::to_string(row + 1) + " " + what +
          ", which did not occur in the table the encoder was fitted on. Fit on a table that has it, or omit the row.");
}

// The position of a column's alphas and codes in the encoded rows.
struct Place {
  float* alpha;
  int64_t alpha_stride;
  int32_t* code;
  int64_t code_stride;
};

void encode_numbers(const NumberCode& n, const ColumnCode& column, const Column& values, uint32_t index, int64_t first,
                    int64_t rows, uint64_t seed, const Place& to) {
  std::array<float, kBlockRows> uniform;
  mode_uniforms(index, first, rows, seed, uniform.data());
  const int64_t bad = n.encode(values.numbers.data() + first, uniform.data(), rows, to.alpha + first * to.alpha_stride,
                               to.alpha_stride, to.code + first * to.code_stride, to.code_stride);
  if (bad >= 0) unknown(column, first + bad, "is missing");
}

void encode_range(const RangeCode& r, const ColumnCode& column, const Column& values, int64_t first, int64_t rows,
                  const Place& to) {
  const int64_t bad = r.encode(values.numbers.data() + first, rows, to.alpha + first * to.alpha_stride, to.alpha_stride,
                               to.code + first * to.code_stride, to.code_stride);
  if (bad >= 0) unknown(column, first + bad, "is missing");
}

void encode_levels(const LevelCode& l, const ColumnCode& column, const Column& values,
                   const std::vector<int32_t>& level_of_code, int64_t first, int64_t rows, const Place& to) {
  for (int64_t i = first; i < first + rows; ++i) {
    int32_t level = l.missing_level();
    if (!values.is_missing(i))
      level = has_numbers(values) ? l.level_of(values.numbers[static_cast<size_t>(i)])
                                  : level_of_code.at(static_cast<size_t>(values.codes[static_cast<size_t>(i)]));
    if (level < 0) unknown(column, i, values.is_missing(i) ? "is missing" : "holds " + cell_text(values, i));
    to.code[i * to.code_stride] = level;
  }
}

void encode_bins(const BinCode& b, const ColumnCode& column, const Column& values, int64_t first, int64_t rows,
                 const Place& to) {
  const int64_t bad = b.encode(values.numbers.data() + first, rows, to.code + first * to.code_stride, to.code_stride);
  if (bad >= 0) unknown(column, first + bad, "is missing");
}

// The random words for decoding row i: for column `index`, keyed by (row, try).
Philox row_words(uint32_t index, const int64_t* row_ids, const int32_t* tries, int64_t i, uint64_t seed) {
  return random_words(seed, Purpose::decode, index, static_cast<uint64_t>(row_ids[i]),
                      tries == nullptr ? 0 : static_cast<uint32_t>(tries[i]));
}

// The rank within a bin at the share `uniform` of its allowed part.
double rank_within(const std::vector<std::pair<double, double>>& left, double uniform) {
  double total = 0;
  for (const auto& [from, to] : left) total += to - from;
  double share = uniform * total;
  for (const auto& [from, to] : left) {
    if (share < to - from) return from + share;
    share -= to - from;
  }
  return left.back().second;
}

void decode_bins(const BinCode& b, uint32_t index, const int32_t* code, int64_t stride, const int64_t* row_ids,
                 const int32_t* tries, int64_t rows, uint64_t seed, const BinParts* parts, Column& out) {
  out.numbers.resize(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) {
    const Philox p = row_words(index, row_ids, tries, i, seed);
    const int32_t level = code[i * stride];
    double rank = open_uniform(p.word[0], p.word[1]);
    if (parts != nullptr)
      if (const auto cut = parts->find({static_cast<int>(index), level}); cut != parts->end())
        rank = rank_within(cut->second, rank);
    out.numbers[static_cast<size_t>(i)] = b.value(level, rank);
  }
}

void decode_levels(const LevelCode& l, uint32_t index, const int32_t* code, int64_t stride, const int64_t* row_ids,
                   const int32_t* tries, int64_t rows, uint64_t seed, Column& out) {
  if (!l.numbers.empty()) {
    out.numbers.resize(static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows; ++i) {
      const int32_t c = code[i * stride];
      out.numbers[static_cast<size_t>(i)] = c < l.levels() ? l.numbers[static_cast<size_t>(c)] : kMissing;
    }
    return;
  }
  out.values = l.texts;
  out.codes.resize(static_cast<size_t>(rows));
  // rare texts of this batch, listed after the levels in order of first appearance
  std::unordered_map<size_t, int32_t> drawn;
  const int32_t rare = l.rare_level(), missing = l.missing_level();
  for (int64_t i = 0; i < rows; ++i) {
    int32_t c = code[i * stride];
    if (c == missing) {
      c = -1;
    } else if (c == rare) {
      const Philox p = row_words(index, row_ids, tries, i, seed);
      const size_t text = l.draw_rare((static_cast<uint64_t>(p.word[0]) << 32) | p.word[1]);
      const auto [entry, fresh] = drawn.try_emplace(text, static_cast<int32_t>(out.values.size()));
      if (fresh) out.values.push_back(l.rare[text]);
      c = entry->second;
    }
    out.codes[static_cast<size_t>(i)] = c;
  }
}

void decode_identifiers(const IdentifierCode& id, double missing_share, uint32_t index, const int64_t* row_ids,
                        int64_t rows, uint64_t seed, uint64_t condition, Column& out) {
  const IdentifierKey key = identifier_key(seed, condition, fingerprint_of(out.name));
  out.codes.resize(static_cast<size_t>(rows));
  out.values.reserve(static_cast<size_t>(rows));
  // a repeated text is listed once
  std::unordered_map<std::string, int32_t> repeated;
  for (int64_t i = 0; i < rows; ++i) {
    int32_t& code = out.codes[static_cast<size_t>(i)];
    code = -1;
    auto number = static_cast<uint64_t>(row_ids[i]);
    uint64_t position = 0;
    if (id.repeats) {
      const Repeats::Place place = id.repeats->at(number, key.order);
      if (place.missing && missing_share > 0) continue;
      number = place.group, position = place.position;
    } else if (missing_share > 0) {
      const Philox p = random_words(seed, Purpose::decode, index, number);
      if (open_uniform(p.word[0], p.word[1]) < missing_share) continue;
    }
    std::string text = id.pattern.text(number, key);
    if (id.counts_rows) text += kRowMark + std::to_string(position);
    const auto [entry, fresh] = repeated.try_emplace(std::move(text), static_cast<int32_t>(out.values.size()));
    if (fresh) out.values.push_back(entry->first);
    code = entry->second;
  }
}

void decode_constant(const ConstantCode& c, int64_t rows, Column& out) {
  if (has_numbers(out)) {
    out.numbers.assign(static_cast<size_t>(rows), c.number);
    return;
  }
  out.codes.assign(static_cast<size_t>(rows), c.missing ? -1 : 0);
  if (!c.missing) out.values = {c.text};
}

}  // namespace

int RowLayout::alphas() const {
  return static_cast<int>(
      std::count_if(spans.begin(), spans.end(), [](const Span& s) { return s.part == Span::Part::alpha; }));
}
int RowLayout::codes() const { return static_cast<int>(spans.size()) - alphas(); }

Encoder::Encoder() : state_(std::make_unique<State>()) {}
Encoder::~Encoder() = default;
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder& Encoder::operator=(Encoder&&) noexcept = default;

const RowLayout& Encoder::layout() const { return state_->layout; }
const std::vector<int>& Encoder::discrete_columns() const { return state_->discrete; }

EncodedTable Encoder::encode(Table&& table, Team& team, const Monitor& monitor) const {
  const State& s = *state_;
  if (table.columns.size() != s.columns.size())
    throw Error(ErrorCode::data, "The table has " + std::to_string(table.columns.size()) +
                                     " columns, but the encoder was fitted on " + std::to_string(s.columns.size()) +
                                     ".");
  for (size_t j = 0; j < s.columns.size(); ++j) {
    const Column& c = table.columns[j];
    if (c.name != s.columns[j].name || c.type != s.columns[j].type || c.size() != table.rows)
      throw Error(ErrorCode::data, "Column " + std::to_string(j + 1) + " is \"" + c.name + "\" (" + name(c.type) +
                                       ", " + std::to_string(c.size()) + " of " + std::to_string(table.rows) +
                                       " rows), but the encoder was fitted on \"" + s.columns[j].name + "\" (" +
                                       name(s.columns[j].type) + ").");
  }

  const int64_t alphas = s.layout.alphas(), codes = s.layout.codes();
  EncodedTable out;
  out.rows = table.rows;
  out.alphas = Bulk<float>(team.limit(), "encoded rows");
  out.codes = Bulk<int32_t>(team.limit(), "encoded rows");
  out.alphas.expect_random_reads(), out.codes.expect_random_reads();
  out.alphas.resize_for_overwrite(static_cast<size_t>(table.rows * alphas));
  out.codes.resize_for_overwrite(static_cast<size_t>(table.rows * codes));
  const int64_t blocks = (table.rows + kBlockRows - 1) / kBlockRows;

  for (size_t begin = 0; begin < s.columns.size(); begin += kColumnsAtOnce) {
    const size_t end = std::min(begin + kColumnsAtOnce, s.columns.size());
    std::vector<std::vector<int32_t>> level_of_code(end - begin);
    team.for_each(static_cast<int64_t>(end - begin), [&](int64_t i) {
      const size_t j = begin + static_cast<size_t>(i);
      if (const auto* l = std::get_if<LevelCode>(&s.columns[j].code))
        level_of_code[static_cast<size_t>(i)] = l->levels_of(table.columns[j].values);
    });
    team.for_each(blocks, [&](int64_t block) {
      if (block % (kRowsResident / kBlockRows) == 0) {
        out.relax();
        for (size_t j = begin; j < end; ++j) table.columns[j].relax();
      }
      const int64_t first = block * kBlockRows, rows = std::min(kBlockRows, table.rows - first);
      for (size_t j = begin; j < end; ++j) {
        const ColumnCode& column = s.columns[j];
        const Place to{out.alphas.data() + s.first_alpha[j], alphas, out.codes.data() + s.first_code[j], codes};
        if (const auto* n = std::get_if<NumberCode>(&column.code))
          encode_numbers(*n, column, table.columns[j], static_cast<uint32_t>(j), first, rows, s.seed, to);
        if (const auto* r = std::get_if<RangeCode>(&column.code))
          encode_range(*r, column, table.columns[j], first, rows, to);
        if (const auto* b = std::get_if<BinCode>(&column.code))
          encode_bins(*b, column, table.columns[j], first, rows, to);
        if (const auto* l = std::get_if<LevelCode>(&column.code))
          encode_levels(*l, column, table.columns[j], level_of_code[j - begin], first, rows, to);
      }
    });
    for (size_t j = begin; j < end; ++j) table.columns[j] = Column{};
    out.relax();
    monitor.report({"encode",
                    static_cast<double>(end),
                    static_cast<double>(s.columns.size()),
                    "columns",
                    {},
                    end == s.columns.size()});
  }
  return out;
}

Table Encoder::decode(const float* alphas, const int32_t* codes, const int64_t* row_ids, int64_t rows, uint64_t seed,
                      const int32_t* tries, uint64_t condition, const BinParts* parts, Identifiers identifiers) const {
  const State& s = *state_;
  const int64_t alpha_stride = s.layout.alphas(), code_stride = s.layout.codes();
  Table out;
  out.rows = rows;
  out.columns.resize(s.columns.size());
  for (size_t j = 0; j < s.columns.size(); ++j) {
    const ColumnCode& column = s.columns[j];
    const uint32_t index = static_cast<uint32_t>(j);
    Column& c = out.columns[j];
    c.name = column.name, c.type = column.type, c.reason = column.reason, c.format = column.format,
    c.arrow = column.arrow, c.decimals = column.decimals;
    const int32_t* code = codes + s.first_code[j];
    if (const auto* n = std::get_if<NumberCode>(&column.code)) {
      c.numbers.resize(static_cast<size_t>(rows));
      n->decode(alphas + s.first_alpha[j], alpha_stride, code, code_stride, rows, c.numbers.data());
    } else if (const auto* r = std::get_if<RangeCode>(&column.code)) {
      c.numbers.resize(static_cast<size_t>(rows));
      r->decode(alphas + s.first_alpha[j], alpha_stride, code, code_stride, rows, c.numbers.data());
    } else if (const auto* b = std::get_if<BinCode>(&column.code)) {
      decode_bins(*b, index, code, code_stride, row_ids, tries, rows, seed, parts, c);
    } else if (const auto* l = std::get_if<LevelCode>(&column.code)) {
      decode_levels(*l, index, code, code_stride, row_ids, tries, rows, seed, c);
    } else if (const auto* id = std::get_if<IdentifierCode>(&column.code)) {
      const double missing_share = identifiers == Identifiers::all ? 0 : id->missing_share;
      decode_identifiers(*id, missing_share, index, row_ids, rows, seed, condition, c);
    } else {
      decode_constant(std::get<ConstantCode>(column.code), rows, c);
    }
  }
  return out;
}

int32_t Encoder::levels(int column) const {
  const auto* l = std::get_if<LevelCode>(&state_->columns[static_cast<size_t>(column)].code);
  return l == nullptr ? 0 : static_cast<int32_t>(l->texts.size());
}

std::optional<int> Encoder::decimals(int column) const {
  const auto* n = std::get_if<NumberCode>(&state_->columns[static_cast<size_t>(column)].code);
  return n == nullptr ? std::nullopt : std::optional(n->decimals);
}

double Encoder::Reach::nearest(double x) const {
  const double inside = std::clamp(x, low, high);
  if (only.empty()) return inside;
  const auto above = std::lower_bound(only.begin(), only.end(), inside);
  return above == only.begin() || *above - inside <= inside - *(above - 1) ? *above : *(above - 1);
}

Encoder::Reach Encoder::reach(int column) const {
  const ColumnCode& c = state_->columns[static_cast<size_t>(column)];
  if (const auto* n = std::get_if<NumberCode>(&c.code)) return {n->low, n->high, {}, n->missing};
  if (const auto* r = std::get_if<RangeCode>(&c.code)) return {r->low, r->high, r->grid, r->missing};
  if (const auto* b = std::get_if<BinCode>(&c.code)) return {b->low(), b->high(), {}, b->missing};
  if (const auto* l = std::get_if<LevelCode>(&c.code)) {
    if (l->numbers.empty()) return {0, 0, {}, l->missing, !l->texts.empty() || !l->rare.empty()};
    return {l->numbers.front(), l->numbers.back(), l->numbers, l->missing};
  }
  if (const auto* id = std::get_if<IdentifierCode>(&c.code)) return {0, 0, {}, id->missing_share > 0};
  const auto& constant = std::get<ConstantCode>(c.code);
  const bool numbers = kind_of(c.type).ordered;
  const bool missing = numbers ? constant.number != constant.number : constant.missing;
  if (missing) return {0, 0, {}, true, false};
  if (!numbers) return {};
  return {constant.number, constant.number, {constant.number}};
}

double Encoder::number_of_level(int column, int32_t level, double uniform) const {
  const ColumnCode& c = state_->columns[static_cast<size_t>(column)];
  if (const auto* b = std::get_if<BinCode>(&c.code)) return b->value(level, uniform);
  const auto* l = std::get_if<LevelCode>(&c.code);
  return l != nullptr && level < static_cast<int32_t>(l->numbers.size()) ? l->numbers[static_cast<size_t>(level)]
                                                                         : kMissing;
}

int32_t Encoder::level_of_number(int column, double x) const {
  const ColumnCode& c = state_->columns[static_cast<size_t>(column)];
  int32_t level = 0;
  if (const auto* b = std::get_if<BinCode>(&c.code)) {
    if (b->encode(&x, 1, &level, 1) >= 0) level = 0;
  } else if (const auto* l = std::get_if<LevelCode>(&c.code); l != nullptr && !l->numbers.empty()) {
    if (x != x) return std::max(l->missing_level(), 0);
    const auto above = std::lower_bound(l->numbers.begin(), l->numbers.end(), x);
    level = static_cast<int32_t>(above - l->numbers.begin());
    if (above == l->numbers.end() || (level > 0 && x - l->numbers[static_cast<size_t>(level) - 1] < *above - x))
      --level;
  }
  return level;
}

Encoder::Codes Encoder::codes(int column) const {
  const auto j = static_cast<size_t>(column);
  const ColumnCode& c = state_->columns[j];
  Codes out;
  if (c.codes() > 0) out.code = state_->first_code[j];
  if (c.alphas() > 0) out.alpha = state_->first_alpha[j];
  if (const auto* n = std::get_if<NumberCode>(&c.code)) {
    out.mean = n->mean, out.stddev = n->stddev, out.range = n->range(), out.values = n->spikes;
    if (n->missing) out.values.push_back(kMissing);
  } else if (const auto* b = std::get_if<BinCode>(&c.code)) {
    for (int k = 0; k < b->levels(); ++k) out.values.push_back(b->value(k, 0.5));
    if (b->missing) out.values.push_back(kMissing);
  } else if (const auto* l = std::get_if<LevelCode>(&c.code)) {
    out.values = l->numbers;
    if (l->missing) out.values.push_back(kMissing);
    for (int k = 0; k < l->width(); ++k) out.levels.push_back(k == l->missing_level() ? -1 : k);
  }
  return out;
}

Table Encoder::pick(const Table& table, const std::vector<int64_t>& rows) const {
  Table out;
  out.rows = static_cast<int64_t>(rows.size());
  for (size_t j = 0; j < table.columns.size(); ++j) {
    const Column& from = table.columns[j];
    Column to;
    to.name = from.name, to.type = from.type, to.format = from.format, to.decimals = from.decimals;
    if (has_numbers(from)) {
      for (const int64_t r : rows) to.numbers.push_back(from.numbers[static_cast<size_t>(r)]);
    } else if (const auto* l = std::get_if<LevelCode>(&state_->columns[j].code)) {
      to.values = l->texts;
      to.values.push_back("(others)");
      const int32_t own = static_cast<int32_t>(l->texts.size());
      // The result of decode() is already numbered: no need to look up hundreds of thousands of texts.
      const bool numbered =
          from.values.size() >= l->texts.size() && std::equal(l->texts.begin(), l->texts.end(), from.values.begin());
      const std::vector<int32_t> level = numbered ? std::vector<int32_t>{} : l->levels_of(from.values);
      for (const int64_t r : rows) {
        const int32_t code = from.codes[static_cast<size_t>(r)];
        const int32_t at = code < 0 || numbered ? code : level[static_cast<size_t>(code)];
        to.codes.push_back(code < 0 ? -1 : at < 0 || at >= own ? own : at);
      }
    } else {  // identifiers and constants are not encoded
      to.codes.assign(rows.size(), -1);
    }
    out.columns.push_back(std::move(to));
  }
  return out;
}

Table Encoder::schema() const {
  // No rows, but pointers may be offset into this memory.
  const std::vector<float> alphas(static_cast<size_t>(state_->layout.alphas()) + 1);
  const std::vector<int32_t> codes(static_cast<size_t>(state_->layout.codes()) + 1);
  Table out = decode(alphas.data(), codes.data(), nullptr, 0, 0);
  for (size_t j = 0; j < out.columns.size(); ++j)
    if (const auto* l = std::get_if<LevelCode>(&state_->columns[j].code)) {
      std::vector<std::string>& values = out.columns[j].values;
      values.insert(values.end(), l->rare.begin(), l->rare.end());
    }
  return out;
}

bool Encoder::is_rare(const Span& span, int code) const {
  const LevelCode* l = std::get_if<LevelCode>(&state_->columns[static_cast<size_t>(span.column)].code);
  return l != nullptr && span.part == Span::Part::category && code == l->rare_level();
}

int Encoder::condition(const std::string& column, const std::string& value) const {
  for (const Span& span : state_->layout.spans) {
    const ColumnCode& c = state_->columns[static_cast<size_t>(span.column)];
    if (span.part != Span::Part::category || c.name != column) continue;
    const LevelCode& l = std::get<LevelCode>(c.code);
    int level = -1;
    if (value.empty()) {
      level = l.missing_level();
    } else if (!l.numbers.empty()) {
      double number = 0;
      const auto [end, error] = fast_float::from_chars(value.data(), value.data() + value.size(), number);
      if (error == std::errc() && end == value.data() + value.size()) level = l.level_of(number);
    } else if (const auto found = std::find(l.texts.begin(), l.texts.end(), value); found != l.texts.end()) {
      level = static_cast<int>(found - l.texts.begin());
    }
    return level < 0 ? -1 : span.cond_start + level;
  }
  return -1;
}

}  // namespace tessera
