// What the methods record alike: the spans of a row, draws of table rows, the end of a step.
#pragma once
#include <memory>

#include "engine/plan/recorder.h"
#include "models/data/encoding/encoder.h"

namespace tessera {

constexpr int64_t kLossSlots = 1024;  // steps whose losses the ring "losses" holds

std::shared_ptr<const Spans> spans_of(const RowLayout& layout);

// Table rows [batch, 1], uniform, with replacement.
Var draw_rows(Recorder& r, int64_t batch, int64_t table_rows);

// The learning rate falls linearly to 0 after the share `from` of the steps; 1: never.
void decay_linearly(AdamOptions& adam, double from, int64_t steps);

// Exponential average of a set's weights after the step: the state "average.<set>".
void record_average(Recorder& r, const ParameterSet& set, double decay, int64_t steps);

}  // namespace tessera
