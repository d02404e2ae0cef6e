#include "tables/arrow/array.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <unordered_map>

#include "base/error.h"
#include "tables/arrow/day_key.h"
#include "tables/arrow/float16.h"
#include "tables/arrow/holder.h"
#include "tables/arrow/wide_decimal.h"
#include "tables/formats/calendar.h"
#include "tables/formats/moments.h"
#include "tables/formats/values.h"
#include "tables/kinds/arrow_type.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/row_formats.h"

namespace tessera {
namespace {

constexpr size_t kInView = 12;  // bytes of a text stored in its view

struct ArrayHolder {
  Bulk<double> numbers;  // of integers, dates and times too: converted in place
  Bulk<int32_t> codes;
  std::vector<uint8_t> validity, bits;
  std::vector<char> bytes;  // values wider than a double, views
  std::vector<char> text;
  std::vector<int32_t> offsets;
  std::vector<int64_t> large_offsets, view_sizes;
  const void* buffers[4] = {nullptr, nullptr, nullptr, nullptr};
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
  ArrowArray dictionary{};
};

void make_array(std::unique_ptr<ArrayHolder> holder, int64_t length, int64_t nulls, int64_t buffers, ArrowArray* out) {
  *out = ArrowArray{};
  out->length = length;
  out->null_count = nulls;
  out->n_buffers = buffers;
  if (!holder->validity.empty()) holder->buffers[0] = holder->validity.data();
  out->buffers = holder->buffers;
  out->release = release_holder<ArrayHolder>;
  if (holder->dictionary.release != nullptr) out->dictionary = &holder->dictionary;
  if (!holder->children.empty()) {
    out->n_children = static_cast<int64_t>(holder->pointers.size());
    out->children = holder->pointers.data();
  }
  out->private_data = holder.release();
}

// A bitmap only if values are missing.
template <class Missing>
int64_t mark_missing(int64_t rows, std::vector<uint8_t>& validity, Missing missing) {
  int64_t nulls = 0;
  for (int64_t i = 0; i < rows; ++i) {
    if (!missing(static_cast<size_t>(i))) continue;
    if (nulls++ == 0) validity.assign(static_cast<size_t>((rows + 7) / 8), 0xFF);
    validity[static_cast<size_t>(i / 8)] &= static_cast<uint8_t>(~(1u << (i % 8)));
  }
  return nulls;
}

// --- one number in a format of fixed width ---

// The nearest value the integer type has.
template <class Int>
Int saturated(double v) {
  constexpr auto kLow = static_cast<double>(std::numeric_limits<Int>::min()),
                 kHigh = static_cast<double>(std::numeric_limits<Int>::max());
  if (v != v) return 0;
  const double whole = std::copysign(nearest(std::fabs(v)), v);
  return whole <= kLow    ? std::numeric_limits<Int>::min()
         : whole >= kHigh ? std::numeric_limits<Int>::max()
                          : static_cast<Int>(whole);
}

template <class V>
void put(char* to, V v) {
  std::memcpy(to, &v, sizeof v);
}

// Seconds since 1970 in units; nanoseconds via whole microseconds, the precision of a double.
int64_t units_of(double seconds, int64_t per_second) {
  if (per_second <= 1'000'000) return saturated<int64_t>(seconds * static_cast<double>(per_second));
  const auto micros = saturated<int64_t>(seconds * 1e6);
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max() / 1000;
  return std::clamp(micros, -kMax, kMax) * 1000;
}

// Calls use(convert), where convert turns a column's number into a value of the format. For all kinds but exact.
template <class Use>
void with_conversion(const ArrowType& t, Use use) {
  const auto per_second = t.per_second;
  const auto units = static_cast<double>(per_second);
  switch (t.kind) {
    case ArrowKind::real:
      return t.width == 2   ? use(to_half)
             : t.width == 4 ? use([](double v) { return static_cast<float>(v); })
                            : use([](double v) { return v; });
    case ArrowKind::day:
      return t.millis ? use([](double v) { return int64_t{saturated<int32_t>(v)} * kSecondsOfDay * 1000; })
                      : use(saturated<int32_t>);
    case ArrowKind::moment: return use([=](double v) { return units_of(v, per_second); });
    case ArrowKind::span:
      return t.width == 4 ? use([=](double v) { return saturated<int32_t>(v * units); })
                          : use([=](double v) { return saturated<int64_t>(v * units); });
    default: break;
  }
  switch (t.layout) {
    case 'c': return use(saturated<int8_t>);
    case 'C': return use(saturated<uint8_t>);
    case 's': return use(saturated<int16_t>);
    case 'S': return use(saturated<uint16_t>);
    case 'i': return use(saturated<int32_t>);
    case 'I': return use(saturated<uint32_t>);
    case 'L': return use(saturated<uint64_t>);
    default: return use(saturated<int64_t>);
  }
}

// A column's decimal. `text` is scratch.
void put_exact(double v, const Column& c, const ArrowType& t, char* to, std::string& text) {
  WideInteger wide;
  text.clear();
  if (digits_of(c) == kAllDigits) write_shortest(v, text);
  else write_decimal(v, decimals_of(c), text);
  read_wide(text, t.precision, t.scale, wide);
  wide.store(to, t.width);
}

// Digits as an integer of 64 bits. Regenerated identifiers may exceed it and then wrap around.
bool put_digits(const std::string& text, const ArrowType& t, char* to) {
  unsigned __int128 size = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (text.size() <= (negative ? 1u : 0u) || text.size() > 36) return false;
  for (size_t i = negative; i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    size = size * 10 + static_cast<unsigned>(text[i] - '0');
  }
  if (t.width < 8) {
    const double v = static_cast<double>(size);
    with_conversion(t, [&](auto convert) { put(to, convert(negative ? -v : v)); });
  } else if (t.layout == 'L') {
    put(to, static_cast<uint64_t>(negative ? 0 : size));
  } else {
    const auto most = static_cast<unsigned __int128>(std::numeric_limits<int64_t>::max());
    const auto low = static_cast<int64_t>(size & most);
    put(to, negative && size == most + 1 ? std::numeric_limits<int64_t>::min() : negative ? -low : low);
  }
  return true;
}

// A text (a level, a constant, an identifier) in the format. False: it does not fit the format.
bool put_text(const std::string& text, const ArrowType& t, char* to) {
  double v = 0;
  bool truth = false;
  WideInteger wide;
  switch (t.kind) {
    case ArrowKind::boolean:
      *to = 0;
      if (!read_boolean(text, true, truth)) return false;
      *to = truth ? 1 : 0;
      return true;
    case ArrowKind::day:
      if (!read_date(text, "%Y-%m-%d", v)) return false;
      break;
    case ArrowKind::moment:
      if (!read_datetime(text, "%Y-%m-%dT%H:%M:%S", v)) return false;
      break;
    case ArrowKind::exact:
      if (!read_wide(text, t.precision, t.scale, wide)) return false;
      wide.store(to, t.width);
      return true;
    case ArrowKind::whole:
      if (put_digits(text, t, to)) return true;
      [[fallthrough]];
    default:
      if (read_number(text, NumberStyle::point, v) != Reading::ok) return false;
  }
  with_conversion(t, [&](auto convert) { put(to, convert(v)); });
  return true;
}

// --- columns ---

// Numbers become values of the same or smaller size in the same memory; decimals get new memory.
void lay_out_numbers(const Column& c, const ArrowType& t, ArrayHolder& holder) {
  Bulk<double>& numbers = holder.numbers;
  if (t.kind == ArrowKind::exact) {
    const auto width = static_cast<size_t>(t.width);
    holder.bytes.assign(std::max<size_t>(numbers.size(), 1) * width, 0);
    std::string scratch;
    for (size_t i = 0; i < numbers.size(); ++i)
      if (numbers[i] == numbers[i]) put_exact(numbers[i], c, t, holder.bytes.data() + i * width, scratch);
    numbers.release();
    holder.buffers[1] = holder.bytes.data();
    return;
  }
  if (is_day(c) && t.kind != ArrowKind::day)
    for (double& day : numbers) day = key_of_day(day);
  if (t.layout != 'g') {
    with_conversion(t, [&](auto convert) {
      using V = decltype(convert(0.0));
      auto* bytes = reinterpret_cast<char*>(numbers.data());
      for (size_t i = 0; i < numbers.size(); ++i) {
        double v;
        std::memcpy(&v, bytes + i * sizeof v, sizeof v);
        put(bytes + i * sizeof(V), v == v ? convert(v) : V{});
      }
    });
  }
  if (numbers.empty()) numbers.reserve(1);  // a buffer may be empty, not null
  holder.buffers[1] = numbers.data();
}

// Each different text is read once.
void lay_out_codes(const Column& c, const Bulk<int32_t>& codes, const std::string& format, const ArrowType& t,
                   ArrayHolder& holder) {
  const auto width = static_cast<size_t>(std::max(t.width, 1));
  std::vector<char> values(c.values.size() * width);
  for (size_t k = 0; k < c.values.size(); ++k)
    if (!put_text(c.values[k], t, values.data() + k * width))
      throw Error(ErrorCode::format,
                  "Column \"" + c.name + "\" holds \"" + c.values[k].substr(0, 60) + "\", which its Arrow format \"" +
                      format + "\" cannot represent.\n  The model is damaged; fit it again, or use an intact copy.");
  if (t.kind == ArrowKind::boolean) {
    holder.bits.assign(codes.size() / 8 + 1, 0);
    for (size_t i = 0; i < codes.size(); ++i)
      if (codes[i] >= 0 && values[static_cast<size_t>(codes[i])] != 0)
        holder.bits[i / 8] |= static_cast<uint8_t>(1u << (i % 8));
    holder.buffers[1] = holder.bits.data();
    return;
  }
  holder.bytes.assign(std::max<size_t>(codes.size(), 1) * width, 0);
  for (size_t i = 0; i < codes.size(); ++i)
    if (codes[i] >= 0)
      std::memcpy(holder.bytes.data() + i * width, values.data() + static_cast<size_t>(codes[i]) * width, width);
  holder.buffers[1] = holder.bytes.data();
}

[[noreturn]] void fail_too_long(const std::string& column) {
  throw Error(ErrorCode::unsupported,
              "Column \"" + column + "\" has more than 2 GiB of texts in one batch.\n  Use smaller batches.");
}

// Contiguous texts: text(i) for i in [0, count).
template <class Offset, class Text>
void lay_out_texts(const std::string& column, size_t count, Text text, ArrayHolder& holder,
                   std::vector<Offset>& offsets) {
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += text(i).size();
  if (bytes > static_cast<size_t>(std::numeric_limits<Offset>::max())) fail_too_long(column);
  holder.text.resize(std::max<size_t>(bytes, 1));
  offsets.resize(count + 1);
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    const std::string& t = text(i);
    offsets[i] = static_cast<Offset>(at);
    std::memcpy(holder.text.data() + at, t.data(), t.size());
    at += t.size();
  }
  offsets[count] = static_cast<Offset>(at);
  holder.buffers[1] = offsets.data();
  holder.buffers[2] = holder.text.data();
}

template <class Text>
void lay_out_views(const std::string& column, size_t count, Text text, ArrayHolder& holder) {
  holder.bytes.assign(std::max<size_t>(count, 1) * 16, 0);
  for (size_t i = 0; i < count; ++i) {
    const std::string& t = text(i);
    char* view = holder.bytes.data() + 16 * i;
    put(view, static_cast<int32_t>(t.size()));
    std::memcpy(view + 4, t.data(), t.size() <= kInView ? t.size() : 4);
    if (t.size() <= kInView) continue;
    if (holder.text.size() + t.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) fail_too_long(column);
    put(view + 12, static_cast<int32_t>(holder.text.size()));
    holder.text.insert(holder.text.end(), t.begin(), t.end());
  }
  holder.view_sizes.push_back(static_cast<int64_t>(holder.text.size()));
  if (holder.text.empty()) holder.text.reserve(1);
  holder.buffers[1] = holder.bytes.data();
  holder.buffers[2] = holder.text.data();
  holder.buffers[3] = holder.view_sizes.data();
}

template <class Text>
int64_t lay_out_as(const ArrowType& t, const std::string& column, size_t count, Text text, ArrayHolder& holder) {
  if (t.offset == 0) lay_out_views(column, count, text, holder);
  else if (t.offset == 8) lay_out_texts(column, count, text, holder, holder.large_offsets);
  else lay_out_texts(column, count, text, holder, holder.offsets);
  return t.offset == 0 ? 4 : 3;
}

}  // namespace

