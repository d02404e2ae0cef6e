// fused: a launch of many ops (kernels/fused.h). The table of chains and steps is a kernel parameter, so that a recorded launch needs nothing uploaded.
//   bytes and FLOPs are those of its ops; results that stay within a block are read back from L1 and L2
//   the first and the last launch of a step also count it (fused.h)
//   one block barrier a step · every op by the device functions of its own kernel, so the bits of the composition; no atomics
#include "kernels/gpu_fused.cuh"

namespace tessera::gpu {
namespace {

__global__ void __launch_bounds__(kThreads) fused_kernel(const __grid_constant__ Constants<FusedTable> table) {
  const FusedTable& t = *table;
  TESS_SHARED(shared, float[kSharedFloats]);
  int c = 0;
  while (static_cast<int>(blockIdx.x) >= t.chain[c].end) ++c;
  const FusedTable::Chain& chain = t.chain[c];
  const int block = static_cast<int>(blockIdx.x) - (c == 0 ? 0 : t.chain[c - 1].end);
  const StepState state{t.state->seed, t.last ? t.state->running : t.state->step, -1};
  for (int i = chain.first_step; i < chain.first_step + chain.steps; ++i) {
    const FusedTable::Step& step = t.step[i];
    const unsigned char* data = t.pool + step.offset;
    if (chain.cut == FusedChain::rows) {
      const int first = block * chain.per_block, count = min(chain.per_block, chain.units - first), run = count * step.run;
      do_rows(step, data, {first * step.run, run * step.repeats, run, step.apart}, state, t.workspace, shared);
    } else if (chain.cut == FusedChain::cells) {
      const int first = block / chain.parts * chain.per_block;
      do_cells(step, data, first, min(chain.per_block, chain.units - first), block % chain.parts, chain, state, t.workspace, shared);
    } else if (chain.cut == FusedChain::cols) {
      do_cols(step, data, block * kAcross, chain.units, state, t.state, shared);
    } else if (chain.cut == FusedChain::flat) {
      do_flat(step, data, block, state, shared);
    } else {
      do_tiles(step, data, block, chain, state, t.workspace, shared);
    }
    __syncthreads();
  }
  // By the block that may have reported in this launch, so that it knows of it.
  if (block == 0 && c == t.counting && threadIdx.x == 0) {
    if (t.first) t.state->running = state.step;
    if (t.last) t.state->step = after_step(*t.state, state.step);
  }
}

// ---- the host's side: steps put into the table --------------------------------------------------------------------------------------
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
    c = {chain.cut, 0, static_cast<int>(chain.units), 1, t_.steps, chain.count, static_cast<int>(chain.parts), static_cast<int>(chain.width), false};
    cut_ = chain.cut;
    int64_t blocks = 0;
    switch (chain.cut) {
      case FusedChain::rows: {
        int64_t rows = 1;  // of a unit's largest value
        for (const FusedStep& s : chain) rows = s.run > rows ? s.run : rows;  // mutant: of equal ones either
        c.per_block = static_cast<int>(rows >= 16 ? 1 : 16 / rows);           // mutant: 16 / 16 is 1
        while (c.per_block > 1 && blocks_for(chain.units, c.per_block) < 64) c.per_block = (c.per_block + 1) / 2;  // mutant 2, 3: any number gives the same bits
        blocks = blocks_for(chain.units, c.per_block);
        break;
      }
      case FusedChain::cols: blocks = blocks_for(chain.units, kAcross); break;
      case FusedChain::flat: blocks = blocks_for(chain.units, kThreads * kChunk); break;
      case FusedChain::tiles: {
        const View& out = chain.steps[0].call.out[0];
        c.parts = static_cast<int>(out.rows);
        c.width = static_cast<int>(out.cols);
        c.by_rows = chain.steps[0].kind == OpKind::sparse_wgrad;
        blocks = tile_blocks(chain.steps[0]);
        break;
      }
      case FusedChain::cells:
        c.per_block = 16;
        while (c.per_block > 4 && blocks_for(chain.units, c.per_block) * chain.parts < 64) c.per_block /= 2;  // mutant: any number gives the same bits
        blocks = blocks_for(chain.units, c.per_block) * chain.parts;
        break;
    }
    c.end = (t_.chains == 0 ? 0 : t_.chain[t_.chains - 1].end) + static_cast<int>(blocks);
    ++t_.chains;
    for (const FusedStep& s : chain)
      if (fits_) add(s);
  }

