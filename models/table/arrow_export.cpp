#include "models/table/arrow_export.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "models/table/arrow_metadata.h"
#include "models/table/types_value.h"

namespace tessera {
namespace {

constexpr size_t kMaxSmallText = static_cast<size_t>(std::numeric_limits<int32_t>::max());

size_t text_bytes(const Column& c) {
  size_t n = 0;
  for (const std::string& v : c.values) n += v.size();
  return n;
}

int time_digits(const Column& c) { return c.decimals == 0 ? 0 : c.decimals <= 3 ? 3 : 6; }

std::string arrow_format(const Column& c) {
  switch (c.type) {
    case ColumnType::integer: return "l";
    case ColumnType::decimal: return "g";
    case ColumnType::boolean: return "b";
    case ColumnType::date: return "tdD";
    case ColumnType::datetime: {
      const std::string zone = !c.format.empty() && c.format.back() == 'Z' ? "UTC" : "";
      return (time_digits(c) == 0 ? "tss:" : time_digits(c) == 3 ? "tsm:" : "tsu:") + zone;
    }
    default: return "i";
  }
}

// --- schema ---

struct SchemaHolder {
  std::string format, name, metadata;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
  ArrowSchema dictionary{};
};

void release_schema(ArrowSchema* s) {
  auto* holder = static_cast<SchemaHolder*>(s->private_data);
  for (ArrowSchema& child : holder->children)
    if (child.release != nullptr) child.release(&child);
  if (holder->dictionary.release != nullptr) holder->dictionary.release(&holder->dictionary);
  delete holder;
  s->release = nullptr;
}

void make_schema(const std::string& format, const std::string& name, std::string metadata, ArrowSchema* out) {
  auto holder = std::make_unique<SchemaHolder>();
  holder->format = format;
  holder->name = name;
  holder->metadata = std::move(metadata);
  *out = ArrowSchema{};
  out->format = holder->format.c_str();
  out->name = holder->name.c_str();
  out->metadata = holder->metadata.empty() ? nullptr : holder->metadata.c_str();
  out->flags = ARROW_FLAG_NULLABLE;
  out->release = release_schema;
  out->private_data = holder.release();
}

void make_table_schema(const Table& table, const std::vector<char>& large_text, ArrowSchema* out) {
  ArrowSchema root;
  make_schema("+s", "", "", &root);
  root.flags = 0;
  auto* holder = static_cast<SchemaHolder*>(root.private_data);
  try {
    holder->children.resize(table.columns.size());
    for (size_t j = 0; j < table.columns.size(); ++j) {
      const Column& c = table.columns[j];
      ArrowSchema* child = &holder->children[j];
      make_schema(arrow_format(c), c.name, encode_metadata(describe_column(c)), child);
      if (*child->format == 'i') {
        auto* inner = static_cast<SchemaHolder*>(child->private_data);
        make_schema(large_text[j] ? "U" : "u", "", "", &inner->dictionary);
        child->dictionary = &inner->dictionary;
      }
      holder->pointers.push_back(child);
    }
  } catch (...) {
    root.release(&root);
    throw;
  }
  root.n_children = static_cast<int64_t>(holder->pointers.size());
  root.children = holder->pointers.data();
  *out = root;
}

// --- arrays ---

struct ArrayHolder {
  std::vector<double> numbers;  // of integers, dates and times too: converted where they stand
  std::vector<int32_t> codes;
  std::vector<uint8_t> validity, bits;
  std::vector<char> text;
  std::vector<int32_t> offsets;
  std::vector<int64_t> large_offsets;
  const void* buffers[3] = {nullptr, nullptr, nullptr};
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
  ArrowArray dictionary{};
};

void release_array(ArrowArray* a) {
  auto* holder = static_cast<ArrayHolder*>(a->private_data);
  for (ArrowArray& child : holder->children)
    if (child.release != nullptr) child.release(&child);
  if (holder->dictionary.release != nullptr) holder->dictionary.release(&holder->dictionary);
  delete holder;
  a->release = nullptr;
}

void make_array(std::unique_ptr<ArrayHolder> holder, int64_t length, int64_t nulls, int64_t buffers, ArrowArray* out) {
  *out = ArrowArray{};
  out->length = length;
  out->null_count = nulls;
  out->n_buffers = buffers;
  if (!holder->validity.empty()) holder->buffers[0] = holder->validity.data();
  out->buffers = holder->buffers;
  out->release = release_array;
  if (holder->dictionary.release != nullptr) out->dictionary = &holder->dictionary;
  if (!holder->children.empty()) {
    out->n_children = static_cast<int64_t>(holder->pointers.size());
    out->children = holder->pointers.data();
  }
  out->private_data = holder.release();
}

// A bitmap only where something is missing.
template <class Missing>
int64_t mark_missing(int64_t rows, std::vector<uint8_t>& validity, Missing missing) {
  int64_t nulls = 0;
  for (int64_t i = 0; i < rows; ++i) {
    if (!missing(static_cast<size_t>(i))) continue;
    if (nulls++ == 0) validity.assign(static_cast<size_t>((rows + 7) / 8), 0xFF);
    validity[static_cast<size_t>(i / 8)] &= static_cast<uint8_t>(~(1u << (i % 8)));
  }
  return nulls;
}

// Doubles become integers of the same or smaller size in the same memory.
template <class Int>
void convert_in_place(std::vector<double>& numbers, double scale) {
  constexpr double kLimit = sizeof(Int) == 4 ? 2147483647.0 : 9007199254740992.0;
  auto* bytes = reinterpret_cast<char*>(numbers.data());
  for (size_t i = 0; i < numbers.size(); ++i) {
    double v;
    std::memcpy(&v, bytes + i * sizeof v, sizeof v);
    const double size = std::min(nearest(std::fabs(v * scale)), kLimit);
    const double scaled = v != v ? 0 : std::copysign(size, v);
    const auto n = static_cast<Int>(scaled);
    std::memcpy(bytes + i * sizeof n, &n, sizeof n);
  }
}

template <class Offset>
void lay_out_text(std::vector<std::string>& values, ArrayHolder& holder, std::vector<Offset>& offsets, size_t bytes) {
  holder.text.resize(std::max<size_t>(bytes, 1));
  offsets.resize(values.size() + 1);
  size_t at = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    offsets[i] = static_cast<Offset>(at);
    std::memcpy(holder.text.data() + at, values[i].data(), values[i].size());
    at += values[i].size();
  }
  offsets[values.size()] = static_cast<Offset>(at);
  holder.buffers[1] = offsets.data();
}

void make_dictionary(Column& c, bool large, ArrowArray* out) {
  const size_t bytes = text_bytes(c);
  if (!large && bytes > kMaxSmallText)
    throw Error(ErrorCode::unsupported, "Column \"" + c.name + "\" has more than 2 GiB of different texts in one batch.\n  Ask for smaller batches.");
  auto holder = std::make_unique<ArrayHolder>();
  if (large) lay_out_text(c.values, *holder, holder->large_offsets, bytes);
  else lay_out_text(c.values, *holder, holder->offsets, bytes);
  holder->buffers[2] = holder->text.data();
  const auto length = static_cast<int64_t>(c.values.size());
  std::vector<std::string>().swap(c.values);
  make_array(std::move(holder), length, 0, 3, out);
}

void make_column_array(Column&& c, bool large, ArrowArray* out) {
  auto holder = std::make_unique<ArrayHolder>();
  const int64_t rows = c.size();
  int64_t nulls;
  if (is_numeric(c.type)) {
    holder->numbers = std::move(c.numbers);
    std::vector<double>& numbers = holder->numbers;
    nulls = mark_missing(rows, holder->validity, [&](size_t i) { return numbers[i] != numbers[i]; });
    constexpr double kScales[] = {1, 1e3, 1e6};
    if (c.type == ColumnType::integer) convert_in_place<int64_t>(numbers, 1);
    if (c.type == ColumnType::date) convert_in_place<int32_t>(numbers, 1);
    if (c.type == ColumnType::datetime) convert_in_place<int64_t>(numbers, kScales[time_digits(c) / 3]);
    if (numbers.empty()) numbers.reserve(1);  // a buffer may be empty, not null
    holder->buffers[1] = numbers.data();
    return make_array(std::move(holder), rows, nulls, 2, out);
  }
  holder->codes = std::move(c.codes);
  std::vector<int32_t>& codes = holder->codes;
  nulls = mark_missing(rows, holder->validity, [&](size_t i) { return codes[i] < 0; });
  if (c.type == ColumnType::boolean) {
    bool truth[2] = {false, false};
    for (size_t v = 0; v < c.values.size() && v < 2; ++v) read_boolean(c.values[v], true, truth[v]);
    holder->bits.assign(static_cast<size_t>(rows / 8 + 1), 0);
    for (size_t i = 0; i < codes.size(); ++i)
      if (codes[i] >= 0 && codes[i] < 2 && truth[codes[i]]) holder->bits[i / 8] |= static_cast<uint8_t>(1u << (i % 8));
    holder->buffers[1] = holder->bits.data();
    std::vector<int32_t>().swap(codes);
  } else {
    make_dictionary(c, large, &holder->dictionary);
    if (codes.empty()) codes.reserve(1);
    holder->buffers[1] = codes.data();
  }
  make_array(std::move(holder), rows, nulls, 2, out);
}

void make_batch(Table&& table, const std::vector<char>& large_text, ArrowArray* out) {
  auto holder = std::make_unique<ArrayHolder>();
  holder->children.resize(table.columns.size());
  try {
    for (size_t j = 0; j < table.columns.size(); ++j) {
      make_column_array(std::move(table.columns[j]), large_text[j] != 0, &holder->children[j]);
      table.columns[j] = Column{};
      holder->pointers.push_back(&holder->children[j]);
    }
  } catch (...) {
    for (ArrowArray& child : holder->children)
      if (child.release != nullptr) child.release(&child);
    throw;
  }
  make_array(std::move(holder), table.rows, 0, 1, out);
}

// --- streams ---

struct StreamHolder {
  Table schema;
  std::vector<char> large_text;
  std::function<bool(Table&)> next;
  std::string error;
};

template <class Body>
int guarded(ArrowArrayStream* stream, Body body) {
  auto* holder = static_cast<StreamHolder*>(stream->private_data);
  holder->error.clear();
  try {
    body(*holder);
    return 0;
  } catch (const Error& e) {
    holder->error = e.what();
    return errno_of(e.code());
  } catch (const std::bad_alloc&) {
    holder->error = "There is not enough memory for the next rows.\n  Ask for smaller batches.";
    return errno_of(ErrorCode::memory);
  } catch (const std::exception& e) {
    holder->error = e.what();
    return errno_of(ErrorCode::internal);
  }
}

void check_like_schema(const Table& schema, const Table& batch) {
  bool same = schema.columns.size() == batch.columns.size();
  for (size_t j = 0; same && j < schema.columns.size(); ++j)
    same = schema.columns[j].name == batch.columns[j].name && arrow_format(schema.columns[j]) == arrow_format(batch.columns[j]) && batch.columns[j].size() == batch.rows;
  if (!same) throw Error(ErrorCode::internal, "a batch does not have the columns of its stream");
}

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  return guarded(stream, [&](StreamHolder& h) { make_table_schema(h.schema, h.large_text, out); });
}

