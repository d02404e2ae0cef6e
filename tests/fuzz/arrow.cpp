// Arrow streams of a misbehaving producer: whatever it says of itself, the importer gives a table or an error, and
// releases everything exactly once.
// What a consumer of the C interface cannot see, buffers shorter than their array says, the producer here does not do.
#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "base/error.h"
#include "fuzz/input.h"
#include "tables/arrow/export.h"
#include "tables/arrow/import.h"

using namespace tessera;

namespace {

int alive = 0;  // Arrow structs that were given out and not yet released

// --- a schema out of bytes -----------------------------------------------------------------------

struct SchemaParts {
  std::string format, name, metadata;
  std::vector<std::unique_ptr<ArrowSchema>> children;
  std::vector<ArrowSchema*> pointers;
  std::unique_ptr<ArrowSchema> dictionary;
};

void release_schema(ArrowSchema* s) {
  auto* parts = static_cast<SchemaParts*>(s->private_data);
  for (auto& child : parts->children)
    if (child->release != nullptr) child->release(child.get());
  if (parts->dictionary && parts->dictionary->release != nullptr) parts->dictionary->release(parts->dictionary.get());
  delete parts;
  s->release = nullptr;
  --alive;
}

ArrowSchema give_schema(std::unique_ptr<SchemaParts> parts, fuzz::Bytes& in) {
  ArrowSchema s{};
  s.format = parts->format == "NULL" ? nullptr : parts->format.c_str();
  s.name = parts->name == "NULL" ? nullptr : parts->name.c_str();
  s.metadata = parts->metadata.empty() ? nullptr : parts->metadata.c_str();
  s.flags = in.below(8);
  for (auto& child : parts->children) parts->pointers.push_back(child.get());
  s.n_children = static_cast<int64_t>(parts->pointers.size());
  s.children = parts->pointers.empty() ? nullptr : parts->pointers.data();
  s.dictionary = parts->dictionary.get();
  s.release = release_schema;
  s.private_data = parts.release();
  ++alive;
  return s;
}

constexpr const char* kFormats[] = {"l",       "g",        "u",        "n",          "b",
                                    "c",       "C",        "s",        "S",          "i",
                                    "I",       "L",        "e",        "f",          "U",
                                    "z",       "Z",        "vu",       "vz",         "tdD",
                                    "tdm",     "tss:",     "tsm:UTC",  "tsu:",       "tsn:Europe/Berlin",
                                    "tts",     "ttm",      "ttu",      "ttn",        "d:10,2",
                                    "d:38,-4", "d:9,2,32", "d:9,2,64", "d:70,3,256", "d:",
                                    "w:4",     "+s",       "+l",       "ts",         "t",
                                    "",        "NULL",     "tiM"};
constexpr const char* kNames[] = {"a", "b", "c", "a", "", "NULL", "\xFF", "column with a longer name"};

// Arrow's metadata: counts and lengths as int32, then bytes. Ours under "tessera.…", with values that may not fit.
std::string make_metadata(fuzz::Bytes& in) {
  static constexpr const char* kKeys[] = {"tessera.type",   "tessera.reason", "tessera.decimals",
                                          "tessera.format", "tessera.values", "other"};
  static constexpr const char* kValues[] = {
      "integer", "decimal", "boolean", "category", "date",     "datetime", "identifier",       "constant",
      "",        "2",       "99",      "-1",       "%Y-%m-%d", "%g",       "[\"yes\",\"no\"]", "yes\nno"};
  const int32_t pairs = static_cast<int32_t>(in.below(6));
  std::string out(reinterpret_cast<const char*>(&pairs), sizeof pairs);
  for (int32_t i = 0; i < pairs; ++i)
    for (const char* text : {in.one_of(kKeys), in.one_of(kValues)}) {
      const int32_t size = static_cast<int32_t>(std::strlen(text));
      out.append(reinterpret_cast<const char*>(&size), sizeof size).append(text, static_cast<size_t>(size));
    }
  return out;
}

struct Shape {  // what arrays of a schema have to look like
  std::string format;
  std::unique_ptr<Shape> dictionary;
};

ArrowSchema make_column(fuzz::Bytes& in, Shape& shape, int depth) {
  auto parts = std::make_unique<SchemaParts>();
  parts->format = shape.format = in.byte() % 16 == 15 ? in.text(12) : in.one_of(kFormats);
  parts->name = in.one_of(kNames);
  if (in.byte() % 4 == 0) parts->metadata = make_metadata(in);
  if (in.byte() % 4 == 0 && depth < 3) {
    shape.dictionary = std::make_unique<Shape>();
    parts->dictionary = std::make_unique<ArrowSchema>(make_column(in, *shape.dictionary, depth + 1));
  }
  return give_schema(std::move(parts), in);
}

// --- arrays of it --------------------------------------------------------------------------------

struct ArrayParts {
  std::vector<std::vector<uint8_t>> memory;  // of exactly the size that length and offset ask for
  std::vector<const void*> buffers;
  std::vector<std::unique_ptr<ArrowArray>> children;
  std::vector<ArrowArray*> pointers;
  std::unique_ptr<ArrowArray> dictionary;
};

void release_array(ArrowArray* a) {
  auto* parts = static_cast<ArrayParts*>(a->private_data);
  for (auto& child : parts->children)
    if (child && child->release != nullptr) child->release(child.get());
  if (parts->dictionary && parts->dictionary->release != nullptr) parts->dictionary->release(parts->dictionary.get());
  delete parts;
  a->release = nullptr;
  --alive;
}

size_t bits_of(const std::string& f) {
  if (f.empty()) return 64;
  if (f == "b") return 1;
  if (f == "c" || f == "C") return 8;
  if (f == "s" || f == "S" || f == "e") return 16;
  if (f == "i" || f == "I" || f == "f" || f == "tdD" || f == "tts" || f == "ttm" || f == "tiM" ||
      (f[0] == 'd' && f.size() > 3 && f.compare(f.size() - 3, 3, ",32") == 0))
    return 32;
  if (f[0] == 'd' || f == "vu" || f == "vz") return f.size() > 4 && f.compare(f.size() - 4, 4, ",256") == 0 ? 256 : 128;
  if (f[0] == 'w') return 8 * 64;
  return 64;
}

void fill(fuzz::Bytes& in, std::vector<uint8_t>& memory) {
  for (size_t i = 0; i < memory.size() && !in.done(); i += 1 + (in.left() > 64 ? 0 : i % 3)) memory[i] = in.byte();
}

template <class Offset>
std::vector<uint8_t> make_offsets(fuzz::Bytes& in, size_t count, int64_t text_bytes) {
  std::vector<uint8_t> out(count * sizeof(Offset));
  int64_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint8_t step = in.byte();
    if (step == 255) at = -1;
    else if (step == 254) at = at / 2;
    else at = std::min<int64_t>(text_bytes, at + step % 5);
    const auto offset = static_cast<Offset>(at);
    std::memcpy(out.data() + i * sizeof(Offset), &offset, sizeof offset);
  }
  return out;
}