 private:
  static int64_t tile_blocks(const FusedStep& s) {
    const View& out = s.call.out[0];
    if (s.kind == OpKind::sparse_wgrad) return blocks_for(out.rows * blocks_for(out.cols, 32 * kChunk), kBlockWarps);
    const auto& op = *static_cast<const Matmul*>(s.call.op);
    return blocks_for(out.rows, 64) * blocks_for(out.cols, 64) * (s.part == FusedStep::slices ? problem(s.call, op, 0, op.pairs).slices : 1);
  }

  void add(const FusedStep& s) {
    if (t_.steps == kMaxSteps) {
      fits_ = false;
      return;
    }
    const int64_t rows = s.call.out[s.kind == OpKind::recurrent_grad ? 1 : 0].rows;  // its first output holds sequences as lanes
    t_.step[t_.steps++] = {s.kind, s.part, t_.used, static_cast<int>(s.run), static_cast<int>(s.apart), s.apart > 0 ? static_cast<int>(rows / s.apart) : 1};
    t_.state = s.call.state;
    if (s.kind == OpKind::report) t_.counting = t_.chains - 1;
    if (cut_ == FusedChain::cells && s.run == 1 && s.kind != OpKind::matmul) fits_ = false;  // of packed rows there are only products
    put(s);
  }

  template <class P>
  void pack(const P& p) {
    const int bytes = static_cast<int>((sizeof(P) + 15) / 16 * 16);
    if (t_.used + bytes > kPoolBytes) {  // mutant: a table just full would do as well in two
      fits_ = false;
      return;
    }
    memcpy(t_.pool + t_.used, &p, sizeof(P));
    t_.used += bytes;
  }

  template <class Op>
  void pack_map(const Call& call, int inputs) {
    MapStep<Op> m{*static_cast<const Op*>(call.op), {}, target(call.out[0])};
    for (int i = 0; i < inputs; ++i) m.x[i] = operand(call.in[i], call.out[0]);
    pack(m);
  }

