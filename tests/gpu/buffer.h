// Device memory with a copy on the host, for tests.
#pragma once
#include <vector>

#include "kernels/gpu/dialect/dialect.h"

namespace tessera {

template <class T>
class Buffer {
 public:
  explicit Buffer(std::vector<T> values) : count_(values.size()) {
    void* p = nullptr;
    if (cudaMalloc(&p, count_ * sizeof(T)) == cudaSuccess) data_ = static_cast<T*>(p);
    cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice);
  }
  explicit Buffer(size_t count) : count_(count) {  // as fresh device memory is: NaN
    void* p = nullptr;
    if (cudaMalloc(&p, count_ * sizeof(T)) == cudaSuccess) data_ = static_cast<T*>(p);
  }
  ~Buffer() noexcept(false) { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  T* data() const { return data_; }
  std::vector<T> read() const {
    std::vector<T> v(count_);
    cudaMemcpy(v.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost);
    return v;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

}  // namespace tessera
