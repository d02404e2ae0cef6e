// fill, reshape, slice_rows, slice_cols, concat_rows, concat_cols, all_gather, gather_parts: moves, and reduce_parts,
// which adds what it gets. Placement turns most of them into views of other storage; those are not run.
#include "kernels/cpu/tables.h"
#include "kernels/shards.h"

namespace tessera::TESSERA_ISA {
namespace {

constexpr int64_t kRows = 32;

int64_t row_tiles(const Call& call) { return div_up(call.out[0].rows, kRows); }
int64_t one_tile(const Call& call) { return call.out[0].rows * call.out[0].cols == 0 ? 0 : 1; }

// The moves below copy bytes, so they serve indices and reals of either size.
struct Bytes {
  char* data;
  int64_t rows, cols, ld, item;
  explicit Bytes(const View& v)
      : data(static_cast<char*>(v.data)), rows(v.rows), cols(v.cols), ld(v.ld), item(v.item_bytes) {}
  char* at(int64_t r, int64_t c) const { return data + (r * ld + c) * item; }
};

void copy(char* to, const char* from, int64_t bytes) { memcpy(to, from, static_cast<size_t>(bytes)); }

template <class T>
void fill_run(const Call& call, int64_t tile, void*) {
  const Mat<T> out(call.out[0]);
  const T value = static_cast<T>(static_cast<const Fill*>(call.op)->value);
  const Range r = piece(tile, kRows, out.rows);
  for (int64_t i = r.begin; i < r.end; ++i)
    for (int64_t c = 0; c < out.cols; ++c) out.row(i)[c] = value;
}

void reshape_run(const Call& call, int64_t, void*) {
  const Bytes x(call.in[0]), out(call.out[0]);
  int64_t r = 0, c = 0;
  for (int64_t i = 0; i < x.rows; ++i)
    for (int64_t k = 0; k < x.cols; ++k) {
      copy(out.at(r, c), x.at(i, k), x.item);
      if (++c == out.cols) c = 0, ++r;
    }
}

void slice_rows_run(const Call& call, int64_t tile, void*) {
  const Bytes x(call.in[0]), out(call.out[0]);
  const int64_t start = static_cast<const SliceRows*>(call.op)->start;
  const Range r = piece(tile, kRows, out.rows);
  for (int64_t i = r.begin; i < r.end; ++i) copy(out.at(i, 0), x.at(start + i, 0), out.cols * out.item);
}

void slice_cols_run(const Call& call, int64_t tile, void*) {
  const Bytes x(call.in[0]), out(call.out[0]);
  const int64_t start = static_cast<const SliceCols*>(call.op)->start;
  const Range r = piece(tile, kRows, out.rows);
  for (int64_t i = r.begin; i < r.end; ++i) copy(out.at(i, 0), x.at(i, start), out.cols * out.item);
}

// A part that placement already put in its destination needs no copy.
void concat_rows_run(const Call& call, int64_t tile, void*) {
  const Bytes out(call.out[0]);
  const Range r = piece(tile, kRows, out.rows);
  int64_t start = 0;
  for (int k = 0; k < call.inputs; ++k) {
    const Bytes x(call.in[k]);
    for (int64_t i = r.begin > start ? r.begin : start; i < min_of(r.end, start + x.rows); ++i)
      if (x.at(i - start, 0) != out.at(i, 0)) copy(out.at(i, 0), x.at(i - start, 0), out.cols * out.item);
    start += x.rows;
  }
}

void concat_cols_run(const Call& call, int64_t tile, void*) {
  const Bytes out(call.out[0]);
  const Range r = piece(tile, kRows, out.rows);
  int64_t start = 0;
  for (int k = 0; k < call.inputs; ++k) {
    const Bytes x(call.in[k]);
    for (int64_t i = r.begin; i < r.end; ++i)
      if (x.at(i, 0) != out.at(i, start)) copy(out.at(i, start), x.at(i, 0), x.cols * x.item);
    start += x.cols;
  }
}

// The communicator moves the bytes; one thread waits for it. If it fails, the rest of the step reads zeros: stale
// bytes could be taken for row numbers.
int64_t one_exchange(const Call&) { return 1; }
void all_gather_run(const Call& call, int64_t, void*) {
  const Wires& wires = *static_cast<const AllGather*>(call.op)->wires;
  const Bytes x(call.in[1]), out(call.out[1]);
  if (wires.all_gather(wires.communicator, x.at(0, 0), out.at(0, 0), x.cols * x.item, out.ld * out.item, nullptr))
    return;
  for (int64_t r = 0; r < out.rows; ++r) memset(out.at(r, 0), 0, static_cast<size_t>(out.cols * out.item));
  call.state->bad = call.state->step;
}

constexpr int64_t kAdded = 1024;  // numbers that are added at a time, so that their sums stay in the first-level cache

// Numbers [from, from + n) of all parts, added as neighbors.
template <class T>
void add_parts(const void* const* parts, int ranks, int64_t from, int64_t n, T* to) {
  T waiting[pending_shards(kMaxRanks) + 1][kAdded];
  int count = 0;  // of the sums that wait for their neighbors
  for (int r = 0; r < ranks; ++r) {
    const T* last = static_cast<const T*>(parts[r]) + from;
    for (int joined = shards_joined(ranks, r); joined > 0; --joined) {
      const T* before = waiting[--count];
      T* sum = r + 1 == ranks && joined == 1 ? to : waiting[count];
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) sum[i] = before[i] + last[i];
      last = sum;
    }
    T* kept = r + 1 == ranks ? to : waiting[count++];
    if (last != kept) memcpy(kept, last, static_cast<size_t>(n) * sizeof(T));
  }
}

template <class T>
void reduce_parts_run(const Call& call, int64_t, void*) {
  const auto& op = *static_cast<const ReduceParts*>(call.op);
  const Mat<T> x(call.in[1]), out(call.out[1]);
  constexpr auto kItem = static_cast<int64_t>(sizeof(T));
  const void* parts[kMaxRanks];
  if (op.wires->take_parts(op.wires->communicator, x.data, x.cols * kItem, op.part * kItem, nullptr, parts, nullptr)) {
    for (int64_t from = 0; from < out.cols; from += kAdded)
      add_parts(parts, static_cast<int>(op.ranks), from, min_of(kAdded, out.cols - from), out.data + from);
    return;
  }
  memset(out.data, 0, static_cast<size_t>(out.cols * kItem));
  call.state->bad = call.state->step;
}

void gather_parts_run(const Call& call, int64_t, void*) {
  const auto& op = *static_cast<const GatherParts*>(call.op);
  const View& first = call.in[1];
  int64_t total = 0;
  for (int i = 1; i < call.inputs; ++i) total += call.in[i].cols;
  if (!op.wires->gather_parts(op.wires->communicator, first.data, total * first.item_bytes,
                              first.cols * first.item_bytes, nullptr))
    call.state->bad = call.state->step;
}

}  // namespace

TESSERA_KERNEL(fill, row_tiles, fill_run<T>, nullptr)
TESSERA_KERNEL(reshape, one_tile, reshape_run, nullptr)
TESSERA_KERNEL(slice_rows, row_tiles, slice_rows_run, nullptr)
TESSERA_KERNEL(slice_cols, row_tiles, slice_cols_run, nullptr)
TESSERA_KERNEL(concat_rows, row_tiles, concat_rows_run, nullptr)
TESSERA_KERNEL(concat_cols, row_tiles, concat_cols_run, nullptr)
TESSERA_KERNEL(all_gather, one_exchange, all_gather_run, nullptr)
TESSERA_KERNEL(reduce_parts, one_exchange, reduce_parts_run<T>, nullptr)
TESSERA_KERNEL(gather_parts, one_exchange, gather_parts_run, nullptr)

}  // namespace tessera::TESSERA_ISA
