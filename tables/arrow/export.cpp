#include "tables/arrow/export.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "tables/arrow/array.h"
#include "tables/arrow/holder.h"
#include "tables/arrow/metadata.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/row_formats.h"

namespace tessera {
namespace {

constexpr size_t kMaxSmallText = static_cast<size_t>(std::numeric_limits<int32_t>::max());

bool is_large(const Column& c) {
  size_t n = 0;
  for (const std::string& v : c.values) n += v.size();
  return n > kMaxSmallText;
}

// --- schema ---

struct SchemaHolder {
  std::string format, name, metadata;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
  ArrowSchema dictionary{};
};

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
  out->release = release_holder<SchemaHolder>;
  out->private_data = holder.release();
}

void make_table_schema(const Table& table, const std::vector<ArrowFormat>& formats, ArrowSchema* out) {
  ArrowSchema root;
  const auto said = describe_table(table);
  make_schema("+s", "", said.empty() ? "" : encode_metadata(said), &root);
  root.flags = 0;
  auto* holder = static_cast<SchemaHolder*>(root.private_data);
  try {
    holder->children.resize(table.columns.size());
    for (size_t j = 0; j < table.columns.size(); ++j) {
      const Column& c = table.columns[j];
      ArrowSchema* child = &holder->children[j];
      make_schema(formats[j].format, c.name, encode_metadata(describe_column(c)), child);
      if (!formats[j].values.empty()) {
        auto* inner = static_cast<SchemaHolder*>(child->private_data);
        make_schema(formats[j].values, "", "", &inner->dictionary);
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

// --- streams ---

struct StreamHolder {
  Table schema;
  bool plain_texts = false, whole = false;
  std::vector<ArrowFormat> formats;
  std::function<bool(Table&)> next;
  std::string error;
};

constexpr const char* kNoMemory = "There is not enough memory for the next rows.\n  Use smaller batches.";

void check_like_schema(const StreamHolder& h, const Table& batch) {
  bool same = h.schema.columns.size() == batch.columns.size();
  for (size_t j = 0; same && j < batch.columns.size(); ++j) {
    const Column& c = batch.columns[j];
    const bool large = h.formats[j].values == "U" || h.formats[j].values == "Z" || h.formats[j].format == "U" ||
                       h.formats[j].format == "Z";
    same = h.schema.columns[j].name == c.name && arrow_format(c, h.plain_texts, large) == h.formats[j] &&
           c.size() == batch.rows;
  }
  if (!same) throw Error(ErrorCode::internal, "a batch does not have the columns of its stream");
}

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  return guarded<StreamHolder>(stream, kNoMemory,
                               [&](StreamHolder& h) { make_table_schema(h.schema, h.formats, out); });
}

bool next_batch(StreamHolder& h, Table& batch) {
  const bool more = h.next && h.next(batch);
  if (more) check_like_schema(h, batch);
  else h.next = nullptr;
  return more;
}

int stream_next(ArrowArrayStream* stream, ArrowArray* out) {
  return guarded<StreamHolder>(stream, kNoMemory, [&](StreamHolder& h) {
    *out = ArrowArray{};
    Table batch;
    if (next_batch(h, batch)) make_batch(std::move(batch), h.formats, out);
  });
}

const char* stream_error(ArrowArrayStream* stream) {
  const auto* holder = static_cast<StreamHolder*>(stream->private_data);
  if (holder == nullptr) return "The stream was released.";
  return holder->error.empty() ? nullptr : holder->error.c_str();
}

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<StreamHolder*>(stream->private_data);
  stream->private_data = nullptr;
  stream->release = nullptr;
}

void make_stream(Table schema, const std::vector<char>& large, bool plain_texts, bool whole,
                 std::function<bool(Table&)> next, ArrowArrayStream* out) {
  auto holder = std::make_unique<StreamHolder>();
  for (size_t j = 0; j < schema.columns.size(); ++j)
    holder->formats.push_back(arrow_format(schema.columns[j], plain_texts, large[j] != 0));
  holder->schema = std::move(schema);
  holder->plain_texts = plain_texts, holder->whole = whole;
  holder->next = std::move(next);
  *out = ArrowArrayStream{stream_schema, stream_next, stream_error, release_stream, holder.release()};
}

}  // namespace

void table_export(Table&& table, ArrowArrayStream* out, bool plain_texts) {
  Table schema;
  schema.dialect = table.dialect, schema.rules = table.rules;
  std::vector<char> large;
  for (const Column& c : table.columns) {
    Column& bare = schema.columns.emplace_back(c.head());
    if (kind_of(c).truths || by_row(c)) bare.values = c.values;
    large.push_back(is_large(c));
  }
  auto whole = std::make_shared<Table>(std::move(table));
  make_stream(
      std::move(schema), large, plain_texts, true,
      [whole, given = false](Table& batch) mutable {
        if (given) return false;
        given = true;
        batch = std::move(*whole);
        return true;
      },
      out);
}

void table_stream(Table schema, std::function<bool(Table&)> next, ArrowArrayStream* out, bool plain_texts) {
  const std::vector<char> large(schema.columns.size(), 0);
  make_stream(std::move(schema), large, plain_texts, false, std::move(next), out);
}

namespace {

// Whether the column's Arrow type holds every value of it: what came as float32 is rounded to that.
bool is_exact_in_arrow(const Column& c) {
  const std::optional<ArrowType> arrow = ArrowType::parse(c.arrow);
  if (!arrow || arrow->kind == ArrowKind::text) return true;
  return arrow->layout == 'l' && (kind_of(c).free_text || is_whole(c));
}

}  // namespace

OwnTables own_tables(const ArrowArrayStream& stream) {
  if (stream.release != release_stream) return {};
  const auto* holder = static_cast<const StreamHolder*>(stream.private_data);
  const std::vector<Column>& columns = holder->schema.columns;
  if (holder->plain_texts || !std::all_of(columns.begin(), columns.end(), is_exact_in_arrow)) return {};
  return {&holder->schema, holder->whole};
}

int next_own_table(ArrowArrayStream& stream, Table& batch, bool& more) {
  return guarded<StreamHolder>(&stream, kNoMemory, [&](StreamHolder& h) {
    more = next_batch(h, batch);
    for (size_t j = 0; more && j < batch.columns.size(); ++j) {
      Column& from = batch.columns[j];
      Column to = h.schema.columns[j].head();  // batches need not say all of it
      to.numbers = std::move(from.numbers), to.codes = std::move(from.codes), to.values = std::move(from.values);
      from = std::move(to);
    }
  });
}

}  // namespace tessera
