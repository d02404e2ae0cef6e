#include "tables/arrow/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/text/ascii.h"
#include "base/text/utf8.h"
#include "tables/arrow/float16.h"
#include "tables/arrow/wide_decimal.h"
#include "tables/formats/calendar.h"
#include "tables/types/types.h"

namespace tessera {
namespace {

constexpr int64_t kAddresses = int64_t{1} << 47;  // bytes that a process can address

template <class V>
V load(const void* data, int64_t i) {
  V v;
  std::memcpy(&v, static_cast<const char*>(data) + i * static_cast<int64_t>(sizeof v), sizeof v);
  return v;
}

bool bit(const void* bits, int64_t i) { return (static_cast<const uint8_t*>(bits)[i / 8] >> (i % 8) & 1) != 0; }

std::string_view format_of(const ArrowSchema& schema) { return schema.format == nullptr ? "" : schema.format; }
bool is_index(std::string_view f) { return f.size() == 1 && f[0] != 0 && std::strchr("cCsSiIlL", f[0]) != nullptr; }
bool is_runs_format(std::string_view f) { return f == "+r"; }

// The format of a foreign stream, made printable for a message.
std::string shown(std::string_view format) {
  std::string out(format.substr(0, 60));
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  return out;
}

[[noreturn]] void fail_schema(const std::string& column, const std::string& what, const char* way_out) {
  throw Error(ErrorCode::data, "Column \"" + column + "\" " + what + ".\n  " + way_out);
}

// An offset from UTC, +05:30, +0530 or +05, below a day; or a name, which only a data base of zones could check.
bool is_zone(std::string_view zone) {
  if (find_bad_utf8(zone.data(), zone.data() + zone.size()) != zone.data() + zone.size()) return false;
  if (std::any_of(zone.begin(), zone.end(), [](unsigned char c) { return c < ' ' || c == 127; })) return false;
  if (zone.empty() || (zone[0] != '+' && zone[0] != '-')) return true;
  std::string digits(zone.substr(1));
  if (digits.size() == 5 && digits[2] == ':') digits.erase(2, 1);
  return (digits.size() == 2 || digits.size() == 4) && std::all_of(digits.begin(), digits.end(), is_digit) &&
         digits.substr(0, 2) < "24" && (digits.size() == 2 || digits[2] < '6');
}

}  // namespace

const ArrowSchema& ArrowValues::values_of(const ArrowSchema& schema) {
  if (schema.dictionary != nullptr) return *schema.dictionary;
  if (is_runs_format(format_of(schema)) && schema.n_children == 2 && schema.children != nullptr &&
      schema.children[1] != nullptr)
    return *schema.children[1];
  return schema;
}

ArrowType ArrowValues::type_of(const ArrowSchema& schema, const std::string& column) {
  const ArrowType type = supported_type(schema, column);
  if (type.kind != ArrowKind::moment) return type;
  const std::string_view format = format_of(values_of(schema)), zone = format.substr(format.find(':') + 1);
  if (!is_zone(zone))
    fail_schema(column,
                "has the time zone \"" + shown(zone) + "\", which is neither a name nor an offset such as +05:30",
                "The program that made the stream is at fault.");
  return type;
}

ArrowType ArrowValues::supported_type(const ArrowSchema& schema, const std::string& column) {
  const std::string_view f = format_of(schema);
  const char* cast =
      "Cast it to an integer, a float, a decimal, bool, utf8, a dictionary, a date, a time, a duration or a timestamp.";
  if (schema.dictionary != nullptr) {
    const ArrowSchema& values = *schema.dictionary;
    const std::string_view of = format_of(values);
    if (!is_index(f))
      fail_schema(column, "has a dictionary whose indices are \"" + shown(f) + "\", which are not integers",
                  "The program that made the stream is at fault.");
    if (values.dictionary != nullptr || !ArrowType::parse(of))
      fail_schema(column, "is a dictionary with the format \"" + shown(of) + "\", which is not supported", cast);
    return *ArrowType::parse(of);
  }
  if (is_runs_format(f)) {
    const ArrowSchema& values = values_of(schema);
    if (&values == &schema || schema.children[0] == nullptr ||
        std::string_view("sil").find(format_of(*schema.children[0])) == std::string_view::npos ||
        format_of(*schema.children[0]).size() != 1)
      fail_schema(column, "is run-end encoded, but lacks run ends (int16, int32 or int64) and values",
                  "The program that made the stream is at fault.");
    if (values.dictionary != nullptr || !ArrowType::parse(format_of(values)))
      fail_schema(column,
                  "is run-end encoded, with the format \"" + shown(format_of(values)) + "\", which is not supported",
                  cast);
    return *ArrowType::parse(format_of(values));
  }
  if (const auto type = ArrowType::parse(f)) return *type;
  if (!f.empty() && f[0] == '+')
    fail_schema(column, "is nested (format \"" + shown(f) + "\"), and a table's cells are single values",
                "Flatten it into separate columns, or cast it to text.");
  fail_schema(column, "has the format \"" + shown(f) + "\", which is not supported", cast);
}

ArrowValues::ArrowValues(const ArrowSchema& schema, const ArrowArray& array, int64_t start, int64_t length,
                         const std::string& column)
    : column_(column), type_(type_of(schema, column)), start_(start), length_(length) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max() / 64;
  if (array.length < 0 || array.offset < 0 || array.length > kMax || array.offset > kMax - array.length)
    fail("a negative or impossible length or offset");
  if (start < 0 || length < 0 || start > array.length - length)
    fail("fewer values (" + std::to_string(array.length) + ") than its batch has rows (" +
         std::to_string(start + length) + ")");
  if (array.null_count < -1 || array.null_count > array.length)
    fail("a null count of " + std::to_string(array.null_count) + " among " + std::to_string(array.length) + " values");
  start_ += array.offset;
  if (schema.dictionary == nullptr && is_runs_format(format_of(schema))) {
    take_runs(schema, array);
    return;
  }
  if (schema.dictionary != nullptr) {
    index_layout_ = *schema.format;
    if (array.dictionary == nullptr) fail("no dictionary");
    values_ = std::make_unique<ArrowValues>(*schema.dictionary, *array.dictionary, 0, array.dictionary->length, column);
  }
  if (array.n_children != 0) fail(counted(array.n_children, "child", "children") + " where its format has none");
  take_buffers(array);
}