  void put(const FusedStep& s) {
    const Call& call = s.call;
    const View *in = call.in, *out = call.out;
    switch (s.kind) {
      case OpKind::unary: return pack_map<Unary>(call, 1);
      case OpKind::binary: return pack_map<Binary>(call, 2);
      case OpKind::lerp_rows: return pack_map<LerpRows>(call, 3);
      case OpKind::broadcast: return pack_map<Broadcast>(call, 1);
      case OpKind::fill: return pack(FillStep{static_cast<float>(static_cast<const Fill*>(call.op)->value), target(out[0])});
      case OpKind::random: {
        const auto& op = *static_cast<const Random*>(call.op);
        return pack(RandomStep{{op.kind, op.purpose, static_cast<float>(op.keep)}, Mat<const int32_t>(in[0]), target(out[0])});
      }
      case OpKind::draw_conditions:
        return pack(DrawStep{condition_tables(in), Mat<int32_t>(out[0]), Mat<int32_t>(out[1]), *static_cast<const DrawConditions*>(call.op)});
      case OpKind::gather_rows:
        return pack(GatherStep{*static_cast<const GatherRows*>(call.op)->spans, Mat<const int32_t>(in[0]), Mat<const float>(in[1]), Mat<const int32_t>(in[2]), Mat<int32_t>(out[0]),
                               Mat<float>(out[1])});
      case OpKind::sparse_dense: return pack(DenseStep{Entries(call, *static_cast<const SparseDense*>(call.op)), Mat<float>(out[0])});
      case OpKind::sparse_pick: return pack(pick(call));
      case OpKind::sparse_matmul: {
        const auto& op = *static_cast<const SparseMatmul*>(call.op);
        return pack(SparseStep{Entries(call, op), whole(in[2]), op.addend ? whole(in[3]) : Operand{}, target(out[0])});
      }
      case OpKind::sparse_wgrad: {
        const auto& op = *static_cast<const SparseWgrad*>(call.op);
        return pack(SparseStep{Entries(call, op), whole(in[2]), op.addend ? whole(in[3]) : Operand{}, target(out[0])});
      }
      case OpKind::matmul: {
        const auto& op = *static_cast<const Matmul*>(call.op);
        fits_ = fits_ && op.pairs <= kMaxPairs;
        return pack(ProductStep{problem(call, op, 0, op.pairs < kMaxPairs ? op.pairs : kMaxPairs), s.workspace, op.trans_a, op.trans_b});  // mutant: equal ones are one
      }
      case OpKind::sum_cols: return pack(DotStep{Mat<const float>(in[0]), Mat<const float>(in[0]), Mat<float>(out[0]), static_cast<const SumCols*>(call.op)->scale});
      case OpKind::row_dot: return pack(DotStep{Mat<const float>(in[0]), Mat<const float>(in[1]), Mat<float>(out[0]), 1});
      case OpKind::sum_rows: return pack(SumStep{Mat<const float>(in[0]), static_cast<float*>(out[0].data), static_cast<const SumRows*>(call.op)->scale});
      case OpKind::reshape:
      case OpKind::concat_rows:
      case OpKind::concat_cols: {
        CopyStep c{Mat<uint32_t>(out[0]), call.inputs, {}};
        fits_ = fits_ && call.inputs <= kCopyParts;
        for (int k = 0; k < call.inputs && fits_; ++k)
          c.part[k] = {static_cast<const uint32_t*>(in[k].data), in[k].ld, static_cast<int>(in[k].rows), static_cast<int>(in[k].cols)};
        return pack(c);
      }
      case OpKind::span_activation: {
        const auto& op = *static_cast<const SpanActivation*>(call.op);
        return pack(SpanStep{*op.spans, Mat<const float>(in[0]), Mat<const float>(in[1]), Mat<const int32_t>(View{}), Mat<float>(out[0]), static_cast<float>(1 / op.tau),
                             static_cast<float>(op.u_low), static_cast<float>(op.u_high)});
      }
      case OpKind::span_activation_grad: {
        const auto& op = *static_cast<const SpanActivationGrad*>(call.op);
        return pack(SpanStep{*op.spans, Mat<const float>(in[0]), Mat<const float>(in[1]), Mat<const int32_t>(View{}), Mat<float>(out[0]), static_cast<float>(1 / op.tau), 0, 0});
      }
      case OpKind::span_cross_entropy:
        return pack(SpanStep{*static_cast<const SpanCrossEntropy*>(call.op)->spans, Mat<const float>(in[0]), Mat<const float>(View{}), Mat<const int32_t>(in[1]), Mat<float>(out[0]), 0, 0, 0});
      case OpKind::span_cross_entropy_grad:
        return pack(SpanStep{*static_cast<const SpanCrossEntropyGrad*>(call.op)->spans, Mat<const float>(in[0]), Mat<const float>(in[2]), Mat<const int32_t>(in[1]), Mat<float>(out[0]), 0, 0, 0});
      case OpKind::span_reconstruction:
        return pack(ReconstructionStep{*static_cast<const SpanReconstruction*>(call.op)->spans, reconstruction(call), Mat<const float>(View{}), Mat<float>(out[0]), Mat<float>(View{})});
      case OpKind::span_reconstruction_grad:
        return pack(ReconstructionStep{*static_cast<const SpanReconstructionGrad*>(call.op)->spans, reconstruction(call), Mat<const float>(in[4]), Mat<float>(out[0]), Mat<float>(out[1])});
      case OpKind::mixture_draw: return pack(mixture(call));
      case OpKind::gather_sequences: return pack(sequence_rows(call));
      case OpKind::recurrent: {
        fits_ = fits_ && layer_floats(call.in[4].rows, call.in[5].rows) <= kSharedFloats;  // mutant: a sequence that just fits
        return pack(recurrent_layer(call));
      }
      case OpKind::recurrent_grad: {
        fits_ = fits_ && back_floats(call.in[2].rows) <= kSharedFloats;  // mutant: a sequence that just fits
        return pack(recurrent_back(call));
      }
      case OpKind::recurrent_input_grad: return pack(recurrent_input(call));
      case OpKind::recurrent_wgrad: return pack(recurrent_weights(call));
      case OpKind::clamp_range: {
        const bool flat = cut_ == FusedChain::flat;
        return pack(ClampStep{clamped_range(call), flat ? 1 : static_cast<int>(out[0].rows), static_cast<int>(flat ? out[0].rows * out[0].cols : out[0].cols)});
      }
      case OpKind::batch_norm: {
        const auto& op = *static_cast<const BatchNorm*>(call.op);
        return pack(NormStep{norm_in(call, op.eps, op.relu, op.groups), norm_out(call), static_cast<int>(op.groups)});
      }
      case OpKind::batch_norm_grad: {
        const auto& op = *static_cast<const BatchNormGrad*>(call.op);
        return pack(NormGradStep{norm_in(call, op.eps, op.relu, op.groups), norm_grad(call)});
      }
      case OpKind::running_stats: return pack(running(call));
      case OpKind::adam: {
        const bool flat = cut_ == FusedChain::flat;
        const AdamStep a{flat ? flat_adam_state(call) : adam_state(call), *static_cast<const Adam*>(call.op)};
        fits_ = fits_ && !(flat && a.state.param.rows > 1);
        return pack(a);
      }
      case OpKind::average: {
        const bool flat = cut_ == FusedChain::flat;
        fits_ = fits_ && !(flat && !(contiguous(out[0]) && contiguous(in[1])));
        const View to = flat ? as_row(out[0]) : out[0], param = flat ? as_row(in[1]) : in[1];
        return pack(AverageStep{static_cast<const Average*>(call.op)->decay, whole(to), whole(param), target(to)});
      }
      case OpKind::report: {
        ReportStep r{Mat<float>(out[0]), {}, call.inputs - 1, static_cast<const Report*>(call.op)->slots};
        fits_ = fits_ && r.count <= kScalars;
        for (int k = 0; k < r.count && fits_; ++k) r.scalars.x[k] = static_cast<const float*>(in[k + 1].data);
        return pack(r);
      }
      default: fits_ = false;
    }
  }

