// Long arrays: the columns of a table, its encoded rows. In memory while they fit, else in a scratch file that is
// mapped: the same values either way.
// The scratch file has no name, so it disappears with the process, however that ends. Its blocks are reserved before
// they are written, so that a full disk is an Error(io) and not a signal.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/storage/files.h"
#include "base/storage/memory.h"

namespace tessera {

// a scan of rows in scratch keeps about this many in memory
constexpr int64_t kRowsResident = int64_t{1} << 18;

// The bytes of a Bulk.
class BulkBytes {
 public:
  BulkBytes() = default;
  BulkBytes(std::shared_ptr<MemoryLimit> limit, const char* what) : limit_(std::move(limit)), what_(what) {}
  ~BulkBytes() { free(); }
  BulkBytes(BulkBytes&& other) noexcept { swap(other); }
  BulkBytes& operator=(BulkBytes&& other) noexcept {
    BulkBytes(std::move(other)).swap(*this);
    return *this;
  }
  void swap(BulkBytes& other) noexcept {
    std::swap(limit_, other.limit_), std::swap(what_, other.what_), std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_), std::swap(share_, other.share_), std::swap(file_, other.file_);
    std::swap(random_, other.random_);
  }

  const std::shared_ptr<MemoryLimit>& limit() const { return limit_; }
  void* data() const { return data_; }
  size_t capacity() const { return capacity_; }
  bool in_scratch() const { return file_.get() >= 0; }
  // Raises the capacity to this many bytes and keeps the contents. Error(memory), or Error(io) if the scratch file
  // cannot grow.
  void reserve(size_t bytes);
  void free() noexcept;
  BulkBytes empty_like() const { return {limit_, what_}; }
  void expect_random_reads() { random_ = true; }
  int64_t random_reads(size_t bytes) const;
  // Releases touched scratch pages from this process; the file keeps them.
  void relax(size_t from, size_t to) const noexcept;

 private:
  std::shared_ptr<MemoryLimit> limit_;  // null: unlimited
  const char* what_ = "an array";       // for messages
  void* data_ = nullptr;
  size_t capacity_ = 0;
  MemoryShare share_;
  Descriptor file_{-1};
  bool random_ = false;
};

// A subset of std::vector. A copy has the same limit; a moved-from vector is empty and has none.
template <class T>
class Bulk {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;
  using reference = T&;
  using const_reference = const T&;
  using size_type = size_t;
  using difference_type = std::ptrdiff_t;

  Bulk() = default;
  Bulk(std::shared_ptr<MemoryLimit> limit, const char* what) : bytes_(std::move(limit), what) {}
  explicit Bulk(size_t n, T value = T()) { assign(n, value); }
  Bulk(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  Bulk(const std::vector<T>& values) { assign(values.begin(), values.end()); }  // NOLINT: a column is written as a list
  Bulk(const Bulk& other) : bytes_(other.bytes_.empty_like()) { assign(other.begin(), other.end()); }
  Bulk(Bulk&& other) noexcept : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}
  Bulk& operator=(Bulk other) noexcept {
    swap(other);
    return *this;
  }
  void swap(Bulk& other) noexcept { bytes_.swap(other.bytes_), std::swap(size_, other.size_); }
  Bulk empty_like() const {
    Bulk out;
    out.bytes_ = bytes_.empty_like();
    return out;
  }
  operator std::vector<T>() const { return {begin(), end()}; }  // NOLINT: for callers that need a vector

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t capacity() const { return bytes_.capacity() / sizeof(T); }
  bool in_scratch() const { return bytes_.in_scratch(); }
  T* data() { return static_cast<T*>(bytes_.data()); }
  const T* data() const { return static_cast<const T*>(bytes_.data()); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& at(size_t i) { return i < size_ ? data()[i] : out_of_range(); }
  const T& at(size_t i) const { return i < size_ ? data()[i] : const_cast<Bulk*>(this)->out_of_range(); }
  T& front() { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& front() const { return data()[0]; }
  const T& back() const { return data()[size_ - 1]; }

  void reserve(size_t n) {
    if (n <= capacity()) return;
    if (n > SIZE_MAX / 2 / sizeof(T)) throw std::bad_alloc();
    bytes_.reserve(n * sizeof(T));
  }
  void resize(size_t n, T value = T()) {
    if (n > size_) {
      grow(n);
      std::fill(data() + size_, data() + n, value);
    }
    size_ = n;
  }
  void resize_for_overwrite(size_t n) {  // new elements are uninitialized
    if (n > size_) grow(n);
    size_ = n;
  }
  void push_back(T value) {
    if (size_ == capacity()) grow(size_ + 1);
    data()[size_++] = value;
  }
  void assign(size_t n, T value) {
    clear();
    resize(n, value);
  }
  template <class Iterator, class = std::enable_if_t<!std::is_integral_v<Iterator>>>
  void assign(Iterator from, Iterator to) {
    clear();
    insert(end(), from, to);
  }
  // At the end only.
  template <class Iterator, class = std::enable_if_t<!std::is_integral_v<Iterator>>>
  void insert(const T* at, Iterator from, Iterator to) {
    if (at != end()) throw std::invalid_argument("Bulk::insert: at the end only");
    const auto n = static_cast<size_t>(to - from);
    grow(size_ + n);
    std::copy(from, to, data() + size_);
    size_ += n;
  }
  void insert(const T* at, size_t n, T value) {
    if (at != end()) throw std::invalid_argument("Bulk::insert: at the end only");
    resize(size_ + n, value);
  }
  void clear() { size_ = 0; }
  void release() {  // the memory too
    size_ = 0;
    bytes_.free();
  }
  // It counts in this limit from now on: a copy, unless it does already.
  void count_by(const std::shared_ptr<MemoryLimit>& limit) {
    if (bytes_.limit() == limit) return;
    Bulk counted(limit, "the table");
    counted.assign(begin(), end());
    swap(counted);
  }
  void relax() const noexcept { bytes_.relax(0, bytes_.capacity()); }
  // Call before it is filled: elements will be read in random order. Scratch is then cached in small pages, because the
  // kernel maps the whole of a large one (2 MB) for each element that is read.
  void expect_random_reads() { bytes_.expect_random_reads(); }
  // How many times `n` consecutive elements may be read at random positions between two releases of pages, so that the
  // resident pages stay within their share of the limit. INT64_MAX in memory.
  int64_t random_reads(size_t n) const { return bytes_.random_reads(n * sizeof(T)); }

  // Calls body(values, first) piece by piece, in order; processed pieces do not stay resident.
  template <class Body>
  void each_part(Body&& body) const {
    constexpr size_t kPart = kRowsResident;
    for (size_t first = 0; first < size_; first += kPart) {
      const size_t n = std::min(kPart, size_ - first);
      body(std::span<const T>(data() + first, n), first);
      bytes_.relax(first * sizeof(T), (first + n) * sizeof(T));
    }
  }

  friend bool operator==(const Bulk& a, const Bulk& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  // Grows by a quarter, so that appending one by one does not move the contents every time.
  void grow(size_t n) {
    if (n > capacity()) reserve(std::max(n, capacity() + capacity() / 4));
  }
  T& out_of_range() { throw std::out_of_range("Bulk::at"); }

  BulkBytes bytes_;
  size_t size_ = 0;
};

}  // namespace tessera