std::unique_ptr<ArrowArray> make_array(fuzz::Bytes& in, const Shape& shape, int64_t length) {
  auto parts = std::make_unique<ArrayParts>();
  auto a = std::make_unique<ArrowArray>();
  a->length = length;
  a->offset = in.byte() % 4 == 0 ? static_cast<int64_t>(in.below(9)) : 0;
  const auto values = static_cast<size_t>(length + a->offset);
  const std::string& f = shape.format;
  const bool text = f == "u" || f == "U" || f == "z" || f == "Z";
  const uint8_t nulls = in.byte();
  a->null_count = nulls % 3 == 0 ? 0 : nulls % 3 == 1 ? -1 : 1;
  if (f != "n") {
    auto& validity = parts->memory.emplace_back((values + 7) / 8);
    fill(in, validity);
    constexpr int64_t kText = 24;
    if (text && !shape.dictionary) {
      parts->memory.push_back(f == "u" || f == "z" ? make_offsets<int32_t>(in, values + 1, kText)
                                                   : make_offsets<int64_t>(in, values + 1, kText));
      fill(in, parts->memory.emplace_back(kText, static_cast<uint8_t>('7')));
    } else {
      auto& data = parts->memory.emplace_back((values * bits_of(f) + 7) / 8);
      fill(in, data);
      if ((f == "vu" || f == "vz") && !shape.dictionary) {  // views into one buffer, whose size comes last
        for (size_t i = 0; i < values; ++i)
          data[16 * i + 1] = data[16 * i + 2] = data[16 * i + 3] = 0, data[16 * i] &= 31;
        parts->memory.emplace_back(kText, static_cast<uint8_t>('7'));
        auto& sizes = parts->memory.emplace_back(8);
        sizes[0] = kText;
      }
    }
  }
  for (auto& m : parts->memory) parts->buffers.push_back(m.data());
  if (nulls & 64 && !parts->buffers.empty()) parts->buffers[0] = nullptr;
  if (nulls & 128 && values == 0 && parts->buffers.size() > 1) parts->buffers[1] = nullptr;
  if (shape.dictionary) parts->dictionary = make_array(in, *shape.dictionary, static_cast<int64_t>(in.below(6)));
  a->n_buffers = static_cast<int64_t>(parts->buffers.size());
  a->buffers = parts->buffers.data();
  switch (in.byte()) {  // lies that a consumer can see
    case 255: a->n_buffers = 1; break;
    // views may have any number from 3 on: too many cannot be seen
    case 254: a->n_buffers = f == "vu" || f == "vz" ? 2 : 7; break;
    case 253: a->buffers = nullptr; break;
    case 252: a->length = -1; break;
    case 251: a->offset = INT64_MAX - 3; break;
    case 250: a->offset = -4; break;
    case 249: a->length = length / 2; break;
    case 248:
      if (parts->dictionary) parts->dictionary->release(parts->dictionary.get());
      parts->dictionary.reset();
      break;
    case 247:
      if (parts->buffers.size() > 1) parts->buffers[1] = nullptr;
      break;
    case 246:
      if (!parts->buffers.empty()) parts->buffers[parts->buffers.size() - 1] = nullptr;
      break;
    default: break;
  }
  a->dictionary = parts->dictionary.get();
  a->release = release_array;
  a->private_data = parts.release();
  ++alive;
  return a;
}

