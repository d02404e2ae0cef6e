// The arguments of a kernel: views and one call. Plain data, the same for every backend.
#pragma once
#include <cstdint>

namespace tessera {

// The format to which the factors of a product are rounded, to nearest: 10 bits of mantissa (tf32; ties away from 0), 7
// (bf16; ties to even) or 10 and |x| ≤ 65504 (fp16; likewise). fp32: the program's scalar.
enum class Precision : uint8_t { fp32, tf32, bf16, fp16 };

// A row-major matrix [rows, cols]; element (r, c) at data[r·ld + c]. Real views hold the program's scalar type, index
// views int32, narrow ones 16 bits of the format `stored`.
// Tensors between recurrent layers may be lane-major (engine/schedule/cpu_recurrent_tiles.h): column c of sequence b is
// lane b mod kSequenceTile of data[(b div kSequenceTile·cols + c)·kSequenceTile], 0 for padding lanes and after a
// sequence's end.
struct View {
  void* data;
  int64_t rows, cols, ld;
  int64_t item_bytes;  // of one element
  bool lanes = false;
  bool own = false;                    // in the memory of a tile or thread, which the next tile reuses
  Precision stored = Precision::fp32;  // bf16 or fp16: a narrow view
  bool narrow() const { return stored != Precision::fp32; }
};

// Everything that changes from step to step; it is at a fixed (device) address, so a recorded step is never patched.
struct StepState {
  uint64_t seed;
  int64_t step;  // counted from 0; advanced once per step
  int64_t bad;   // −1, or the first step with a loss that is not finite
  // of a fused step: the copy of `step` that its last launch reads, which then advances `step`
  int64_t running = 0;
};

// One op of a program with its addresses. An omitted optional input has data == nullptr.
struct Call {
  const View* in;
  const View* out;
  int inputs, outputs;
  const void* op;  // the op's attributes: one of the structs of ops.h
  StepState* state;
  // For a call on a block of rows (engine/schedule/cpu_row_fusion.h): the views begin at row `first_row` of the whole,
  // and one thread computes all of it.
  bool block = false;
  int64_t first_row = 0;
};

// An op is split into tiles by its shapes only; tiles of one call write disjoint outputs and may run in any order on
// any thread.
struct Kernel {
  int64_t (*tiles)(const Call&);
  void (*run)(const Call&, int64_t tile, void* scratch);
  int64_t (*scratch_bytes)(const Call&);  // per thread; nullptr: none
};

}  // namespace tessera