int stream_next(ArrowArrayStream* stream, ArrowArray* out) {
  return guarded(stream, [&](StreamHolder& h) {
    *out = ArrowArray{};
    Table batch;
    if (!h.next || !h.next(batch)) {
      h.next = nullptr;
      return;
    }
    check_like_schema(h.schema, batch);
    make_batch(std::move(batch), h.large_text, out);
  });
}

const char* stream_error(ArrowArrayStream* stream) {
  const std::string& error = static_cast<StreamHolder*>(stream->private_data)->error;
  return error.empty() ? nullptr : error.c_str();
}

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<StreamHolder*>(stream->private_data);
  stream->release = nullptr;
}

void make_stream(Table schema, std::vector<char> large_text, std::function<bool(Table&)> next, ArrowArrayStream* out) {
  auto holder = std::make_unique<StreamHolder>();
  holder->schema = std::move(schema);
  holder->large_text = std::move(large_text);
  holder->next = std::move(next);
  *out = ArrowArrayStream{stream_schema, stream_next, stream_error, release_stream, holder.release()};
}

}  // namespace

void table_export(Table&& table, ArrowArrayStream* out) {
  Table schema;
  std::vector<char> large_text;
  for (const Column& c : table.columns) {
    Column& bare = schema.columns.emplace_back();
    bare.name = c.name, bare.type = c.type, bare.reason = c.reason, bare.decimals = c.decimals, bare.format = c.format;
    if (c.type == ColumnType::boolean) bare.values = c.values;
    large_text.push_back(text_bytes(c) > kMaxSmallText);
  }
  auto whole = std::make_shared<Table>(std::move(table));
  make_stream(
      std::move(schema), std::move(large_text),
      [whole, given = false](Table& batch) mutable {
        if (given) return false;
        given = true;
        batch = std::move(*whole);
        return true;
      },
      out);
}

void table_stream(Table schema, std::function<bool(Table&)> next, ArrowArrayStream* out) {
  std::vector<char> large_text(schema.columns.size(), 0);
  make_stream(std::move(schema), std::move(large_text), std::move(next), out);
}

}  // namespace tessera