ArrowFormat arrow_format(const Column& c, bool plain_texts, bool large) {
  const std::optional<ArrowType> came = c.arrow.empty() ? std::nullopt : ArrowType::parse(c.arrow);
  const bool fits = came && fits_arrow(c.type, *came), as_text = fits && came->kind == ArrowKind::text;
  // Numbers stay numbers, though each row has its own digits.
  if (by_row(c) && !is_quantity(c)) return plain_texts && as_text ? ArrowFormat{c.arrow, ""} : ArrowFormat{"i", "u"};
  if (came_as_text(c)) return {plain_texts ? c.arrow : default_arrow(c), ""};
  const bool texts = kind_of(c).free_text && (!fits || as_text);
  if (!texts) return {fits ? c.arrow : default_arrow(c), ""};
  if (plain_texts && as_text) return {large && came->offset == 4 ? came->bytes ? "Z" : "U" : c.arrow, ""};
  const char* values = as_text && came->bytes ? large ? "Z" : "z" : large ? "U" : "u";
  return {"i", values};
}

namespace {

// Numbers become texts in the column's format, or the row's, each different one written once.
void spell_numbers(Column& c) {
  std::vector<NumberWriter> writers{NumberWriter(c)};
  const Bulk<int32_t> formats = by_row(c) ? std::exchange(c.codes, c.codes.empty_like()) : c.codes.empty_like();
  for (const std::string& format : std::exchange(c.values, {})) writers.push_back(writer_in(c, format));
  std::vector<std::unordered_map<double, int32_t>> known(writers.size());
  c.codes.reserve(c.numbers.size());
  for (size_t i = 0; i < c.numbers.size(); ++i) {
    const double v = c.numbers[i];
    if (v != v) {
      c.codes.push_back(-1);
      continue;
    }
    const size_t format = formats.empty() ? 0 : static_cast<size_t>(formats[i] + 1);
    const auto [entry, fresh] = known[format].try_emplace(v, static_cast<int32_t>(c.values.size()));
    if (fresh) writers[format].write(v, c.values.emplace_back());
    c.codes.push_back(entry->second);
  }
  c.numbers.release();
  c.type = kind_of(c).open;
}

}  // namespace

