// A plan: one training (or sampling) step as a list of ops over values, in static single assignment. It has shapes, but
// no addresses, scalar types or devices.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "kernels/ops.h"

namespace tessera {

using Id = int32_t;  // a value of a plan
constexpr Id kNone = -1;

struct Shape {
  int64_t rows = 0, cols = 0;
  int64_t count() const { return rows * cols; }
  bool operator==(const Shape&) const = default;
};

enum class DType : uint8_t { real, index, bf16, fp16 };  // the program's scalar; int32; 16 bits of a format
inline int64_t item_bytes(DType type, int64_t scalar_bytes) {
  return type == DType::real ? scalar_bytes : type == DType::index ? 4 : 2;
}
inline bool sixteen_bits(Precision p) { return p == Precision::bf16 || p == Precision::fp16; }
inline DType narrow_type(Precision p) { return p == Precision::bf16 ? DType::bf16 : DType::fp16; }
inline Precision stored_as(DType type) {
  return type == DType::bf16 ? Precision::bf16 : type == DType::fp16 ? Precision::fp16 : Precision::fp32;
}

#define TESSERA_VARIANT(type, field, parts) , type
using Op = std::variant<std::monostate TESSERA_OPS(TESSERA_VARIANT)>;
#undef TESSERA_VARIANT

struct Result {  // description of an op's output
  Shape shape;
  DType dtype = DType::real;
};

struct Value {
  Shape shape;
  DType dtype = DType::real;
  int node = -1;   // that computes it; −1: a leaf
  int output = 0;  // which of its outputs
};

struct Node {
  Op op;
  std::vector<Id> in, out;  // an input may be kNone where the op allows it
  std::vector<Id> after{};  // not read, but computed in an earlier phase (engine/passes/recompute.h)
};

// A leaf: memory from outside the step.
struct Leaf {
  // state: kept from step to step, changed in place · bound: given from outside, never written
  enum Kind { state, bound } kind;
  std::string name;
  Id value;
};

// The spans of a row, owned; ops point into it.
class Spans {
 public:
  struct Item {
    int start, width;
    bool softmax;
    int cond_start;  // −1: not a condition
  };
  explicit Spans(const std::vector<Item>& items);
  const SpanTable* table() const { return &table_; }
  Spans(const Spans&) = delete;

 private:
  std::vector<SpanTable::Item> items_;
  std::vector<int> cond_span_;
  SpanTable table_;
};

// Where and how the processor runs ops in chains on blocks of rows (engine/schedule/cpu_row_fusion.h). It changes the
// schedule only: no bit depends on it.
struct RowCut {
  int64_t min_rows = 256;  // of a batch
  int64_t gain = 3;        // chains are used only if they reduce the phases at least by this factor
  int64_t block_rows = 0;  // 0: chosen by the size of the team
};

struct FusedLaunch;  // engine/schedule/gpu_fusion.h

class Plan {
 public:
  std::vector<Value> values;
  std::vector<Node> nodes;  // in an order they can run in
  std::vector<Leaf> leaves;
  std::vector<Id> outputs;                          // read from outside after the step
  std::map<Id, std::string> names;                  // for printing and for binding
  std::vector<std::shared_ptr<const void>> tables;  // what ops point into
  // several ops per launch, if the device has kernels for that (engine/schedule/gpu_fusion.h); chains of rows on the
  // processor
  bool fuse = false;
  std::shared_ptr<const std::vector<FusedLaunch>> fusion;  // the launches, chosen by hand; null: fuse() chooses
  bool narrow = false;  // long-lived values are stored in 16 bits where factors are rounded to 16 bits (narrow.cpp)
  RowCut row_cut;
  Precision precision = Precision::fp32;  // requested; engine/passes/precision.cpp decides it op by op

  const Value& operator[](Id id) const { return values[static_cast<size_t>(id)]; }
  const Shape& shape(Id id) const { return values[static_cast<size_t>(id)].shape; }
  Id leaf(Leaf::Kind kind, const std::string& name, Shape shape, DType dtype = DType::real);
  Id find_leaf(const std::string& name) const;  // kNone: no such leaf
  Id find(const std::string& name) const;       // the last value of that name; kNone: there is none
  const Node* maker(Id id) const {
    const int n = id == kNone ? -1 : values[static_cast<size_t>(id)].node;
    return n < 0 ? nullptr : &nodes[static_cast<size_t>(n)];
  }
  // The op that computes a value, if it is of that kind.
  template <class T>
  const T* made_by(Id id) const {
    const Node* n = maker(id);
    return n == nullptr ? nullptr : std::get_if<T>(&n->op);
  }
  // Appends an op; shapes follow from its rule. With `share`, an existing equal pure op is used instead.
  std::vector<Id> emit(const Op& op, const std::vector<Id>& in, bool share = false);
  // Appends a node whose values exist; it becomes the maker of its outputs.
  void append(Node node);

 private:
  std::map<std::pair<size_t, std::vector<Id>>, std::vector<int>> made_;  // (kind, inputs) → nodes
};

// Orders the nodes so that every op follows the values it reads or waits for, and an op that changes a state in place
// follows all readers of the old state. Stable: equal choices keep their order. Throws Error(internal) if there is no
// such order.
void schedule(Plan& plan);

}  // namespace tessera
