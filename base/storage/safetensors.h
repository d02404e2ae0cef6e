// The safetensors format (huggingface.co/docs/safetensors): 8 bytes with the header's length, little-endian, a JSON
// header, then the tensors' bytes.
// Nothing in such a file is ever executed, and reading one allocates no more than a small multiple of its size.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/storage/fingerprint.h"

namespace tessera {

constexpr size_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation

template <class T>
constexpr const char* safetensor_dtype() {
  if constexpr (std::is_same_v<T, float>) return "F32";
  else if constexpr (std::is_same_v<T, double>) return "F64";
  else if constexpr (std::is_same_v<T, int64_t>) return "I64";
  else if constexpr (std::is_same_v<T, int32_t>) return "I32";
  else if constexpr (std::is_same_v<T, uint32_t>) return "U32";
  else if constexpr (std::is_same_v<T, uint8_t>) return "U8";
  else static_assert(sizeof(T) == 0, "no safetensors dtype for this type");
}

// A dense row-major tensor. `bytes` holds the product of `shape` elements of `dtype`, little-endian; an empty shape is
// a scalar.
struct SafeTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  template <class T>
  static SafeTensor of(std::vector<int64_t> shape, std::span<const T> values) {
    const auto raw = std::as_bytes(values);
    return {safetensor_dtype<T>(), std::move(shape), std::vector<std::byte>(raw.begin(), raw.end())};
  }

  // A copy of the elements. Throws Error(format) for another dtype.
  template <class T>
  std::vector<T> values() const {
    if (dtype != safetensor_dtype<T>())
      throw Error(ErrorCode::format, "A tensor holds " + dtype + " where " + safetensor_dtype<T>() + " is expected.");
    std::vector<T> out(bytes.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
    return out;
  }
};

struct SafeTensors {
  std::map<std::string, SafeTensor> tensors;
  std::map<std::string, std::string> metadata;

  const SafeTensor& at(const std::string& name) const;  // Error(format): there is no such tensor
};

// The same contents give the same bytes: tensors by descending element size, then by name, each at a multiple of its
// element size.
// Error(internal): bytes that do not fit the shape; Error(unsupported): header over 100 MB
std::string format_safetensors(const SafeTensors& contents);
// `path` is for messages; Error(format) names the defect and its place
SafeTensors parse_safetensors(const std::string& bytes, const std::string& path);

void write_safetensors(const std::string& path, const SafeTensors& contents, bool overwrite);  // whole or not at all

// The same file from external bytes, without copying them. A tensor's bytes are requested once, in file order.
struct TensorPlace {
  std::string name, dtype;
  std::vector<int64_t> shape;
};

// Detects bit errors of a disk or a copy: a fingerprint of a document and of tensors in any order.
class Checksum {
 public:
  explicit Checksum(const std::string& document) { all_.add(document); }
  Checksum(const std::string& document, const SafeTensors& file);  // of all its tensors but "checksum"
  void add(const TensorPlace& t, std::span<const std::byte> bytes);
  std::string text();  // 32 hexadecimal digits

 private:
  Fingerprint all_;
  std::vector<std::string> parts_;
};

class AtomicFile;
void write_safetensors(AtomicFile& file, const std::vector<TensorPlace>& tensors,
                       const std::map<std::string, std::string>& metadata,
                       const std::function<std::span<const std::byte>(const TensorPlace&)>& bytes);

SafeTensors read_safetensors(const std::string& path);

}  // namespace tessera