// --- the stream ----------------------------------------------------------------------------------

struct Producer {
  fuzz::Bytes in;
  std::vector<Shape> shapes;
  int batches;
};

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  auto& p = *static_cast<Producer*>(stream->private_data);
  if (p.in.byte() == 255) return EIO;
  p.shapes.clear();
  auto root = std::make_unique<SchemaParts>();
  root->format = p.in.byte() == 255 ? "l" : "+s";
  const size_t columns = p.in.below(5);
  for (size_t j = 0; j < columns; ++j)
    root->children.push_back(std::make_unique<ArrowSchema>(make_column(p.in, p.shapes.emplace_back(), 0)));
  *out = give_schema(std::move(root), p.in);
  if (p.in.byte() == 255 && !out->dictionary) out->n_children = -1;
  return 0;
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  auto& p = *static_cast<Producer*>(stream->private_data);
  *out = ArrowArray{};
  if (p.in.byte() == 255) return p.in.byte() % 2 == 0 ? EINVAL : ENOMEM;
  if (p.batches-- <= 0) return 0;
  auto parts = std::make_unique<ArrayParts>();
  const auto length = static_cast<int64_t>(p.in.below(20));
  const int64_t offset = p.in.byte() == 255 ? 2 : 0;
  for (const Shape& shape : p.shapes) parts->children.push_back(make_array(p.in, shape, length + offset));
  auto& validity = parts->memory.emplace_back(static_cast<size_t>((length + offset + 7) / 8));
  fill(p.in, validity);
  parts->buffers.push_back(p.in.byte() % 8 == 0 ? validity.data() : nullptr);
  for (auto& child : parts->children) parts->pointers.push_back(child.get());
  out->length = length;
  out->offset = offset;
  out->null_count = p.in.byte() % 2;
  out->n_buffers = 1;
  out->buffers = parts->buffers.data();
  out->n_children = static_cast<int64_t>(parts->pointers.size());
  out->children = parts->pointers.empty() ? nullptr : parts->pointers.data();
  switch (p.in.byte()) {
    case 255: out->n_children += 1; break;
    case 254: out->children = nullptr; break;
    case 253: out->length = -1; break;
    case 252:
      if (!parts->pointers.empty()) parts->pointers[0] = nullptr;
      break;
    case 251:
      if (!parts->children.empty()) parts->children[0]->release(parts->children[0].get());
      break;
    case 250: out->buffers = nullptr; break;
    case 249: out->length += 1; break;
    default: break;
  }
  out->release = release_array;
  out->private_data = parts.release();
  ++alive;
  return 0;
}

const char* last_error(ArrowArrayStream* stream) {
  return static_cast<Producer*>(stream->private_data)->in.byte() % 2 == 0 ? nullptr : "a message of the producer";
}

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<Producer*>(stream->private_data);
  stream->release = nullptr;
  --alive;
}

ArrowArrayStream open(const uint8_t* data, size_t size) {
  fuzz::Bytes in(data, size);
  const int batches = static_cast<int>(in.below(4));
  ++alive;
  return {get_schema, get_next, last_error, release_stream, new Producer{in, {}, batches}};
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Team team(1);
  const Monitor monitor;
  try {
    ArrowArrayStream rows = open(data, size);
    Table table = table_import(&rows, team, monitor);
    for (const Column& c : table.columns)
      if (c.size() != table.rows) __builtin_trap();
    ArrowArrayStream out;
    table_export(std::move(table), &out);  // what came in can go out, and come in again
    table_import(&out, team, monitor);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::internal || *e.what() == 0) __builtin_trap();
  }
  try {
    ArrowArrayStream rows = open(data, size);
    TableStream batches(&rows, team, monitor);
    Table batch;
    while (batches.next(batch)) {}
  } catch (const Error& e) {
    if (e.code() == ErrorCode::internal || *e.what() == 0) __builtin_trap();
  }
  if (alive != 0) __builtin_trap();
  return 0;
}