void ArrowValues::take_buffers(const ArrowArray& array) {
  if (values_ == nullptr && type_.kind == ArrowKind::none) return;
  const bool is_text = values_ == nullptr && type_.kind == ArrowKind::text;
  const int64_t wanted = is_text ? 3 : 2;
  const bool views = is_text && type_.offset == 0;
  if (array.buffers == nullptr) fail("no buffers (their list is NULL)");
  if (views ? array.n_buffers < wanted : array.n_buffers != wanted)
    fail(counted(array.n_buffers, "buffer") + " where its format has " + std::to_string(wanted) +
         (views ? " or more" : ""));
  if (array.null_count != 0) validity_ = static_cast<const uint8_t*>(array.buffers[0]);
  if (array.null_count > 0 && validity_ == nullptr)
    fail(counted(array.null_count, "null") + ", but no bitmap (it is NULL)");
  data_ = array.buffers[1];
  if (length_ > 0 && data_ == nullptr) fail("no values (its buffer is NULL)");
  if (views) {
    view_buffers_ = array.buffers + 2;
    views_ = array.n_buffers - 3;
    if (views_ > 0 && view_buffers_[views_] == nullptr) fail("no sizes of its texts (the last buffer is NULL)");
  } else if (is_text) {
    bytes_ = static_cast<const char*>(array.buffers[2]);
  }
}

void ArrowValues::take_runs(const ArrowSchema& schema, const ArrowArray& array) {
  if (array.n_children != 2 || array.children == nullptr || array.children[0] == nullptr ||
      array.children[1] == nullptr)
    fail("no run ends or no values");
  const ArrowArray &ends = *array.children[0], &values = *array.children[1];
  if (values.length < 0) fail("a negative or impossible length or offset");
  values_ = std::make_unique<ArrowValues>(*schema.children[1], values, 0, values.length, column_);
  const ArrowValues read(*schema.children[0], ends, 0, std::max<int64_t>(ends.length, 0), column_);
  if (read.length() != values.length)
    fail(counted(read.length(), "run end") + " and " + counted(values.length, "value"));
  int64_t last = 0;
  for (int64_t r = 0; r < read.length(); ++r) {
    const int64_t end = read.is_null(r) ? 0 : read.whole(r);
    if (end <= last) fail("run ends that do not ascend");
    run_ends_.push_back(last = end);
  }
  if (length_ > 0 && last < start_ + length_)
    fail("runs that end at " + std::to_string(last) + ", before its " + std::to_string(start_ + length_) + " values");
  if (run_ends_.empty()) run_ends_.push_back(0);  // no rows: index() is never called
}

void ArrowValues::fail(const std::string& what) const {
  throw Error(
      ErrorCode::data,
      "Column \"" + column_ + "\" has " + what +
          ".\n  The program that made the stream is at fault; write its table to CSV and read that file instead.");
}

