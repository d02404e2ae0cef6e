// A stream of one int32 and one text column, made by hand, that counts what is alive and can fail, for tests of the C
// interface.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tessera/arrow.h"

class SmallStream {
 public:
  explicit SmallStream(int64_t rows, int64_t batches = 1) : rows_(rows), left_(batches) {
    for (int64_t i = 0; i < rows; ++i) {
      numbers_.push_back(static_cast<int32_t>(i * 7 % 40));
      offsets_.push_back(static_cast<int32_t>(text_.size()));
      text_ += i % 3 == 0 ? "red" : i % 3 == 1 ? "green" : "blue";
    }
    offsets_.push_back(static_cast<int32_t>(text_.size()));
  }
  int error_at_end = 0;
  int released = 0;

  void open(ArrowArrayStream* out) {
    *out = {schema, next, [](ArrowArrayStream*) -> const char* { return "the source went away"; },
            [](ArrowArrayStream* s) {
              ++self(s).released;
              s->release = nullptr;
            },
            this};
  }

 private:
  static SmallStream& self(ArrowArrayStream* s) { return *static_cast<SmallStream*>(s->private_data); }
  static int schema(ArrowArrayStream* s, ArrowSchema* out) {
    SmallStream& me = self(s);
    const char* formats[] = {"i", "u"};
    const char* names[] = {"number", "colour"};
    for (int j = 0; j < 2; ++j) {
      me.fields_[j] = {};
      me.fields_[j].format = formats[j], me.fields_[j].name = names[j], me.fields_[j].flags = ARROW_FLAG_NULLABLE;
      me.fields_[j].release = [](ArrowSchema* x) { x->release = nullptr; };
      me.field_pointers_[j] = &me.fields_[j];
    }
    *out = {};
    out->format = "+s", out->name = "", out->n_children = 2, out->children = me.field_pointers_;
    out->release = [](ArrowSchema* x) { x->release = nullptr; };
    return 0;
  }
  static int next(ArrowArrayStream* s, ArrowArray* out) {
    SmallStream& me = self(s);
    *out = {};
    if (me.left_-- <= 0) return me.error_at_end;
    const void* of_numbers[] = {nullptr, me.numbers_.data()};
    const void* of_texts[] = {nullptr, me.offsets_.data(), me.text_.data()};
    std::memcpy(me.number_buffers_, of_numbers, sizeof of_numbers);
    std::memcpy(me.text_buffers_, of_texts, sizeof of_texts);
    for (int j = 0; j < 2; ++j) {
      ArrowArray& c = me.columns_[j] = {};
      c.length = me.rows_, c.n_buffers = 2 + j, c.buffers = j == 0 ? me.number_buffers_ : me.text_buffers_;
      c.release = [](ArrowArray* x) { x->release = nullptr; };
      me.column_pointers_[j] = &c;
    }
    out->length = me.rows_, out->n_buffers = 1, out->buffers = me.no_buffers_, out->n_children = 2,
    out->children = me.column_pointers_;
    out->release = [](ArrowArray* x) { x->release = nullptr; };
    return 0;
  }

  int64_t rows_, left_;
  std::vector<int32_t> numbers_, offsets_;
  std::string text_;
  ArrowSchema fields_[2];
  ArrowSchema* field_pointers_[2];
  ArrowArray columns_[2];
  ArrowArray* column_pointers_[2];
  const void *number_buffers_[2], *text_buffers_[3], *no_buffers_[1] = {nullptr};
};
