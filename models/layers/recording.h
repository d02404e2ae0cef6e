// Recordings shared by methods: the spans of a row, draws of table rows, the end of a step.
#pragma once
#include <memory>
#include <vector>

#include "engine/plan/recorder.h"
#include "tables/encoding/encoder.h"

namespace tessera {

constexpr int64_t kLossSlots = 1024;  // steps whose losses the ring "losses" holds

std::shared_ptr<const Spans> spans_of(const RowLayout& layout);

// Table rows [batch, 1], uniform, with replacement.
Var draw_rows(Recorder& r, int64_t batch, int64_t table_rows);

// The encoded table: the bound leaves "codes" and "alphas".
struct TableInput {
  Var codes, alphas;
};
TableInput table_input(Recorder& r, const SpanTable& spans, int64_t table_rows);

// Rows of the table: sparse, with one entry per span; and dense, as the networks read them.
struct SparseRows {
  Var index, value;
};
SparseRows gather_rows(const SpanTable& spans, const TableInput& table, Var row);
Var dense(const SpanTable& spans, const SparseRows& rows);

// Uniforms are clamped away from 0 and 1; both values are exact in float.
constexpr double kLowUniform = 0x1p-24, kHighUniform = 1 - 0x1p-24;

// Cells drawn from the logits of rows, by the uniforms "u": levels, and positions under tanh.
struct DrawnCells {
  Var codes, alphas;
};
DrawnCells draw_cells(Recorder& r, const SpanTable& spans, Var logits);
// ln Σ exp of each span [rows, spans], relative to the span's largest element, so that nothing underflows.
Var log_sum_exp(Var x, const SpanTable* spans);

// The losses [1, 1] of a step into the ring "losses" [kLossSlots, losses].
void report_losses(Recorder& r, std::vector<Var> losses);

// The learning rate falls linearly to 0 after the share `from` of the steps; 1: constant.
void decay_linearly(AdamOptions& adam, double from, int64_t steps);
// Adam in PyTorch's form by the options of a method that has them all, made and tvae.
template <class Config>
AdamOptions adam_of(const Config& c, int64_t steps) {
  AdamOptions adam{Adam::torch, c.learning_rate, c.beta1, c.beta2, c.adam_eps, c.weight_decay, 1, 0, 0, 0};
  decay_linearly(adam, c.decay_from, steps);
  return adam;
}

// Exponential average of a set's weights after the step: the state "average.<set>".
void record_average(Recorder& r, const ParameterSet& set, double decay, int64_t steps);

}  // namespace tessera
