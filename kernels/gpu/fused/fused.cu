// fused: a launch of many ops (kernels/fused.h). The table of chains and steps is a kernel parameter, so a recorded
// launch needs no upload.
//   bytes and FLOPs are those of its ops; results that stay within a block are read back from L1 and L2
//   the first and the last launch of a step also count it (fused.h)
//   one block barrier per step · every op uses the device functions of its own kernel, so the bits equal those of the
//       unfused ops; no atomics
#include "kernels/gpu/fused/chains.cuh"

namespace tessera::gpu {
namespace {

// Loads the parameters of a chain's steps into the first-level cache, all lines at once; otherwise each step would wait
// for its own. The values are stored, though never read, so that the compiler keeps the loads. noinline: if the
// compiler knew that the source is a kernel parameter, it would read through the constant cache.
constexpr int kTableLine = 128;
__attribute__((noinline)) __device__ void touch(const unsigned char* from, int bytes, int* to) {
  const int line = static_cast<int>(threadIdx.x);
  if (line * kTableLine < bytes) to[line] = *reinterpret_cast<const int*>(from + line * kTableLine);
}

// Two blocks on a multiprocessor: a wavefront's weights would take 255 registers otherwise.
__global__ void __launch_bounds__(kThreads, 2) fused_kernel(const __grid_constant__ Constants<FusedTable> table) {
  const FusedTable& t = *table;
  TESS_SHARED(shared, float[kSharedFloats]);
  // The block's chain, its number in it, and the step: in registers they would be spilled at each call.
  TESS_SHARED(own, int[2]);
  TESS_SHARED(state, StepState);
  TESS_SHARED(touched, int[kPoolBytes / kTableLine]);
  if (threadIdx.x == 0) {
    int c = 0;
    while (static_cast<int>(blockIdx.x) >= t.chain[c].end) ++c;
    own[0] = c;
    own[1] = static_cast<int>(blockIdx.x) - (c == 0 ? 0 : t.chain[c - 1].end);
  }
  if (threadIdx.x == 32) state = {t.state->seed, t.last ? t.state->running : t.state->step, -1};  // meanwhile
  __syncthreads();
  {
    const FusedTable::Chain& chain = t.chain[own[0]];
    const int after = chain.first_step + chain.steps, begin = t.step[chain.first_step].offset;
    touch(t.pool + begin, (after < t.steps ? t.step[after].offset : t.used) - begin, touched);
  }
  for (int i = 0, span = 0; i < t.chain[own[0]].steps; i += span) {
    const FusedTable::Chain& chain = t.chain[own[0]];
    const int block = own[1];
    const FusedTable::Step& step = t.step[chain.first_step + i];
    span = step.span;
    const unsigned char* data = t.pool + step.offset;
    if (chain.cut == FusedChain::rows) {
      const int first = block * chain.per_block, count = min(chain.per_block, chain.units - first),
                run = count * step.run;
      do_rows_or_layers(
          step.kind, data, span,
          {{first * step.run, run * step.repeats, run, step.apart}, step.part, state, t.workspace, shared});
    } else if (chain.cut == FusedChain::cols) {
      do_cols(step.kind, data, {block * kAcross, min((block + 1) * kAcross, chain.units), state, t.state, shared});
    } else if (chain.cut == FusedChain::flat) {
      do_flat(step.kind, data, block, state, shared);
    } else if (step.kind == OpKind::sparse_wgrad) {
      Fused<SparseWgrad>::tiles(*reinterpret_cast<const SparseStep*>(data),
                                {block, chain.tiling, step.part, t.workspace, shared});
    } else {
      do_tiles(step.kind, data, {block, chain.tiling, step.part, t.workspace, shared}, state);
    }
    __syncthreads();
  }
  // Done by the block that may have run `report` in this launch, so that it sees the report.
  if (own[1] == 0 && own[0] == t.counting && threadIdx.x == 0) {
    if (t.first) t.state->running = state.step;
    if (t.last) t.state->step = after_step(*t.state, state.step);
  }
}

// ---- host: packing steps into the table ---------------------------------------------------------
class Builder {
 public:
  explicit Builder(FusedTable& t) : t_(t) {}
  bool fits() const { return fits_; }

  void add(const FusedChain& chain) {
    if (t_.chains == kMaxChains) {
      fits_ = false;
      return;
    }
    FusedTable::Chain& c = t_.chain[t_.chains];
    c = {chain.cut, 0, static_cast<int>(chain.units), 1, t_.steps, chain.count, {}};
    cut_ = chain.cut;
    int64_t blocks = 0;
    switch (chain.cut) {
      case FusedChain::rows: {
        int64_t rows = 1;  // of a unit's largest value
        for (const FusedStep& s : chain) rows = s.run > rows ? s.run : rows;
        c.per_block = static_cast<int>(rows >= 16 ? 1 : 16 / rows);
        const int64_t enough = has_layers(chain) ? kLayerBlocks : 64;
        while (c.per_block > 1 && blocks_for(chain.units, c.per_block) < enough) c.per_block = (c.per_block + 1) / 2;
        blocks = blocks_for(chain.units, c.per_block);
        break;
      }
      case FusedChain::cols: blocks = blocks_for(chain.units, kAcross); break;
      case FusedChain::flat: blocks = blocks_for(chain.units, kThreads * kChunk); break;
      case FusedChain::tiles: {
        const TiledBlocks all = tiling_of(chain.steps[0]);
        c.tiling = all.tiling;
        blocks = all.blocks;
        break;
      }
    }
    c.end = (t_.chains == 0 ? 0 : t_.chain[t_.chains - 1].end) + static_cast<int>(blocks);
    ++t_.chains;
    for (const FusedStep& s : chain)
      if (fits_) add(s, chain.cut == FusedChain::rows ? wave_span(&s, static_cast<int>(chain.end() - &s)) : 1);
  }

