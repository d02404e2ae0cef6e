// A row of codes and alphas as used by calibration: decoded and mapped numbers, cells, and the inputs of the density
// ratio (models/sampling/calibration/profile.h defines and learns them). One value per thread, the same on the host and
// on every device: compiled without fused multiply-adds, so that a number has the same cell before and after decoding.
#pragma once
#include <math.h>

#include "kernels/math/mode_decode.h"
#include "kernels/math/philox.h"
#include "kernels/math/quantiles.h"

namespace tessera {

struct ProfileTable {
  static constexpr int kBins = 32;  // of a column's numbers, except frequent values
  static constexpr int kWaves = 4;  // sin(π·2^k·u), k < kWaves: lets a linear layer resolve the range finely
  static constexpr int kInputs = 1 + kWaves;

  struct Segment {  // of `numbers`, or of `cells`
    int first, count;
  };
  struct Distribution {  // the points, followed by as many shares
    Segment points;
    bool exact;
  };
  struct Column {
    int column;  // in the table: keys the draws of the map
    bool numeric;
    int code, alpha;  // its positions in a row's codes and alphas
    int entry;        // the first of its entries in the output row: kInputs inputs of a number, then the cell
    int start;        // the dense column of the first of them
    Segment cells;    // texts: the cell of every code
    Segment modes;    // means, followed by as many standard deviations
    Segment values;   // of the codes after the modes; NaN: missing
    NumberRange range;
    Distribution model, free;  // source and target of the map; model without points: numbers are not mapped
    Segment fixed;             // not mapped
    double unit;               // rounding of mapped numbers
    Distribution real;
    Segment heaped;  // numbers with their own cell
  };
  const Column* columns;
  const double* numbers;
  const int* cells;
  int column_count, number_count, cell_count;
  int entries;  // of an output row

  TESSERA_HD QuantileView view(const Distribution& d) const {
    return {numbers + d.points.first, numbers + d.points.first + d.points.count, d.points.count, d.exact};
  }
};

// Calibration's map of the numbers: x of rank p among the model's becomes the table's number of rank p. Inside a
// repeated value ranks are drawn at random, keyed by column and row.
struct MapKey {
  uint32_t column, row_low, row_high, attempt;
  uint64_t seed;
};
TESSERA_HD static inline double mapped(const QuantileView& model, const QuantileView& free, double x, double unit,
                                       const MapKey& key) {
  const Rank r = rank_of(model, x);
  double at = r.below;
  if (r.upto > r.below) {
    const Philox w = random_words(key.seed, Purpose::map, key.column,
                                  key.row_low | static_cast<uint64_t>(key.row_high) << 32, key.attempt);
    at += (r.upto - r.below) * open_uniform(w.word[0], w.word[1]);
  }
  return on_grid(value_at(free, at), unit);
}

// The rank of x among the table's numbers; 0 if x is missing, or all of them are.
TESSERA_HD static inline double number_rank(const QuantileView& real, double x) {
  return x == x && real.count > 0 ? rank_of(real, x).middle() : 0;
}

// The cell of a number of rank u: one for each repeated value, then kBins of rank, then missing.
TESSERA_HD static inline int number_cell(const double* heaped, int heaps, double x, double u) {
  if (x != x) return heaps + ProfileTable::kBins;
  const int at = not_below(heaped, heaps, x);
  if (at < heaps && heaped[at] == x) return at;
  const double bin = u * ProfileTable::kBins;
  return heaps + (bin < ProfileTable::kBins - 1 ? (bin > 0 ? static_cast<int>(bin) : 0) : ProfileTable::kBins - 1);
}

// Rank and waves; zeros for a missing value, whose rank is 0.
template <class T>
TESSERA_HD static inline void number_inputs(double u, T* out) {
  out[0] = static_cast<T>(u);
  // sin 2a = 2 sin a cos a: one sine and one cosine are enough for all waves.
  double s = sin(3.14159265358979323846 * u), c = cos(3.14159265358979323846 * u);
  for (int k = 0; k < ProfileTable::kWaves; ++k) {
    out[1 + k] = static_cast<T>(s);
    const double twice = 2 * s * c;
    c = c * c - s * s;
    s = twice;
  }
}

// One column of one row: its entries of the sparse row `index`, `value`. id: the row's identity, as in Random.
template <class T>
TESSERA_HD static inline void profile_entries(const ProfileTable& t, const ProfileTable::Column& c,
                                              const int32_t* codes, const T* alphas, const int32_t* id, uint64_t seed,
                                              int32_t* index, T* value) {
  const int code = codes[c.code];
  int cell = 0;
  int32_t* at = index + c.entry;
  T* v = value + c.entry;
  int dense = c.start;
  if (c.numeric) {
    const double* modes = t.numbers + c.modes.first;
    double x = code < c.modes.count ? number_of_mode(static_cast<double>(alphas[c.alpha]), modes[code],
                                                     modes[c.modes.count + code], c.range)
                                    : t.numbers[c.values.first + code - c.modes.count];
    if (c.model.points.count > 0 && x == x && !holds(t.numbers + c.fixed.first, c.fixed.count, x))
      x = mapped(t.view(c.model), t.view(c.free), x, c.unit,
                 {static_cast<uint32_t>(c.column), static_cast<uint32_t>(id[0]), static_cast<uint32_t>(id[1]),
                  static_cast<uint32_t>(id[2]), seed});
    const double u = number_rank(t.view(c.real), x);
    number_inputs(u, v);
    for (int k = 0; k < ProfileTable::kInputs; ++k) *at++ = dense++;
    v += ProfileTable::kInputs;
    cell = number_cell(t.numbers + c.heaped.first, c.heaped.count, x, u);
  } else {
    cell = t.cells[c.cells.first + code];
  }
  *at = dense + cell;
  *v = T(1);
}

}  // namespace tessera