  FusedTable& t_;
  FusedChain::Cut cut_ = FusedChain::rows;  // of the chain that is being put in
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

// 31 KiB: not on the stack, which may be small.
FusedTable& room() {
  static thread_local FusedTable table;
  return table;
}

bool fits(const FusedLaunchOp& op) { return build(op, room()); }

int64_t slices_bytes(const Call& call) {
  const auto& op = *static_cast<const Matmul*>(call.op);
  return int64_t{4} * problem(call, op, 0, op.pairs < kMaxPairs ? op.pairs : kMaxPairs).slices * call.out[0].rows * call.out[0].cols;  // mutant: equal ones are one
}

void run(const Call& call, int64_t, void* scratch) {
  FusedTable& table = room();
  const auto& op = *static_cast<const FusedLaunchOp*>(call.op);
  build(op, table);
  table.workspace = static_cast<char*>(gpu_context(scratch).workspace);
  if (op.state != nullptr) table.state = op.state;
  if (table.chains > 0) launch({dim3(static_cast<unsigned>(table.chain[table.chains - 1].end)), dim3(kThreads), 0, gpu_context(scratch).stream}, "fused", fused_kernel, Constants<FusedTable>{table});
}

}  // namespace
}  // namespace tessera::gpu

namespace tessera {
const FusedKernels& fused_kernels_cuda() {
  static const FusedKernels kernels{{gpu::one, gpu::run, nullptr}, gpu::fits, gpu::slices_bytes};
  return kernels;
}
}  // namespace tessera
