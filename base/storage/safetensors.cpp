#include "base/storage/safetensors.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/storage/files.h"
#include "base/text/json_guard.h"

namespace tessera {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors files are little-endian; this machine needs a byte swap here");

constexpr size_t kLengthBytes = 8;
constexpr const char* kMetadataKey = "__metadata__";

struct Dtype {
  const char* name;
  int64_t size;
};
constexpr Dtype kDtypes[] = {{"F64", 8}, {"I64", 8}, {"U64", 8},  {"F32", 4},     {"I32", 4},
                             {"U32", 4}, {"F16", 2}, {"BF16", 2}, {"I16", 2},     {"U16", 2},
                             {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};

int64_t element_size(const std::string& dtype) {  // 0: unknown
  for (const Dtype& d : kDtypes)
    if (dtype == d.name) return d.size;
  return 0;
}

// The bytes of shape × dtype, or −1 if a dimension is negative or the product exceeds 63 bits.
int64_t byte_count(const std::vector<int64_t>& shape, int64_t element) {
  int64_t n = element;
  for (int64_t d : shape)
    if (d < 0 || __builtin_mul_overflow(n, d, &n)) return -1;
  return n;
}

[[noreturn]] void bad(const std::string& path, const std::string& what) {
  throw Error(
      ErrorCode::format,
      path + ": " + what + "\n  The file is damaged or is not a safetensors file; get a new copy from its source.");
}

struct Entry {
  std::string name;
  SafeTensor tensor;
  int64_t begin, end;
};

int64_t natural(const nlohmann::json& value, const std::string& path, const std::string& where) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    bad(path, where + " has a value that is not a natural number.");
  return value.get<int64_t>();
}

Entry parse_entry(const std::string& name, const nlohmann::json& entry, const std::string& path) {
  const std::string where = "tensor \"" + name + "\"";
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets"))
    bad(path, where + " is not described by exactly dtype, shape and data_offsets.");
  const auto &dtype = entry["dtype"], &shape = entry["shape"], &offsets = entry["data_offsets"];
  if (!dtype.is_string() || element_size(dtype.get<std::string>()) == 0) bad(path, where + " has an unknown dtype.");
  if (!shape.is_array() || shape.size() > 32)
    bad(path, where + " has a shape that is not an array of at most 32 dimensions.");
  if (!offsets.is_array() || offsets.size() != 2) bad(path, where + " has data_offsets that are not a pair.");

  Entry out{
      name, {dtype.get<std::string>(), {}, {}}, natural(offsets[0], path, where), natural(offsets[1], path, where)};
  for (const auto& d : shape) out.tensor.shape.push_back(natural(d, path, where));
  const int64_t need = byte_count(out.tensor.shape, element_size(out.tensor.dtype));
  if (need < 0) bad(path, where + " has a shape that is too large.");
  if (out.begin > out.end || out.end - out.begin != need)
    bad(path, where + " needs " + std::to_string(need) + " bytes by its shape and dtype, but its offsets are " +
                  std::to_string(out.begin) + " to " + std::to_string(out.end) + ".");
  return out;
}

}  // namespace

const SafeTensor& SafeTensors::at(const std::string& name) const {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw Error(ErrorCode::format, "The file has no tensor \"" + name + "\".");
  return found->second;
}