bool ArrowValues::is_null(int64_t i) const {
  if (values_ == nullptr && type_.kind == ArrowKind::none) return true;
  if (validity_ != nullptr && !bit(validity_, at(i))) return true;
  return values_ != nullptr && values_->is_null(index(i));
}

int64_t ArrowValues::integer(char layout, int64_t i) const {
  switch (layout) {
    case 'c': return load<int8_t>(data_, i);
    case 'C': return load<uint8_t>(data_, i);
    case 's': return load<int16_t>(data_, i);
    case 'S': return load<uint16_t>(data_, i);
    case 'i': return load<int32_t>(data_, i);
    case 'I': return load<uint32_t>(data_, i);
    case 'L': return static_cast<int64_t>(load<uint64_t>(data_, i));
    default: return load<int64_t>(data_, i);
  }
}

int64_t ArrowValues::index(int64_t i) const {
  if (is_runs()) return std::upper_bound(run_ends_.begin(), run_ends_.end(), at(i)) - run_ends_.begin();
  const int64_t n = integer(index_layout_, at(i));
  if (n < 0 || n >= values_->length())
    fail("the dictionary index " + std::to_string(n) + " in a dictionary of " + std::to_string(values_->length()));
  return n;
}

int64_t ArrowValues::whole(int64_t i) const {
  return values_ ? values_->whole(index(i)) : integer(type_.layout, at(i));
}

bool ArrowValues::is_too_large(int64_t i) const {
  if (values_) return values_->is_too_large(index(i));
  return type_.layout == 'L' && integer('L', at(i)) < 0;
}

double ArrowValues::number(int64_t i) const {
  if (values_) return values_->number(index(i));
  switch (type_.kind) {
    case ArrowKind::real:
      return type_.width == 2   ? from_half(load<uint16_t>(data_, at(i)))
             : type_.width == 4 ? static_cast<double>(load<float>(data_, at(i)))
                                : load<double>(data_, at(i));
    case ArrowKind::day:
      return type_.millis ? std::floor(static_cast<double>(load<int64_t>(data_, at(i))) / (kSecondsPerDay * 1e3))
                          : load<int32_t>(data_, at(i));
    case ArrowKind::span:
      return static_cast<double>(integer(type_.width == 4 ? 'i' : 'l', at(i))) / static_cast<double>(type_.per_second);
    default: break;
  }
  int64_t n = load<int64_t>(data_, at(i)), per_second = type_.per_second;
  if (per_second > 1'000'000) {  // a double holds microseconds of this era, not more
    n = n / 1000 - (n % 1000 < 0);
    per_second /= 1000;
  }
  return static_cast<double>(n) / static_cast<double>(per_second);
}

void ArrowValues::exact(int64_t i, std::string& out) const {
  if (values_) return values_->exact(index(i), out);
  write_wide(WideInteger::load(static_cast<const char*>(data_) + at(i) * type_.width, type_.width), type_.scale, out);
}

bool ArrowValues::truth(int64_t i) const { return values_ ? values_->truth(index(i)) : bit(data_, at(i)); }

std::string_view ArrowValues::text(int64_t i) const {
  if (values_) return values_->text(index(i));
  // 16 bytes: the length, then the text itself, or its first 4 bytes, the number of a buffer and an offset in it
  if (type_.offset == 0) {
    const char* view = static_cast<const char*>(data_) + 16 * at(i);
    const auto size = load<int32_t>(view, 0);
    if (size < 0) fail("a text of negative length");
    if (size <= 12) return {view + 4, static_cast<size_t>(size)};
    const auto buffer = load<int32_t>(view, 2), from = load<int32_t>(view, 3);
    if (buffer < 0 || buffer >= views_ || from < 0 || view_buffers_[buffer] == nullptr ||
        from > load<int64_t>(view_buffers_[views_], buffer) - size)
      fail("a text outside its buffers");
    return {static_cast<const char*>(view_buffers_[buffer]) + from, static_cast<size_t>(size)};
  }
  const int64_t begin = type_.offset == 8 ? load<int64_t>(data_, at(i)) : load<int32_t>(data_, at(i));
  const int64_t end = type_.offset == 8 ? load<int64_t>(data_, at(i) + 1) : load<int32_t>(data_, at(i) + 1);
  if (begin < 0 || end < begin) fail("descending text offsets");
  if (end > kAddresses) fail("the text offset " + std::to_string(end) + ", beyond any memory");
  if (end > begin && bytes_ == nullptr) fail("no text (its buffer is NULL)");
  return end == begin ? std::string_view() : std::string_view(bytes_ + begin, static_cast<size_t>(end - begin));
}

}  // namespace tessera
