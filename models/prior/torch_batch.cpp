// A file of torch.save(): an uncompressed zip archive of a pickle and one entry per storage. Numbers are little-endian,
// like those of every supported machine.
#include <array>
#include <cstring>

#include "base/storage/compression.h"
#include "models/prior/files.h"

namespace tessera::prior {
namespace {

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Opcodes of protocol 2.
class Pickle {
 public:
  std::string text;
  void op(char c) { text += c; }
  template <class T>
  void raw(T value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void word(std::string_view s) {
    op('X'), raw(static_cast<uint32_t>(s.size()));
    text += s;
  }
  void global(const std::string& module, const std::string& name) { text += "c" + module + "\n" + name + "\n"; }
  void number(int64_t n) {
    text += "\x8a\x08";  // LONG1 of eight bytes
    raw(n);
  }
  void numbers(const std::vector<int64_t>& all) {
    op('(');
    for (const int64_t n : all) number(n);
    op('t');
  }
  // torch._utils._rebuild_tensor_v2(storage, 0, sizes, strides, False, OrderedDict())
  void tensor(const char* storage, int key, const std::vector<int64_t>& sizes) {
    int64_t count = 1;
    std::vector<int64_t> strides(sizes.size());
    for (size_t i = sizes.size(); i-- > 0;) strides[i] = count, count *= sizes[i];
    global("torch._utils", "_rebuild_tensor_v2");
    text += "((";
    word("storage");
    global("torch", storage);
    word(std::to_string(key));
    word("cpu");
    number(count);
    text += "tQ";
    number(0);
    numbers(sizes);
    numbers(strides);
    op('\x89');
    global("collections", "OrderedDict");
    text += ")RtR";
  }
};

// Headers of PKZIP's APPNOTE 4.3.7, 4.3.12 and 4.3.16.
template <class... Ts>
void put(std::string& to, Ts... values) {
  (to.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
}

}  // namespace

TorchBatch::TorchBatch(const std::vector<PriorTable>& tables) {
  Entry x{"archive/data/0", {}}, y{"archive/data/1", {}};
  int64_t values = 0;
  for (const PriorTable& t : tables) {
    x.pieces.push_back(bytes_of(t.x)), y.pieces.push_back(bytes_of(t.y));
    values += t.rows * t.features;
    features_.push_back(t.features), rows_.push_back(t.rows), train_rows_.push_back(t.train_rows);
  }
  const auto n = static_cast<int64_t>(tables.size());
  Pickle p;
  p.text = "\x80\x02}(";
  p.word("X"), p.tensor("FloatStorage", 0, {values});
  p.word("y"), p.tensor("FloatStorage", 1, {n, n == 0 ? 0 : rows_[0]});
  p.word("d"), p.tensor("LongStorage", 2, {n});
  p.word("seq_lens"), p.tensor("LongStorage", 3, {n});
  p.word("train_sizes"), p.tensor("LongStorage", 4, {n});
  p.word("batch_size"), p.number(n);
  p.text += "u.";
  pickle_ = std::move(p.text);
  entries_ = {{"archive/data.pkl", {pickle_}},
              {"archive/byteorder", {"little"}},
              std::move(x),
              std::move(y),
              {"archive/data/2", {bytes_of(features_)}},
              {"archive/data/3", {bytes_of(rows_)}},
              {"archive/data/4", {bytes_of(train_rows_)}},
              {"archive/version", {"3\n"}}};
}

void TorchBatch::write(const std::function<void(std::string_view)>& sink) const {
  constexpr uint16_t kVersion = 20, kDate = 0x21, kNone = 0;  // 1980-01-01: the bytes do not depend on the date
  std::string directory;
  uint32_t at = 0;
  for (const Entry& e : entries_) {
    uint32_t sum = 0, size = 0;
    for (const std::string_view piece : e.pieces)
      sum = crc32_after(sum, piece), size += static_cast<uint32_t>(piece.size());
    const auto name = static_cast<uint16_t>(e.name.size());
    std::string both;
    put(both, kVersion, kNone, kNone, kNone, kDate, sum, size, size, name);
    std::string header;
    put(header, uint32_t{0x04034b50});
    header += both;
    // storages begin at multiples of 64 bytes, after an extra field
    const size_t begin = at + header.size() + 2 + e.name.size() + 4, padding = (64 - begin % 64) % 64;
    put(header, static_cast<uint16_t>(4 + padding));
    header += e.name;
    put(header, uint16_t{0x4246}, static_cast<uint16_t>(padding));
    header.append(padding, 'Z');
    sink(header);
    for (const std::string_view piece : e.pieces) sink(piece);
    put(directory, uint32_t{0x02014b50}, kVersion);
    directory += both;
    put(directory, kNone, kNone, kNone, kNone, uint32_t{0}, at);
    directory += e.name;
    at += static_cast<uint32_t>(header.size()) + size;
  }
  const auto count = static_cast<uint16_t>(entries_.size());
  std::string end;
  put(end, uint32_t{0x06054b50}, kNone, kNone, count, count, static_cast<uint32_t>(directory.size()), at, kNone);
  sink(directory);
  sink(end);
}

}  // namespace tessera::prior
