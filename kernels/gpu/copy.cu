// fill, reshape, slice_rows, slice_cols, concat_rows, concat_cols, all_gather, gather_parts: moves, and reduce_parts,
// which adds received parts. Placement turns most moves into views; those are not run.
//   8 bytes per element, bandwidth-bound; no synchronisation, exact. Indices and reals are both moved as 4-byte words.
#include "kernels/gpu/dialect/map.cuh"
#include "kernels/shards.h"

namespace tessera::gpu {
namespace {

struct Constant {
  float value;
  __device__ float operator()() const { return value; }
};
void fill_run(const Call& call, int64_t, void* scratch) {
  map<Constant, 0>(scratch, "fill", {static_cast<float>(static_cast<const Fill*>(call.op)->value)}, {nullptr},
                   call.out[0]);
}

// ---- rectangles ---------------------------------------------------------------------------------
// Up to kParts rectangles in one launch; a thread moves four neighbouring words of one row.
constexpr int kParts = 8;
struct Parts {
  struct Part {
    const uint32_t* from;
    uint32_t* to;
    int64_t ld_from, ld_to;
    int chunks, cols;  // of a row
    bool wide;
    int64_t end;  // chunks of this part and all previous ones
  } part[kParts];
};

__global__ void __launch_bounds__(kThreads) copy_kernel(Parts parts, int count) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  int p = 0;
  while (p < count && item >= parts.part[p].end) ++p;
  if (p == count) return;
  const Parts::Part& part = parts.part[p];
  const int64_t local = item - (p == 0 ? 0 : parts.part[p - 1].end);
  const int64_t r = local / part.chunks;
  const int c = static_cast<int>(local % part.chunks) * kChunk;
  const uint32_t* from = part.from + r * part.ld_from + c;
  uint32_t* to = part.to + r * part.ld_to + c;
  if (part.wide && c + kChunk <= part.cols) {
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
    return;
  }
  for (int k = 0; k < kChunk && c + k < part.cols; ++k) to[k] = from[k];
}

class Copies {
 public:
  Copies(void* scratch, const char* name) : stream_(gpu_context(scratch).stream), name_(name) {}

  // A part that was computed in its destination needs no copy.
  void add(View from, View to) {
    if (empty(to) || (from.data == to.data && (from.ld == to.ld || to.rows == 1))) return;
    if (contiguous(from) && contiguous(to) && to.rows * to.cols < (int64_t{1} << 31)) {
      to.cols *= to.rows;
      to.rows = 1;
    }
    const int chunks = static_cast<int>(blocks_for(to.cols, kChunk));
    end_ += to.rows * chunks;
    from.rows = to.rows;
    parts_.part[count_++] = {static_cast<const uint32_t*>(from.data),
                             static_cast<uint32_t*>(to.data),
                             from.ld,
                             to.ld,
                             chunks,
                             static_cast<int>(to.cols),
                             aligned16(from) && aligned16(to),
                             end_};
    if (count_ == kParts) flush();
  }

  void flush() {
    launch({dim3(grid_of(end_, kThreads)), dim3(kThreads), 0, stream_}, name_, copy_kernel, parts_, count_);
    count_ = 0;
    end_ = 0;
  }

