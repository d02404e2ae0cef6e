// One column of an Arrow batch, whatever its layout, read value by value. Lengths and buffers are checked when it is made, text when it is read.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tessera/arrow.h"

namespace tessera {

// What the format string of a column means to us.
enum class ArrowKind { none, boolean, whole, real, text, day, moment };

class ArrowValues {
 public:
  // Values [start, start + length) of `array`. Throws Error(data) naming column and format for what cannot be read.
  ArrowValues(const ArrowSchema& schema, const ArrowArray& array, int64_t start, int64_t length, const std::string& column);

  static ArrowKind kind_of(const ArrowSchema& schema, const std::string& column);  // of a dictionary: the kind of its values

  ArrowKind kind() const { return kind_; }
  int64_t length() const { return length_; }
  bool has_nulls() const { return validity_ != nullptr || format_ == "n"; }
  bool is_null(int64_t i) const;
  int64_t whole(int64_t i) const;           // whole: the value; larger than int64 holds: see is_too_large
  bool is_too_large(int64_t i) const;       // a uint64 of 2⁶³ or more
  double real(int64_t i) const;             // real
  double days(int64_t i) const;             // day: since 1970-01-01
  double seconds(int64_t i) const;          // moment: since 1970-01-01T00:00:00
  bool truth(int64_t i) const;              // boolean
  std::string_view text(int64_t i) const;   // text
  bool is_float32() const { return format_[0] == 'f'; }
  bool is_utc() const { return format_.size() > 4 && format_.substr(0, 2) == "ts"; }

  // The usual layouts all at once: out[i] = value i, NaN or −1 where it is missing. False, and nothing written, for any other layout.
  bool read_wholes(double* out) const;    // int64
  bool read_reals(double* out) const;     // float64
  bool read_indices(int32_t* out) const;  // int32 indices, checked

  const ArrowValues* dictionary() const { return dictionary_.get(); }
  int64_t index(int64_t i) const;  // dictionary: which of its values; checked

 private:
  [[noreturn]] void fail(const std::string& what) const;
  int64_t integer(int64_t at) const;
  int64_t at(int64_t i) const { return start_ + i; }

  std::string column_;
  std::string_view format_;
  ArrowKind kind_;
  int64_t start_, length_;
  const uint8_t* validity_ = nullptr;
  const void* data_ = nullptr;
  const char* bytes_ = nullptr;  // of text
  std::unique_ptr<ArrowValues> dictionary_;
};

}  // namespace tessera
