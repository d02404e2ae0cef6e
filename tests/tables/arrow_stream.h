// Arrow streams made by hand, to the last byte: every buffer is an allocation of its own size, so that a sanitizer sees
// what reads beyond it.
#pragma once
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/arrow.h"

namespace tessera::test {

using Bytes = std::vector<char>;

template <class V>
Bytes bytes_of(const std::vector<V>& values) {
  Bytes out(values.size() * sizeof(V));
  if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

inline Bytes bits_of(const std::vector<int>& bits) {
  Bytes out((bits.size() + 7) / 8);
  for (size_t i = 0; i < bits.size(); ++i)
    if (bits[i] != 0) out[i / 8] = static_cast<char>(out[i / 8] | 1 << (i % 8));
  return out;
}

// An array, and the schema it has.
struct Node {
  std::string format, name = "c";
  int64_t length = 0, nulls = 0, offset = 0;
  std::vector<std::optional<Bytes>> buffers;  // nothing: NULL
  std::vector<Node> children;
  std::shared_ptr<Node> dictionary;
  int64_t flags = ARROW_FLAG_NULLABLE;
  std::string metadata;
  std::optional<int64_t> said_buffers, said_children;  // what it claims to have
  bool no_format = false, no_buffers = false, no_release = false;
};

inline Node fixed(const std::string& format, int64_t length, Bytes values, std::optional<Bytes> validity = {}) {
  Node n;
  n.format = format, n.length = length;
  n.nulls = validity ? -1 : 0;
  n.buffers = {std::move(validity), std::move(values)};
  return n;
}

template <class V>
Node column(const std::string& format, const std::vector<V>& values, std::optional<Bytes> validity = {}) {
  return fixed(format, static_cast<int64_t>(values.size()), bytes_of(values), std::move(validity));
}

template <class Offset>
Node texts(const std::string& format, const std::vector<std::string>& values, std::optional<Bytes> validity = {}) {
  std::vector<Offset> offsets{0};
  Bytes all;
  for (const std::string& v : values) {
    all.insert(all.end(), v.begin(), v.end());
    offsets.push_back(static_cast<Offset>(all.size()));
  }
  Node n = fixed(format, static_cast<int64_t>(values.size()), bytes_of(offsets), std::move(validity));
  n.buffers.push_back(std::move(all));
  return n;
}

// Texts of up to 12 bytes inside their views, the others in turn in one of two buffers.
inline Node views(const std::string& format, const std::vector<std::string>& values,
                  std::optional<Bytes> validity = {}) {
  Bytes all(values.size() * 16), data[2];
  int next = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto size = static_cast<int32_t>(values[i].size());
    char* view = all.data() + 16 * i;
    std::memcpy(view, &size, 4);
    std::memcpy(view + 4, values[i].data(), values[i].size() <= 12 ? values[i].size() : 4);
    if (values[i].size() <= 12) continue;
    const int32_t place[2] = {next, static_cast<int32_t>(data[next].size())};
    std::memcpy(view + 8, place, 8);
    data[next].insert(data[next].end(), values[i].begin(), values[i].end());
    next = 1 - next;
  }
  const std::vector<int64_t> sizes{static_cast<int64_t>(data[0].size()), static_cast<int64_t>(data[1].size())};
  Node n = fixed(format, static_cast<int64_t>(values.size()), std::move(all), std::move(validity));
  n.buffers.insert(n.buffers.end(), {data[0], data[1], bytes_of(sizes)});
  return n;
}

inline Node dictionary(Node indices, Node values) {
  indices.dictionary = std::make_shared<Node>(std::move(values));
  return indices;
}

inline Node table_of(std::vector<Node> columns) {
  Node t;
  t.format = "+s", t.name = "", t.flags = 0;
  t.length = columns.empty() ? 0 : columns[0].length;
  t.buffers = {std::nullopt};
  t.children = std::move(columns);
  return t;
}

// A stream that gives out these batches; counts what was made and what was released, and what was released twice.
class HandMade {
 public:
  explicit HandMade(std::vector<Node> batches) : schema_(batches.at(0)), batches_(std::move(batches)) {}
  HandMade(Node schema, std::vector<Node> batches) : schema_(std::move(schema)), batches_(std::move(batches)) {}

  int error = 0;  // of the batch after the last; 0: the stream ends well
  int schema_error = 0;
  const char* message = "the cable was pulled";
  bool no_schema = false;                          // get_schema succeeds and gives none
  std::function<const void*(const Bytes&)> place;  // where a buffer's bytes go; none: into memory of the array's own
  int live = 0, released = 0, twice = 0;

