// The distinct texts of a column, numbered in order of first appearance. One block of bytes, not a string an entry.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

class Dictionary {
 public:
  // The number of this text; it gets the next one if it is new. Throws Error(memory) beyond 2³¹ − 2 texts.
  int32_t code(std::string_view text) {
    if (last_ >= 0 && value(last_) == text) return last_;  // runs of one value are common
    return last_ = find(text);
  }
  int32_t size() const { return static_cast<int32_t>(ends_.size()); }
  std::string_view value(int32_t code) const {
    const auto i = static_cast<size_t>(code);
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return {bytes_.data() + begin, ends_[i] - begin};
  }
  std::vector<std::string> take_values();  // all texts in order; leaves the dictionary empty
  void clear();                            // keeps small allocations

 private:
  int32_t find(std::string_view text);
  void grow();

  struct Slot {
    uint32_t hash;
    int32_t code;
  };
  std::string bytes_;
  std::vector<size_t> ends_;
  std::vector<Slot> slots_;  // open addressing, at most half full
  int32_t last_ = -1;
};

}  // namespace tessera