 private:
  // Sequences of recurrent layers have blocks of their own, up to two for each multiprocessor.
  static constexpr int64_t kLayerBlocks = 264;
  static bool has_layers(const FusedChain& chain) {
    for (const FusedStep& s : chain)
      if (is_layer(s.kind)) return true;
    return false;
  }

  // ---- by op, from the list ----
  template <class Op, int parts>
  static void tile(const FusedStep& s, TiledBlocks& tiling) {
    if constexpr ((parts & Parts::tiles) != 0) tiling = Fused<Op>::tiling(s);
  }
  static TiledBlocks tiling_of(const FusedStep& s) {
    TiledBlocks tiling{};
    switch (s.kind) {
#define TESSERA_STEP(type, field, parts) \
  case OpKind::field: tile<type, parts>(s, tiling); break;
      TESSERA_OPS(TESSERA_STEP)
#undef TESSERA_STEP
    }
    return tiling;
  }
  // The parts that a chain needs of its steps.
  static int parts_of(FusedChain::Cut cut) {
    if (cut == FusedChain::cols) return Parts::cols;
    if (cut == FusedChain::flat) return Parts::elements;
    if (cut == FusedChain::tiles) return Parts::tiles | Parts::elements;
    return Parts::rows;
  }
  template <class Op, int parts>
  void put(const FusedStep& s, FusedTable::Step& step) {
    if constexpr ((parts & ~Parts::blocks) != 0) {
      if constexpr (requires { Fused<Op>::kRowsOutput; }) step.repeats = repeats(s, Fused<Op>::kRowsOutput);
      if constexpr (requires { Fused<Op>::kCounts; }) t_.counting = t_.chains - 1;
      Packing packing{cut_, s.workspace};
      pack(Fused<Op>::pack(s.call, packing));
      fits_ = fits_ && packing.fits && (parts & parts_of(cut_)) != 0;
    } else {
      fits_ = false;
    }
  }
  void put(const FusedStep& s, FusedTable::Step& step) {
    switch (s.kind) {
#define TESSERA_STEP(type, field, parts) \
  case OpKind::field: return put<type, parts>(s, step);
      TESSERA_OPS(TESSERA_STEP)
#undef TESSERA_STEP
    }
  }

  static int repeats(const FusedStep& s, int output) {
    return s.stride > 0 ? static_cast<int>(s.call.out[output].rows / s.stride) : 1;
  }

  void add(const FusedStep& s, int span) {
    if (t_.steps == kMaxSteps) {
      fits_ = false;
      return;
    }
    FusedTable::Step& step = t_.step[t_.steps++];
    step = {s.kind, s.part, t_.used, static_cast<int>(s.run), static_cast<int>(s.stride), repeats(s, 0), span};
    t_.state = s.call.state;
    put(s, step);
  }

  template <class P>
  void pack(const P& p) {
    const int bytes = static_cast<int>((sizeof(P) + 15) / 16 * 16);
    if (t_.used + bytes > kPoolBytes) {
      fits_ = false;
      return;
    }
    memcpy(t_.pool + t_.used, &p, sizeof(P));
    t_.used += bytes;
  }

  FusedTable& t_;
  FusedChain::Cut cut_ = FusedChain::rows;  // of the chain being packed
  bool fits_ = true;
};

bool build(const FusedLaunchOp& op, FusedTable& table) {
  table.chains = table.steps = table.used = table.counting = 0;
  table.first = op.first;
  table.last = op.last;
  Builder builder(table);
  for (const FusedChain& chain : op)
    if (builder.fits()) builder.add(chain);
  return builder.fits();
}

// 31 KiB: too large for a small stack.
FusedTable& table_buffer() {
  static thread_local FusedTable table;
  return table;
}

bool fits(const FusedLaunchOp& op) { return build(op, table_buffer()); }

void run(const Call& call, int64_t, void* scratch) {
  FusedTable& table = table_buffer();
  const auto& op = *static_cast<const FusedLaunchOp*>(call.op);
  build(op, table);
  table.workspace = static_cast<char*>(gpu_context(scratch).workspace);
  if (op.state != nullptr) table.state = op.state;
  if (table.chains > 0)
    launch({dim3(static_cast<unsigned>(table.chain[table.chains - 1].end)), dim3(kThreads), 0,
            gpu_context(scratch).stream},
           "fused", fused_kernel, Constants<FusedTable>{table});
}

void run_compiled(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const CompiledLaunchOp*>(call.op);
  launch_loaded(
      {dim3(static_cast<unsigned>(op.blocks)), dim3(kThreads), 0, gpu_context(scratch).stream, false, op.cluster},
      "compiled", op.function, op.parameters, op.early);
}

}  // namespace
}  // namespace tessera::gpu

namespace tessera {
const FusedKernels& fused_kernels_cuda() {
  static const FusedKernels kernels{
      {gpu::one, gpu::run, nullptr}, gpu::fits, gpu::slices_bytes, {gpu::one, gpu::run_compiled, nullptr}};
  return kernels;
}
}  // namespace tessera