  void open(ArrowArrayStream* out) {
    *out = {};
    out->private_data = this;
    out->get_schema = [](ArrowArrayStream* s, ArrowSchema* schema) {
      auto* self = static_cast<HandMade*>(s->private_data);
      if (self->schema_error != 0) return self->schema_error;
      *schema = {};
      if (!self->no_schema) self->give(self->schema_, schema);
      return 0;
    };
    out->get_next = [](ArrowArrayStream* s, ArrowArray* array) {
      auto* self = static_cast<HandMade*>(s->private_data);
      *array = {};
      if (self->next_ == self->batches_.size()) return self->error;
      self->give(self->batches_[self->next_++], array);
      return 0;
    };
    out->get_last_error = [](ArrowArrayStream* s) { return static_cast<HandMade*>(s->private_data)->message; };
    out->release = [](ArrowArrayStream* s) {
      ++static_cast<HandMade*>(s->private_data)->released;
      s->release = nullptr;
    };
  }

 private:
  struct SchemaParts {
    HandMade* owner;
    std::string format, name, metadata;
    std::vector<std::unique_ptr<ArrowSchema>> children;
    std::vector<ArrowSchema*> pointers;
    std::unique_ptr<ArrowSchema> dictionary;
  };
  struct ArrayParts {
    HandMade* owner;
    std::vector<std::unique_ptr<char[]>> memory;
    std::vector<const void*> buffers;
    std::vector<std::unique_ptr<ArrowArray>> children;
    std::vector<ArrowArray*> pointers;
    std::unique_ptr<ArrowArray> dictionary;
  };
  template <class Parts, class Struct>
  static void release(Struct* s) {
    auto* parts = static_cast<Parts*>(s->private_data);
    if (parts == nullptr) return;  // twice: counted by nobody's owner
    for (auto& child : parts->children)
      if (child->release != nullptr) child->release(child.get());
    if (parts->dictionary != nullptr && parts->dictionary->release != nullptr)
      parts->dictionary->release(parts->dictionary.get());
    --parts->owner->live;
    delete parts;
    s->private_data = nullptr;
    s->release = nullptr;
  }

  void give(const Node& n, ArrowSchema* out) {
    auto* parts = new SchemaParts{this, n.format, n.name, n.metadata, {}, {}, nullptr};
    ++live;
    *out = {};
    out->format = n.no_format ? nullptr : parts->format.c_str();
    out->name = parts->name.c_str();
    out->metadata = n.metadata.empty() ? nullptr : parts->metadata.data();
    out->flags = n.flags;
    for (const Node& child : n.children) {
      parts->children.push_back(std::make_unique<ArrowSchema>());
      give(child, parts->children.back().get());
      parts->pointers.push_back(parts->children.back().get());
    }
    if (n.dictionary != nullptr) {
      parts->dictionary = std::make_unique<ArrowSchema>();
      give(*n.dictionary, parts->dictionary.get());
    }
    out->n_children = static_cast<int64_t>(n.children.size());
    out->children = parts->pointers.data();
    out->dictionary = parts->dictionary.get();
    out->release = release<SchemaParts, ArrowSchema>;
    out->private_data = parts;
  }

  void give(const Node& n, ArrowArray* out) {
    auto* parts = new ArrayParts{this, {}, {}, {}, {}, nullptr};
    ++live;
    *out = {};
    out->length = n.length, out->null_count = n.nulls, out->offset = n.offset;
    for (const auto& b : n.buffers) {
      if (!b) {
        parts->buffers.push_back(nullptr);
        continue;
      }
      if (place) {
        parts->buffers.push_back(place(*b));
        continue;
      }
      parts->memory.emplace_back(new char[b->size()]);
      if (!b->empty()) std::memcpy(parts->memory.back().get(), b->data(), b->size());
      parts->buffers.push_back(parts->memory.back().get());
    }
    for (const Node& child : n.children) {
      parts->children.push_back(std::make_unique<ArrowArray>());
      give(child, parts->children.back().get());
      parts->pointers.push_back(parts->children.back().get());
    }
    if (n.dictionary != nullptr) {
      parts->dictionary = std::make_unique<ArrowArray>();
      give(*n.dictionary, parts->dictionary.get());
    }
    out->n_buffers = n.said_buffers.value_or(static_cast<int64_t>(n.buffers.size()));
    out->buffers = n.no_buffers ? nullptr : parts->buffers.data();
    out->n_children = n.said_children.value_or(static_cast<int64_t>(n.children.size()));
    out->children = parts->pointers.data();
    out->dictionary = parts->dictionary.get();
    out->private_data = parts;
    out->release = release<ArrayParts, ArrowArray>;
    if (!n.no_release) return;
    out->release(out);  // "released already"
  }

  Node schema_;
  std::vector<Node> batches_;
  size_t next_ = 0;
};

}  // namespace tessera::test
