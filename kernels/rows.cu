// draw_conditions, gather_rows: which rows a step trains on, and their codes. Both stay on the device: no row crosses the bus in a step.
#include "kernels/gpu_random.cuh"

namespace tessera::gpu {
namespace {

__device__ int at_most(uint32_t word, int64_t n) { return static_cast<int>((static_cast<uint64_t>(word) * static_cast<uint64_t>(n)) >> 32); }

// draw_conditions: training by sampling (ops.h has the inputs). A thread a row: one Philox block, a binary search in the column's cumulative shares, three
//   dependent reads: latency-bound, ~40 bytes a row · no synchronisation; a row depends on its key alone
struct ConditionTables {
  const float* cumulative;
  Mat<const int32_t> start, offset, index, rows;
};

__global__ void __launch_bounds__(128) draw_conditions_kernel(ConditionTables in, Mat<int32_t> condition, Mat<int32_t> row, const StepState* state, DrawConditions op) {
  const int i = static_cast<int>(blockIdx.x * 128 + threadIdx.x);
  if (i >= condition.rows) return;
  const Philox w = draw(*state, 0, row_key(*state, in.rows, i, op.purpose));
  if (op.columns == 0) {
    condition.row(i)[0] = -1;
    row.row(i)[0] = op.table_rows == 0 ? -1 : at_most(w.word[2], op.table_rows);
    return;
  }
  const int column = at_most(w.word[0], op.columns);
  const float u = open_uniform(w.word[1]);
  int low = in.start.row(column)[0], high = in.start.row(column + 1)[0] - 1;  // the first value whose cumulative share exceeds u
  while (low < high) {
    const int middle = (low + high) / 2;
    if (in.cumulative[middle] > u) high = middle;
    else low = middle + 1;
  }
  condition.row(i)[0] = low;
  if (op.table_rows == 0) {  // sampling: only the condition is wanted
    row.row(i)[0] = -1;
    return;
  }
  const int first = in.offset.row(low + column)[0], last = in.offset.row(low + column + 1)[0];
  const int64_t place = column * op.table_rows + first + at_most(w.word[2], last - first);
  row.row(i)[0] = in.index.data[place * in.index.ld];
}

void draw_run(const Call& call, int64_t, void* scratch) {
  const View* in = call.in;
  const ConditionTables tables{static_cast<const float*>(in[0].data), Mat<const int32_t>(in[1]), Mat<const int32_t>(in[2]), Mat<const int32_t>(in[3]), Mat<const int32_t>(in[4])};
  launch({dim3(grid_of(call.out[0].rows, 128)), dim3(128), 0, gpu_context(scratch).stream}, "draw_conditions", draw_conditions_kernel, tables, Mat<int32_t>(call.out[0]),
         Mat<int32_t>(call.out[1]), call.state, *static_cast<const DrawConditions*>(call.op));
}

// gather_rows: index[i, s], value[i, s] of table row row[i]: a softmax span's chosen column with 1, a tanh span's column with its alpha.
//   codes [n, C], alphas [n, A], row [rows, 1] · index, value [rows, spans]; 16 bytes an entry plus the row's codes: bandwidth-bound
//   a thread an entry · no synchronisation, exact
__global__ void __launch_bounds__(256)
    gather_rows_kernel(SpanTable spans, Mat<const int32_t> codes, Mat<const float> alphas, Mat<const int32_t> row, Mat<int32_t> index, Mat<float> value) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (item >= static_cast<int64_t>(index.rows) * spans.count) return;
  const int i = static_cast<int>(item / spans.count), s = static_cast<int>(item % spans.count);
  const SpanTable::Item span = spans.items[s];
  const int from = row.row(i)[0];
  index.row(i)[s] = span.softmax ? span.start + codes.row(from)[span.slot] : span.start;
  value.row(i)[s] = span.softmax ? 1.0f : alphas.row(from)[span.slot];
}

void gather_run(const Call& call, int64_t, void* scratch) {
  const SpanTable& spans = *static_cast<const GatherRows*>(call.op)->spans;
  const View* in = call.in;
  launch({dim3(grid_of(call.out[0].rows * spans.count, 256)), dim3(256), 0, gpu_context(scratch).stream}, "gather_rows", gather_rows_kernel, spans, Mat<const int32_t>(in[0]),
         Mat<const float>(in[1]), Mat<const int32_t>(in[2]), Mat<int32_t>(call.out[0]), Mat<float>(call.out[1]));
}

}  // namespace

void add_rows(KernelTable& t) {
  t.draw_conditions = {one_if_any, draw_run, nullptr};
  t.gather_rows = {one_if_any, gather_run, nullptr};
}

}  // namespace tessera::gpu
