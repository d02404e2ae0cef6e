// recurrent, recurrent_grad, recurrent_input_grad, recurrent_wgrad: the layers of kernels/cpu/recurrent.cpp, whose formulae, layouts and order of arithmetic these are.
//   one launch a pass over time: a block owns a tile of 16 sequences through all steps, its state and the step at hand in shared memory ([unit][16 lanes]: a warp reads two
//   weights, each broadcast to 16 lanes, without bank conflicts); what does not fit there (in + 7·H > ~3,600) lies in the workspace
//   2·B·steps·(in + H)·gates·H FLOP; latency-bound for few tiles: three block barriers a step forward, four backward · weights come from the L1 and L2 caches
//   recurrent_input_grad has a block for each tile and step, recurrent_wgrad one for 256 weights of a tile: an element is one chain, so any schedule gives the same bits
#include "kernels/gpu_view.cuh"

namespace tessera::gpu {
namespace {

constexpr int kTile = static_cast<int>(kSequenceTile);
constexpr int64_t kMostShared = 96 * 1024;  // bytes: two blocks on a multiprocessor, and within what smaller cards have

__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// Steps that lane `lane` of the tile has.
__device__ inline int length_of(const Mat<const float>& length, int tile, int lane, int sequences, int steps) {
  const int b = tile * kTile + lane;
  if (b >= sequences) return 0;
  if (!length) return steps;
  const float own = length.row(b)[0];
  return !(own > 0.0f) ? 0 : own < static_cast<float>(steps) ? static_cast<int>(own) : steps;
}

__device__ inline int longest(const Mat<const float>& length, int tile, int sequences, int steps) {
  int most = 0;
  for (int l = 0; l < kTile; ++l) most = max(most, length_of(length, tile, l, sequences, steps));
  return most;
}

// Row of part `part`, unit u, of a tile-major matrix.
__device__ inline float* cell_of(const Mat<float>& m, int tile, int t, int steps, int parts, int part, int hidden, int u, int lane) {
  return m.row(((tile * steps + t) * parts + part) * hidden + u) + lane;
}

// Σ_k w(k, j)·v[k][lane], k < depth; weights of one unit stand ld apart, or side by side.
__device__ inline float chain(const float* w, int64_t step, const float* v, int depth, int lane, float sum) {
  for (int k = 0; k < depth; ++k) sum = fmaf(w[k * step], v[k * kTile + lane], sum);
  return sum;
}

struct Layer {
  Mat<const float> x, length, h0, c0, w_x, w_h, b_x, b_h;
  Mat<float> y, h_last, saved, c_last;
  Cell cell;
  int steps, in, hidden;
  float forget_bias;
  float* workspace;  // nullptr: shared memory holds it
  int64_t floats;
};

__global__ void __launch_bounds__(kThreads, 2) recurrent_kernel(Layer s) {
  TESS_DYN_SHARED(float, room);
  const int tile = static_cast<int>(blockIdx.x), H = s.hidden, B = s.y.rows, parts = static_cast<int>(saved_of(s.cell)), first = static_cast<int>(threadIdx.x);
  float* x = s.workspace == nullptr ? room : s.workspace + tile * s.floats;
  float *h = x + s.in * kTile, *c = h + H * kTile, *a = c + H * kTile, *more = a + 4 * H * kTile;
  const bool lstm = s.cell == Cell::lstm;
  for (int i = first; i < H * kTile; i += kThreads) {
    const int b = tile * kTile + i % kTile, u = i / kTile;
    h[i] = s.h0 && b < B ? s.h0.row(b)[u] : 0.0f;
    c[i] = lstm && s.c0 && b < B ? s.c0.row(b)[u] : 0.0f;
  }
  const int most = longest(s.length, tile, B, s.steps);
  for (int t = 0; t < s.steps; ++t) {
    for (int i = first; i < s.in * kTile; i += kThreads) {
      const int lane = i % kTile;
      x[i] = t < length_of(s.length, tile, lane, B, s.steps) ? s.x.row(tile * kTile + lane)[t * s.in + i / kTile] : 0.0f;
    }
    __syncthreads();
    const int rows = s.cell == Cell::gru_reset_before ? 2 * H : 4 * H;
    for (int i = first; i < rows * kTile && t < most; i += kThreads) {
      const int j = i / kTile, lane = i % kTile;
      if (s.cell == Cell::gru && j >= 3 * H) {  // q, from h alone
        a[i] = chain(s.w_h.data + j - H, s.w_h.ld, h, H, lane, s.b_h.data[j - H]);
      } else if (s.cell == Cell::gru && j >= 2 * H) {  // n's part from x
        a[i] = chain(s.w_x.data + j, s.w_x.ld, x, s.in, lane, s.b_x.data[j]);
      } else {
        const float start = s.b_x.data[j] + (s.b_h ? s.b_h.data[j] : 0.0f);
        a[i] = chain(s.w_h.data + j, s.w_h.ld, h, H, lane, chain(s.w_x.data + j, s.w_x.ld, x, s.in, lane, start));
      }
    }
    __syncthreads();
    if (s.cell == Cell::gru_reset_before) {
      for (int i = first; i < H * kTile && t < most; i += kThreads) {
        a[i] = sigmoid(a[i]);
        more[i] = a[i] * h[i];
      }
      __syncthreads();
      for (int i = first; i < H * kTile && t < most; i += kThreads) {
        const int j = 2 * H + i / kTile, lane = i % kTile;
        a[2 * H * kTile + i] = chain(s.w_h.data + j, s.w_h.ld, more, H, lane, chain(s.w_x.data + j, s.w_x.ld, x, s.in, lane, s.b_x.data[j]));
      }
      __syncthreads();
    }
    for (int i = first; i < H * kTile; i += kThreads) {
      const int u = i / kTile, lane = i % kTile, gate = H * kTile, b = tile * kTile + lane;
      const bool on = t < length_of(s.length, tile, lane, B, s.steps);
      auto keep = [&](int part, float v) { *cell_of(s.saved, tile, t, s.steps, parts, part, H, u, lane) = on ? v : 0.0f; };
      float now = h[i];
      if (!on) {
        for (int p = 0; p < parts; ++p) keep(p, 0.0f);
      } else if (lstm) {
        const float in = sigmoid(a[i]), forget = sigmoid(a[i + gate] + s.forget_bias), g = tanhf(a[i + 2 * gate]), out = sigmoid(a[i + 3 * gate]);
        const float state = forget * c[i] + in * g, squashed = tanhf(state);
        keep(0, in), keep(1, forget), keep(2, g), keep(3, out), keep(4, squashed), keep(5, c[i]), keep(6, now);
        c[i] = state;
        now = out * squashed;
      } else {
        const bool before = s.cell == Cell::gru_reset_before;
        const float r = before ? a[i] : sigmoid(a[i]), z = sigmoid(a[i + gate]), q = before ? 0.0f : a[i + 3 * gate], n = tanhf(before ? a[i + 2 * gate] : a[i + 2 * gate] + r * q);
        keep(0, r), keep(1, z), keep(2, n);
        if (!before) keep(3, q);
        keep(parts - 1, now);
        now = n + z * (now - n);
      }
      h[i] = now;
      if (b < B) s.y.row(b)[t * H + u] = on ? now : 0.0f;
    }
    __syncthreads();
  }
  for (int i = first; i < H * kTile; i += kThreads) {
    const int b = tile * kTile + i % kTile, u = i / kTile;
    if (b >= B) continue;
    s.h_last.row(b)[u] = h[i];
    if (lstm) s.c_last.row(b)[u] = c[i];
  }
}

struct Back {
  Mat<const float> length, w_h, d_y, d_h_last, d_c_last;
  Mat<float> saved, slopes, d_h0, d_c0;
  Cell cell;
  int steps, sequences;
  float* workspace;
  int64_t floats;
};

__global__ void __launch_bounds__(kThreads, 2) recurrent_grad_kernel(Back s) {
  TESS_DYN_SHARED(float, room);
  const int tile = static_cast<int>(blockIdx.x), H = s.w_h.rows, B = s.sequences, first = static_cast<int>(threadIdx.x), gate = H * kTile;
  const int parts = static_cast<int>(saved_of(s.cell)), slope_parts = static_cast<int>(slopes_of(s.cell));
  float* d_h = s.workspace == nullptr ? room : s.workspace + tile * s.floats;
  float *d_c = d_h + gate, *d = d_c + gate, *more = d + slope_parts * gate;  // d: the slopes of the step, as `slopes` will hold them
  const bool lstm = s.cell == Cell::lstm;
  for (int i = first; i < gate; i += kThreads) {
    const int b = tile * kTile + i % kTile, u = i / kTile;
    d_h[i] = s.d_h_last && b < B ? s.d_h_last.row(b)[u] : 0.0f;
    d_c[i] = lstm && s.d_c_last && b < B ? s.d_c_last.row(b)[u] : 0.0f;
  }
  __syncthreads();
  for (int t = s.steps - 1; t >= 0; --t) {
    for (int i = first; i < gate; i += kThreads) {
      const int u = i / kTile, lane = i % kTile;
      if (t >= length_of(s.length, tile, lane, B, s.steps)) {
        for (int p = 0; p < slope_parts; ++p) d[p * gate + i] = 0.0f;
        continue;
      }
      auto was = [&](int part) { return *cell_of(s.saved, tile, t, s.steps, parts, part, H, u, lane); };
      const float up = d_h[i] + (s.d_y ? s.d_y.row(tile * kTile + lane)[t * H + u] : 0.0f);
      if (lstm) {
        const float in = was(0), forget = was(1), g = was(2), out = was(3), squashed = was(4);
        const float e = d_c[i] + up * out * (1.0f - squashed * squashed);
        d[i] = e * g * (in * (1.0f - in));
        d[gate + i] = e * was(5) * (forget * (1.0f - forget));
        d[2 * gate + i] = e * in * (1.0f - g * g);
        d[3 * gate + i] = up * squashed * (out * (1.0f - out));
        d_c[i] = e * forget;
        d_h[i] = 0.0f;
      } else {
        const float r = was(0), z = was(1), n = was(2), h = was(parts - 1), d_n = up * (1.0f - z) * (1.0f - n * n);
        d[gate + i] = up * (h - n) * (z * (1.0f - z));
        d[2 * gate + i] = d_n;
        d_h[i] = up * z;
        if (s.cell == Cell::gru) {
          d[i] = d_n * was(3) * (r * (1.0f - r));
          d[3 * gate + i] = d_n * r;
        }
      }
    }
    __syncthreads();
    if (s.cell == Cell::gru_reset_before) {
      for (int i = first; i < gate; i += kThreads) more[i] = chain(s.w_h.row(i / kTile) + 2 * H, 1, d + 2 * gate, H, i % kTile, 0.0f);
      __syncthreads();
      for (int i = first; i < gate; i += kThreads) {
        const int u = i / kTile, lane = i % kTile;
        const bool on = t < length_of(s.length, tile, lane, B, s.steps);
        const float r = *cell_of(s.saved, tile, t, s.steps, parts, 0, H, u, lane), h = *cell_of(s.saved, tile, t, s.steps, parts, 3, H, u, lane);
        d[i] = on ? more[i] * h * (r * (1.0f - r)) : 0.0f;
        if (on) d_h[i] += more[i] * r;
      }
      __syncthreads();
    }
    for (int i = first; i < gate; i += kThreads) {
      const int u = i / kTile, lane = i % kTile;
      for (int p = 0; p < slope_parts; ++p) *cell_of(s.slopes, tile, t, s.steps, slope_parts, p, H, u, lane) = d[p * gate + i];
      if (t >= length_of(s.length, tile, lane, B, s.steps)) continue;  // the state was held, and so is its gradient
      const float* w = s.w_h.row(u);
      float sum = chain(w, 1, d, lstm ? 4 * H : 2 * H, lane, d_h[i]);
      if (s.cell == Cell::gru) sum = chain(w + 2 * H, 1, d + 3 * gate, H, lane, sum);
      more[i] = sum;
    }
    __syncthreads();
    for (int i = first; i < gate; i += kThreads)
      if (t < length_of(s.length, tile, i % kTile, B, s.steps)) d_h[i] = more[i];
    __syncthreads();
  }
  for (int i = first; i < gate; i += kThreads) {
    const int b = tile * kTile + i % kTile, u = i / kTile;
    if (b >= B) continue;
    s.d_h0.row(b)[u] = d_h[i];
    if (lstm) s.d_c0.row(b)[u] = d_c[i];
  }
}

__global__ void __launch_bounds__(kThreads) recurrent_input_grad_kernel(Mat<float> slopes, Mat<const float> w_x, Mat<float> d_x, int steps, int parts, int hidden) {
  const int tile = static_cast<int>(blockIdx.x), t = static_cast<int>(blockIdx.y);
  for (int i = static_cast<int>(threadIdx.x); i < w_x.rows * kTile; i += kThreads) {
    const int k = i / kTile, lane = i % kTile, b = tile * kTile + lane;
    if (b >= d_x.rows) continue;
    const float *w = w_x.row(k), *v = cell_of(slopes, tile, t, steps, parts, 0, hidden, 0, lane);
    float sum = 0.0f;
    for (int j = 0; j < w_x.cols; ++j) sum = fmaf(w[j], v[j * slopes.ld], sum);
    d_x.row(b)[t * w_x.rows + k] = sum;
  }
}

struct Weights {
  Mat<const float> x, length;
  Mat<float> saved, slopes, out;
  Cell cell;
  int steps, in, hidden;
};

__global__ void __launch_bounds__(kThreads) recurrent_wgrad_kernel(Weights s) {
  const int tile = static_cast<int>(blockIdx.y), H = s.hidden, gates = static_cast<int>(gates_of(s.cell)) * H, at = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (at >= s.out.cols) return;
  const int k = at / gates, j = at % gates, parts = static_cast<int>(saved_of(s.cell)), slope_parts = static_cast<int>(slopes_of(s.cell));
  const bool of_x = k < s.in, of_h = !of_x && k < s.in + H, of_h_bias = k == s.in + H + 1;
  // The rows of W_h that meet n: gru's stand behind q, reset before's behind r⊙h.
  const int slope = s.cell == Cell::gru && (of_h || of_h_bias) && j >= 2 * H ? j + H : j;
  const bool reset = s.cell == Cell::gru_reset_before && of_h && j >= 2 * H;
  const int most = longest(s.length, tile, s.x.rows, s.steps);
  float sum = 0.0f;
  for (int t = 0; t < most; ++t) {
    const float* d = cell_of(s.slopes, tile, t, s.steps, slope_parts, 0, H, slope, 0);
    for (int lane = 0; lane < kTile; ++lane) {
      float v = 1.0f;
      if (of_x) v = t < length_of(s.length, tile, lane, s.x.rows, s.steps) ? s.x.row(tile * kTile + lane)[t * s.in + k] : 0.0f;
      if (of_h) v = *cell_of(s.saved, tile, t, s.steps, parts, parts - 1, H, k - s.in, lane) * (reset ? *cell_of(s.saved, tile, t, s.steps, parts, 0, H, k - s.in, lane) : 1.0f);
      sum = fmaf(v, d[lane], sum);
    }
  }
  s.out.row(tile)[at] = sum;
}

int64_t layer_floats(int64_t in, int64_t hidden) { return kTile * (in + 7 * hidden); }
int64_t workspace_of(int64_t floats, int64_t tiles) { return floats * 4 <= kMostShared ? 0 : floats * 4 * tiles; }

int64_t recurrent_scratch(const Call& call) { return workspace_of(layer_floats(call.in[4].rows, call.in[5].rows), sequence_tiles(call.out[0].rows)); }
void recurrent_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const Recurrent*>(call.op);
  const View *in = call.in, none{};
  const int64_t floats = layer_floats(in[4].rows, in[5].rows);
  const bool shared = floats * 4 <= kMostShared;
  const Layer layer{Mat<const float>(in[0]), Mat<const float>(in[1]), Mat<const float>(in[2]), Mat<const float>(in[3]), Mat<const float>(in[4]), Mat<const float>(in[5]), Mat<const float>(in[6]), Mat<const float>(in[7]),
                    Mat<float>(call.out[0]), Mat<float>(call.out[1]), Mat<float>(call.out[2]), Mat<float>(op.cell == Cell::lstm ? call.out[3] : none),
                    op.cell, static_cast<int>(op.steps), static_cast<int>(in[4].rows), static_cast<int>(in[5].rows), static_cast<float>(op.forget_bias),
                    shared ? nullptr : static_cast<float*>(gpu_context(scratch).workspace), floats};
  launch({dim3(static_cast<unsigned>(sequence_tiles(call.out[0].rows))), dim3(kThreads), shared ? static_cast<size_t>(floats * 4) : 0, gpu_context(scratch).stream}, "recurrent", recurrent_kernel, layer);
}

int64_t back_floats(int64_t hidden) { return kTile * 7 * hidden; }
int64_t grad_tiles(const Call& call) { return empty(call.out[1]) ? 0 : 1; }
int64_t grad_scratch(const Call& call) { return workspace_of(back_floats(call.in[2].rows), sequence_tiles(call.out[1].rows)); }
void grad_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const RecurrentGrad*>(call.op);
  const View *in = call.in, none{};
  const int64_t floats = back_floats(in[2].rows);
  const bool shared = floats * 4 <= kMostShared;
  const Back back{Mat<const float>(in[0]), Mat<const float>(in[2]), Mat<const float>(in[3]), Mat<const float>(in[4]), Mat<const float>(in[5]), Mat<float>(in[1]), Mat<float>(call.out[0]), Mat<float>(call.out[1]),
                  Mat<float>(op.cell == Cell::lstm ? call.out[2] : none), op.cell, static_cast<int>(op.steps), static_cast<int>(op.sequences),
                  shared ? nullptr : static_cast<float*>(gpu_context(scratch).workspace), floats};
  launch({dim3(static_cast<unsigned>(sequence_tiles(op.sequences))), dim3(kThreads), shared ? static_cast<size_t>(floats * 4) : 0, gpu_context(scratch).stream}, "recurrent_grad", recurrent_grad_kernel, back);
}

