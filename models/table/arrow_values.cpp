#include "models/table/arrow_values.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "engine/error.h"

namespace tessera {
namespace {

template <class V>
V load(const void* data, int64_t i) {
  V v;
  std::memcpy(&v, static_cast<const char*>(data) + i * static_cast<int64_t>(sizeof v), sizeof v);
  return v;
}

bool bit(const void* bits, int64_t i) { return (static_cast<const uint8_t*>(bits)[i / 8] >> (i % 8) & 1) != 0; }

bool is_index_format(std::string_view f) { return f.size() == 1 && std::strchr("cCsSiIlL", f[0]) != nullptr; }

}  // namespace

ArrowKind ArrowValues::kind_of(const ArrowSchema& schema, const std::string& column) {
  const std::string_view f = schema.format == nullptr ? "" : schema.format;
  if (schema.dictionary != nullptr) {
    if (is_index_format(f) && schema.dictionary->dictionary == nullptr) return kind_of(*schema.dictionary, column);
  } else if (f == "n") {
    return ArrowKind::none;
  } else if (f == "b") {
    return ArrowKind::boolean;
  } else if (is_index_format(f)) {
    return ArrowKind::whole;
  } else if (f == "f" || f == "g") {
    return ArrowKind::real;
  } else if (f == "u" || f == "U") {
    return ArrowKind::text;
  } else if (f == "tdD" || f == "tdm") {
    return ArrowKind::day;
  } else if (f.size() >= 4 && f.substr(0, 2) == "ts" && std::strchr("smun", f[2]) != nullptr && f[3] == ':') {
    return ArrowKind::moment;
  }
  throw Error(ErrorCode::data, "Column \"" + column + "\" of the Arrow stream has the format \"" + std::string(f) +
                                   "\", which is not read.\n  Cast it to an integer, float32/64, bool, utf8, large_utf8, dictionary of these, date or timestamp first.");
}

ArrowValues::ArrowValues(const ArrowSchema& schema, const ArrowArray& array, int64_t start, int64_t length, const std::string& column)
    : column_(column), kind_(kind_of(schema, column)), start_(start), length_(length) {
  format_ = schema.format;
  if (array.length < 0 || array.offset < 0 || array.offset > std::numeric_limits<int64_t>::max() / 16 - array.length) fail("a negative or impossible length or offset");
  if (start < 0 || length < 0 || start > array.length - length) fail("fewer values (" + std::to_string(array.length) + ") than its batch has rows (" + std::to_string(start + length) + ")");
  start_ += array.offset;
  if (format_ == "n") return;
  const bool is_text = schema.dictionary == nullptr && kind_ == ArrowKind::text;
  const int64_t wanted = is_text ? 3 : 2;
  if (array.n_buffers != wanted || array.buffers == nullptr) fail(std::to_string(array.n_buffers) + " buffers where its format has " + std::to_string(wanted));
  if (array.null_count != 0) validity_ = static_cast<const uint8_t*>(array.buffers[0]);
  data_ = array.buffers[1];
  if (is_text) bytes_ = static_cast<const char*>(array.buffers[2]);
  if (length_ > 0 && data_ == nullptr) fail("no values (its buffer is NULL)");
  if (schema.dictionary != nullptr) {
    if (array.dictionary == nullptr) fail("no dictionary");
    dictionary_ = std::make_unique<ArrowValues>(*schema.dictionary, *array.dictionary, 0, array.dictionary->length, column);
  }
}

void ArrowValues::fail(const std::string& what) const {
  throw Error(ErrorCode::data, "Column \"" + column_ + "\" of the Arrow stream has " + what + ".\n  The program that made the stream is at fault; write its table to CSV and read that instead.");
}

bool ArrowValues::is_null(int64_t i) const {
  if (format_ == "n") return true;
  if (validity_ != nullptr && !bit(validity_, at(i))) return true;
  if (dictionary_ != nullptr) return dictionary_->is_null(index(i));
  return false;
}

int64_t ArrowValues::integer(int64_t i) const {
  switch (format_[0]) {
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
  const int64_t n = integer(at(i));
  if (n < 0 || n >= dictionary_->length()) fail("the dictionary index " + std::to_string(n) + " in a dictionary of " + std::to_string(dictionary_->length()));
  return n;
}

bool ArrowValues::read_wholes(double* out) const {
  if (dictionary_ || format_ != "l") return false;
  for (int64_t i = 0; i < length_; ++i) out[i] = validity_ != nullptr && !bit(validity_, at(i)) ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(load<int64_t>(data_, at(i)));
  return true;
}

bool ArrowValues::read_reals(double* out) const {
  if (dictionary_ || format_ != "g") return false;
  for (int64_t i = 0; i < length_; ++i) out[i] = validity_ != nullptr && !bit(validity_, at(i)) ? std::numeric_limits<double>::quiet_NaN() : load<double>(data_, at(i));
  return true;
}

bool ArrowValues::read_indices(int32_t* out) const {
  if (!dictionary_ || format_ != "i") return false;
  const int64_t size = dictionary_->length();
  for (int64_t i = 0; i < length_; ++i) {
    const bool missing = validity_ != nullptr && !bit(validity_, at(i));
    const int32_t n = missing ? -1 : load<int32_t>(data_, at(i));
    if (!missing && (n < 0 || n >= size)) index(i);  // says what is wrong
    out[i] = n;
  }
  return true;
}

int64_t ArrowValues::whole(int64_t i) const { return dictionary_ ? dictionary_->whole(index(i)) : integer(at(i)); }

bool ArrowValues::is_too_large(int64_t i) const {
  if (dictionary_) return dictionary_->is_too_large(index(i));
  return format_[0] == 'L' && integer(at(i)) < 0;
}

double ArrowValues::real(int64_t i) const {
  if (dictionary_) return dictionary_->real(index(i));
  return is_float32() ? static_cast<double>(load<float>(data_, at(i))) : load<double>(data_, at(i));
}

double ArrowValues::days(int64_t i) const {
  if (dictionary_) return dictionary_->days(index(i));
  return format_ == "tdD" ? load<int32_t>(data_, at(i)) : std::floor(static_cast<double>(load<int64_t>(data_, at(i))) / 86400000.0);
}

double ArrowValues::seconds(int64_t i) const {
  if (dictionary_) return dictionary_->seconds(index(i));
  int64_t n = load<int64_t>(data_, at(i));
  if (format_[2] == 'n') n = n / 1000 - (n % 1000 < 0);  // a double holds microseconds of this era, not more
  const double per_second = format_[2] == 's' ? 1 : format_[2] == 'm' ? 1e3 : 1e6;
  return static_cast<double>(n) / per_second;
}

bool ArrowValues::truth(int64_t i) const { return dictionary_ ? dictionary_->truth(index(i)) : bit(data_, at(i)); }

std::string_view ArrowValues::text(int64_t i) const {
  if (dictionary_) return dictionary_->text(index(i));
  const bool large = format_[0] == 'U';
  const int64_t begin = large ? load<int64_t>(data_, at(i)) : load<int32_t>(data_, at(i));
  const int64_t end = large ? load<int64_t>(data_, at(i) + 1) : load<int32_t>(data_, at(i) + 1);
  if (begin < 0 || end < begin) fail("text offsets that go backwards");
  if (end > begin && bytes_ == nullptr) fail("no text (its buffer is NULL)");
  return end == begin ? std::string_view() : std::string_view(bytes_ + begin, static_cast<size_t>(end - begin));
}

}  // namespace tessera
