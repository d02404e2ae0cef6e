// One column of an Arrow batch, whatever its layout, read value by value. Lengths and buffers are checked on
// construction, texts and indices when they are read. Not checked, because a stream does not carry it: that a buffer is
// as long as its array's length needs.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tables/kinds/arrow_type.h"
#include "tessera/arrow.h"

namespace tessera {

class ArrowValues {
 public:
  // Values [start, start + length) of `array`. Throws Error(data) naming column and format if it is not supported.
  ArrowValues(const ArrowSchema& schema, const ArrowArray& array, int64_t start, int64_t length,
              const std::string& column);

  // The values' type; for a dictionary or runs, that of their values.
  static ArrowType type_of(const ArrowSchema& schema, const std::string& column);
  // The schema of the values: `schema`, or that of its dictionary or its runs' values.
  static const ArrowSchema& values_of(const ArrowSchema& schema);

  int64_t length() const { return length_; }
  bool is_null(int64_t i) const;
  int64_t whole(int64_t i) const;      // whole: the value; a uint64 of 2⁶³ or more: see is_too_large
  bool is_too_large(int64_t i) const;  // a uint64 of 2⁶³ or more
  // real; span: seconds; day: days since 1970-01-01; moment: seconds since 1970-01-01T00:00:00
  double number(int64_t i) const;
  void exact(int64_t i, std::string& out) const;  // exact: written in full, with all digits of its scale
  bool truth(int64_t i) const;                    // boolean
  std::string_view text(int64_t i) const;         // text

  // The distinct values of a dictionary, or of runs; nullptr: one value per row.
  const ArrowValues* dictionary() const { return values_.get(); }
  bool is_runs() const { return !run_ends_.empty(); }
  int64_t index(int64_t i) const;  // which of them; checked

 private:
  static ArrowType supported_type(const ArrowSchema& schema, const std::string& column);
  [[noreturn]] void fail(const std::string& what) const;
  void take_buffers(const ArrowArray& array);
  void take_runs(const ArrowSchema& schema, const ArrowArray& array);
  int64_t integer(char layout, int64_t at) const;
  int64_t at(int64_t i) const { return start_ + i; }

  std::string column_;
  char index_layout_ = 0;  // of a dictionary's indices
  ArrowType type_;         // of this array; of a dictionary or runs, of the values
  int64_t start_, length_;
  const uint8_t* validity_ = nullptr;
  const void* data_ = nullptr;
  const char* bytes_ = nullptr;                // of texts with offsets
  const void* const* view_buffers_ = nullptr;  // of views: their data, and last the sizes of these
  int64_t views_ = 0;
  std::vector<int64_t> run_ends_;
  std::unique_ptr<ArrowValues> values_;
};

}  // namespace tessera