void input_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const RecurrentInputGrad*>(call.op);
  launch({dim3(static_cast<unsigned>(sequence_tiles(op.sequences)), static_cast<unsigned>(op.steps)), dim3(kThreads), 0, gpu_context(scratch).stream}, "recurrent_input_grad", recurrent_input_grad_kernel,
         Mat<float>(call.in[0]), Mat<const float>(call.in[1]), Mat<float>(call.out[0]), static_cast<int>(op.steps), static_cast<int>(slopes_of(op.cell)),
         static_cast<int>(call.in[1].cols / gates_of(op.cell)));
}

void wgrad_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const RecurrentWgrad*>(call.op);
  const int64_t tiles = call.out[0].rows, hidden = call.in[2].rows / (tiles * op.steps * saved_of(op.cell));
  const Weights weights{Mat<const float>(call.in[0]), Mat<const float>(call.in[1]), Mat<float>(call.in[2]), Mat<float>(call.in[3]), Mat<float>(call.out[0]), op.cell, static_cast<int>(op.steps),
                        static_cast<int>(call.in[0].cols / op.steps), static_cast<int>(hidden)};
  launch({dim3(grid_of(call.out[0].cols, kThreads), static_cast<unsigned>(tiles)), dim3(kThreads), 0, gpu_context(scratch).stream}, "recurrent_wgrad", recurrent_wgrad_kernel, weights);
}

}  // namespace

void add_recurrent(KernelTable& t) {
  t.recurrent = {one_if_any, recurrent_run, recurrent_scratch};
  t.recurrent_grad = {grad_tiles, grad_run, grad_scratch};
  t.recurrent_input_grad = {one_if_any, input_run, nullptr};
  t.recurrent_wgrad = {one_if_any, wgrad_run, nullptr};
}

}  // namespace tessera::gpu