 private:
  cudaStream_t stream_;
  const char* name_;
  Parts parts_{};
  int count_ = 0;
  int64_t end_ = 0;
};

// The rectangle of v that starts at (row, col) and has the shape of `size`.
View part(const View& v, int64_t row, int64_t col, const View& size) {
  return {static_cast<char*>(v.data) + (row * v.ld + col) * v.item_bytes, size.rows, size.cols, v.ld, v.item_bytes};
}

void copy(void* scratch, const char* name, const View& from, const View& to) {
  Copies copies(scratch, name);
  copies.add(from, to);
  copies.flush();
}

void slice_rows_run(const Call& call, int64_t, void* scratch) {
  copy(scratch, "slice_rows", part(call.in[0], static_cast<const SliceRows*>(call.op)->start, 0, call.out[0]),
       call.out[0]);
}
void slice_cols_run(const Call& call, int64_t, void* scratch) {
  copy(scratch, "slice_cols", part(call.in[0], 0, static_cast<const SliceCols*>(call.op)->start, call.out[0]),
       call.out[0]);
}

void concat_rows_run(const Call& call, int64_t, void* scratch) {
  Copies copies(scratch, "concat_rows");
  int64_t start = 0;
  for (int k = 0; k < call.inputs; start += call.in[k++].rows)
    copies.add(call.in[k], part(call.out[0], start, 0, call.in[k]));
  copies.flush();
}
void concat_cols_run(const Call& call, int64_t, void* scratch) {
  Copies copies(scratch, "concat_cols");
  int64_t start = 0;
  for (int k = 0; k < call.inputs; start += call.in[k++].cols)
    copies.add(call.in[k], part(call.out[0], 0, start, call.in[k]));
  copies.flush();
}

// ---- reshape ------------------------------------------------------------------------------------
// One thread per element, for rows with gaps between them; otherwise a reshape is one long row.
__global__ void __launch_bounds__(kThreads) reshape_kernel(Mat<const uint32_t> x, Mat<uint32_t> out, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  out.row(static_cast<int>(i / out.cols))[i % out.cols] = x.row(static_cast<int>(i / x.cols))[i % x.cols];
}

void reshape_run(const Call& call, int64_t, void* scratch) {
  View x = call.in[0], out = call.out[0];
  const int64_t count = out.rows * out.cols;
  if (contiguous(x) && contiguous(out)) {
    x.rows = out.rows = 1;
    x.cols = out.cols = count;
    copy(scratch, "reshape", x, out);
  } else {
    launch({dim3(grid_of(count, kThreads)), dim3(kThreads), 0, gpu_context(scratch).stream}, "reshape", reshape_kernel,
           Mat<const uint32_t>(x), Mat<uint32_t>(out), count);
  }
}

// The communicator queues it on the step's stream: there is no kernel of ours.
void all_gather_run(const Call& call, int64_t, void* scratch) {
  const Wires& wires = *static_cast<const AllGather*>(call.op)->wires;
  const View &x = call.in[1], &out = call.out[1];
  (void)wires.all_gather(wires.communicator, x.data, out.data, x.cols * x.item_bytes, out.ld * out.item_bytes,
                         gpu_context(scratch).stream);
}
void gather_parts_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const GatherParts*>(call.op);
  const View& first = call.in[1];
  int64_t total = 0;
  for (int i = 1; i < call.inputs; ++i) total += call.in[i].cols;
  (void)op.wires->gather_parts(op.wires->communicator, first.data, total * first.item_bytes,
                               first.cols * first.item_bytes, gpu_context(scratch).stream);
}

// One thread per number: the parts of all ranks, added pairwise.
__global__ void __launch_bounds__(kThreads) add_parts_kernel(const float* parts, int ranks, float* sum, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  float waiting[pending_shards(kMaxRanks) + 1];
  int n = 0;
  for (int r = 0; r < ranks; ++r) {
    float last = parts[r * count + i];
    for (int joined = shards_joined(ranks, r); joined > 0; --joined) last = waiting[--n] + last;
    waiting[n++] = last;
  }
  sum[i] = waiting[0];
}
int64_t reduce_parts_bytes(const Call& call) {
  return static_cast<const ReduceParts*>(call.op)->ranks * call.out[1].cols * call.out[1].item_bytes;
}
void reduce_parts_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const ReduceParts*>(call.op);
  const View &x = call.in[1], &out = call.out[1];
  const GpuContext& context = gpu_context(scratch);
  const void* at[kMaxRanks];
  (void)op.wires->take_parts(op.wires->communicator, x.data, x.cols * x.item_bytes, op.part * x.item_bytes,
                             context.workspace, at, context.stream);
  launch({dim3(grid_of(out.cols, kThreads)), dim3(kThreads), 0, context.stream}, "reduce_parts", add_parts_kernel,
         static_cast<const float*>(context.workspace), static_cast<int>(op.ranks), static_cast<float*>(out.data),
         out.cols);
}

}  // namespace

Kernel fill_entry() { return {one_if_any, fill_run, nullptr}; }
Kernel reshape_entry() { return {one_if_any, reshape_run, nullptr}; }
Kernel slice_rows_entry() { return {one_if_any, slice_rows_run, nullptr}; }
Kernel slice_cols_entry() { return {one_if_any, slice_cols_run, nullptr}; }
Kernel concat_rows_entry() { return {one_if_any, concat_rows_run, nullptr}; }
Kernel concat_cols_entry() { return {one_if_any, concat_cols_run, nullptr}; }
Kernel all_gather_entry() { return {one_if_any, all_gather_run, nullptr}; }
Kernel reduce_parts_entry() { return {one_if_any, reduce_parts_run, reduce_parts_bytes}; }
Kernel gather_parts_entry() { return {one_if_any, gather_parts_run, nullptr}; }

}  // namespace tessera::gpu
