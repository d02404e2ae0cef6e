#include "base/storage/spill_vector.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "base/error.h"

namespace tessera {
namespace {

constexpr size_t kPage = size_t{1} << 16;  // a multiple of every page size in use
// minimum growth of scratch files: each growth is a system call
constexpr size_t kScratchStep = size_t{16} << 20;
constexpr size_t kMinScratch = kPage;  // smaller arrays are not worth a file

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

void BulkBytes::reserve(size_t bytes) {
  if (bytes <= capacity_) return;
  // Reserves memory if the limit allows it. False: use scratch; Error(memory) without scratch.
  const auto take_share = [&] {
    if (limit_ == nullptr) return true;
    const bool scratch = !limit_->scratch().empty() && bytes >= kMinScratch;
    if (scratch && !limit_->fits_in_memory(static_cast<int64_t>(bytes - capacity_))) return false;
    if (share_.bytes() == 0) share_ = MemoryShare(limit_, 0, what_, true);
    try {
      share_.resize(static_cast<int64_t>(bytes), what_);
      return true;
    } catch (const Error&) {  // other users hold the arrays' share
      if (!scratch) throw;
      return false;
    }
  };
  if (!in_scratch() && take_share()) {
    void* moved = std::realloc(data_, bytes);
    if (moved == nullptr) {
      share_.resize(static_cast<int64_t>(capacity_), what_);
      throw std::bad_alloc();
    }
    data_ = moved, capacity_ = bytes;
    return;
  }
  const bool first = !in_scratch();
  Descriptor fresh = first ? open_scratch(limit_->scratch()) : Descriptor(-1);
  const Descriptor& file = first ? fresh : file_;
  const size_t size = whole_pages(first ? bytes : std::max(bytes, capacity_ + kScratchStep));
  extend_scratch(file, static_cast<int64_t>(size), limit_->scratch());
  void* mapped = first ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0)
                       : ::mremap(data_, capacity_, size, MREMAP_MAYMOVE);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  if (first) {
    if (random_) ::madvise(mapped, size, MADV_RANDOM);
    if (capacity_ > 0) std::memcpy(mapped, data_, capacity_);
    std::free(data_);
    share_.reset();
    file_ = std::move(fresh);
  }
  data_ = mapped, capacity_ = size;
}

void BulkBytes::free() noexcept {
  if (in_scratch()) ::munmap(data_, capacity_);
  else std::free(data_);
  file_.close();
  share_.reset();
  data_ = nullptr, capacity_ = 0;
}

// A read of cached scratch maps the pages around it as well: 64 kB unless the kernel is configured otherwise.
int64_t BulkBytes::random_reads(size_t bytes) const {
  return in_scratch() ? limit_->random_bytes() / static_cast<int64_t>(kPage + bytes) : INT64_MAX;
}

void BulkBytes::relax(size_t from, size_t to) const noexcept {
  if (!in_scratch()) return;
  from = from / kPage * kPage, to = std::min(whole_pages(to), capacity_);
  if (to > from) ::madvise(static_cast<char*>(data_) + from, to - from, MADV_DONTNEED);
}

}  // namespace tessera