namespace {

// Files that users mistake for models, recognized by their first bytes.
void refuse_known_kinds(std::string_view bytes, const std::string& path) {
  using namespace std::string_view_literals;
  for (const auto& [magic, kind] : {std::pair{"PAR1"sv, "a Parquet file"},
                                    {"ARROW1"sv, "an Arrow file"},
                                    {"\xff\xff\xff\xff"sv, "an Arrow stream"},
                                    {"\x1f\x8b"sv, "a gzip file"},
                                    {"PK\x03\x04"sv, "a ZIP archive"}})
    if (bytes.substr(0, magic.size()) == magic)
      throw Error(ErrorCode::format, path + ": this is " + kind +
                                         ", not a model (a safetensors file).\n  Name a file "
                                         "that a fit has written.");
}

// Sorts the tensors into the order of the file and gives the bytes before them.
std::string format_header(std::vector<TensorPlace>& tensors, const std::map<std::string, std::string>& metadata) {
  const auto order = [](const TensorPlace& t) { return std::make_pair(-element_size(t.dtype), std::cref(t.name)); };
  std::sort(tensors.begin(), tensors.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  int64_t at = 0;
  for (const TensorPlace& t : tensors) {
    const int64_t element = element_size(t.dtype), bytes = byte_count(t.shape, element);
    if (element == 0 || t.name == kMetadataKey || bytes < 0)
      throw Error(ErrorCode::internal, "Tensor \"" + t.name + "\" does not fit its shape, dtype or name.");
    header[t.name] = {{"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  std::string text = header.dump();
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  if (text.size() > kMaxHeaderBytes)
    throw Error(ErrorCode::unsupported, "The header of the file would take " + std::to_string(text.size()) +
                                            " bytes; the limit of safetensors files is " +
                                            std::to_string(kMaxHeaderBytes) + ".");
  const uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), kLengthBytes) + text;
}

std::span<const std::byte> fitting(std::span<const std::byte> bytes, const TensorPlace& t) {
  if (static_cast<int64_t>(bytes.size()) != byte_count(t.shape, element_size(t.dtype)))
    throw Error(ErrorCode::internal, "Tensor \"" + t.name + "\" does not fit its shape, dtype or name.");
  return bytes;
}

}  // namespace

std::string format_safetensors(const SafeTensors& contents) {
  std::vector<TensorPlace> tensors;
  size_t total = 0;
  for (const auto& [name, t] : contents.tensors) {
    tensors.push_back({name, t.dtype, t.shape});
    total += t.bytes.size();
  }
  std::string out = format_header(tensors, contents.metadata);
  out.reserve(out.size() + total);
  for (const TensorPlace& t : tensors) {
    const auto bytes = fitting(contents.tensors.at(t.name).bytes, t);
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return out;
}

Checksum::Checksum(const std::string& document, const SafeTensors& file) : Checksum(document) {
  for (const auto& [name, t] : file.tensors)
    if (name != "checksum") add({name, t.dtype, t.shape}, t.bytes);
}

void Checksum::add(const TensorPlace& t, std::span<const std::byte> bytes) {
  Fingerprint one;
  one.add(t.name), one.add(t.dtype);
  for (const int64_t n : t.shape) one.add(n);
  one.add(bytes.data(), bytes.size());
  parts_.push_back(one.text());
}

std::string Checksum::text() {
  std::sort(parts_.begin(), parts_.end());
  for (const std::string& p : parts_) all_.add(p);
  parts_.clear();
  return all_.text();
}

void write_safetensors(AtomicFile& file, const std::vector<TensorPlace>& tensors,
                       const std::map<std::string, std::string>& metadata,
                       const std::function<std::span<const std::byte>(const TensorPlace&)>& bytes) {
  std::vector<TensorPlace> order = tensors;
  file.write(format_header(order, metadata));
  for (const TensorPlace& t : order) {
    const auto b = fitting(bytes(t), t);
    file.write({reinterpret_cast<const char*>(b.data()), b.size()});
  }
}

SafeTensors parse_safetensors(const std::string& bytes, const std::string& path) {
  if (bytes.size() < kLengthBytes)
    bad(path, "it has " + std::to_string(bytes.size()) + " bytes, too few for a header.");
  const auto is_text = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t'; };
  if (std::all_of(bytes.begin(), bytes.begin() + kLengthBytes, is_text))
    throw Error(ErrorCode::format,
                path +
                    ": this is a text file, not a model of Tessera.\n  If it is a table, fit a model to it first "
                    "(tessera fit).");
  uint64_t length;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxHeaderBytes || length > bytes.size() - kLengthBytes) {
    refuse_known_kinds(bytes, path);
    bad(path, "its first 8 bytes declare a header of " + std::to_string(length) + " bytes, and " +
                  std::to_string(bytes.size() - kLengthBytes) + " follow.");
  }
  const nlohmann::json header =
      parse_json(std::string_view(bytes).substr(kLengthBytes, length), 4, path + ": the header");
  if (!header.is_object()) bad(path, "the header is not a JSON object.");

  SafeTensors out;
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name != kMetadataKey) {
      entries.push_back(parse_entry(name, value, path));
      continue;
    }
    if (!value.is_object()) bad(path, "the metadata are not a JSON object.");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) bad(path, "the metadata \"" + key + "\" are not a text.");
      out.metadata[key] = text.get<std::string>();
    }
  }

  // The tensors must tile the data after the header: no byte is shared, and none is unused, where data could be hidden.
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  const int64_t available = static_cast<int64_t>(bytes.size() - kLengthBytes - length);
  int64_t at = 0;
  for (Entry& e : entries) {
    if (e.begin != at)
      bad(path, "tensor \"" + e.name + "\" begins at byte " + std::to_string(e.begin) +
                    " of the data; the tensors before it end at " + std::to_string(at) + ".");
    if (e.end > available)
      bad(path, "tensor \"" + e.name + "\" ends at byte " + std::to_string(e.end) + " of the data, and the file has " +
                    std::to_string(available) + ".");
    at = e.end;
    const auto* first = reinterpret_cast<const std::byte*>(bytes.data()) + kLengthBytes + length;
    e.tensor.bytes.assign(first + e.begin, first + e.end);
    out.tensors.emplace(std::move(e.name), std::move(e.tensor));
  }
  if (at != available) bad(path, std::to_string(available - at) + " bytes follow the last tensor.");
  return out;
}

void write_safetensors(const std::string& path, const SafeTensors& contents, bool overwrite) {
  write_file(path, format_safetensors(contents), overwrite);
}

SafeTensors read_safetensors(const std::string& path) { return parse_safetensors(read_file(path), path); }

}  // namespace tessera