void make_column_array(Column&& c, const ArrowFormat& format, ArrowArray* out) {
  auto holder = std::make_unique<ArrayHolder>();
  const int64_t rows = c.size();
  const ArrowType type = format.values.empty() ? ArrowType::parse(format.format).value() : ArrowType{};
  if ((by_row(c) && !is_quantity(c)) || (has_numbers(c) && type.kind == ArrowKind::text)) spell_numbers(c);
  if (has_numbers(c)) {
    holder->numbers = std::move(c.numbers);
    const Bulk<double>& numbers = holder->numbers;
    const int64_t nulls = mark_missing(rows, holder->validity, [&](size_t i) { return numbers[i] != numbers[i]; });
    lay_out_numbers(c, type, *holder);
    numbers.relax();
    return make_array(std::move(holder), rows, nulls, 2, out);
  }
  holder->codes = std::move(c.codes);
  Bulk<int32_t>& codes = holder->codes;
  const int64_t nulls = mark_missing(rows, holder->validity, [&](size_t i) { return codes[i] < 0; });
  codes.relax();
  int64_t buffers = 2;
  if (!format.values.empty()) {
    auto dictionary = std::make_unique<ArrayHolder>();
    const auto length = static_cast<int64_t>(c.values.size());
    const int64_t of_values = lay_out_as(
        ArrowType::parse(format.values).value(), c.name, c.values.size(),
        [&](size_t i) -> const std::string& { return c.values[i]; }, *dictionary);
    std::vector<std::string>().swap(c.values);
    make_array(std::move(dictionary), length, 0, of_values, &holder->dictionary);
    if (codes.empty()) codes.reserve(1);
    holder->buffers[1] = codes.data();
  } else if (type.kind == ArrowKind::text) {
    const std::string none;
    buffers = lay_out_as(
        type, c.name, codes.size(),
        [&](size_t i) -> const std::string& { return codes[i] < 0 ? none : c.values[static_cast<size_t>(codes[i])]; },
        *holder);
    codes.release();
  } else if (type.kind == ArrowKind::none) {
    holder->validity.clear();
    return make_array(std::move(holder), rows, rows, 0, out);
  } else {
    lay_out_codes(c, codes, format.format, type, *holder);
    codes.release();
  }
  make_array(std::move(holder), rows, nulls, buffers, out);
}

void make_batch(Table&& table, const std::vector<ArrowFormat>& formats, ArrowArray* out) {
  auto holder = std::make_unique<ArrayHolder>();
  holder->children.resize(table.columns.size());
  try {
    for (size_t j = 0; j < table.columns.size(); ++j) {
      make_column_array(std::move(table.columns[j]), formats[j], &holder->children[j]);
      table.columns[j] = Column{};
      holder->pointers.push_back(&holder->children[j]);
    }
  } catch (...) {
    for (ArrowArray& child : holder->children)
      if (child.release != nullptr) child.release(&child);
    throw;
  }
  make_array(std::move(holder), table.rows, 0, 1, out);
}

}  // namespace tessera
