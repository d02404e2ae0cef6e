// Structural causal models: causes, layers of random functions, and the observed units.
#pragma once
#include <memory>
#include <vector>

#include "kernels/ops.h"
#include "models/prior/settings.h"

namespace tessera::prior {

// Columns of equal length, each contiguous; the distance between two is a multiple of a register.
class Columns {
 public:
  void resize(int64_t columns, int64_t rows) {
    count_ = columns, rows_ = rows, stride_ = (rows + 15) / 16 * 16;
    data_.resize(static_cast<size_t>(count_ * stride_));
  }
  int64_t count() const { return count_; }
  int64_t rows() const { return rows_; }
  int64_t stride() const { return stride_; }
  float* operator[](int64_t column) { return data_.data() + column * stride_; }
  const float* operator[](int64_t column) const { return data_.data() + column * stride_; }

 private:
  int64_t count_ = 0, rows_ = 0, stride_ = 0;
  std::vector<float> data_;
};

// The scratch memory of one thread, reused for every table.
struct Work {
  Columns x;             // the features of the table
  std::vector<float> y;  // its target, a number a row
  Columns layer, next, noise;
  std::vector<float> weights, kept;
  std::vector<char> scratch;
  std::unique_ptr<RandomCurve> curve = std::make_unique<RandomCurve>();
  std::vector<uint8_t> bins, node;
  std::vector<uint64_t> order;
  std::vector<float> residual, sums, rows;
};

// What is random about a perceptron but its weights, noise and causes.
struct DrawnLayer {
  int64_t inputs = 0, outputs = 0;
  double a = 0, b = 0;  // of the activation before it, f(a·(standardized h + b))
  Activation f = Activation::identity;
  std::unique_ptr<CurveTerms> terms;         // of Activation::random
  int64_t blocks = 0, down = 0, across = 0;  // weights in blocks along the diagonal, or
  double keep = 1;                           // each with this probability
  float scale = 0;
  std::vector<float> bias, deviation;  // deviation: of the noise
};
struct DrawnPerceptron {
  std::vector<int64_t> units;  // causal: those the table shows, over all layers but the first; the target comes first
  std::vector<DrawnLayer> layers;
};
DrawnPerceptron draw_structure(const Settings& settings, const TableKey& key);

// [columns][n] numbers of one purpose, columns counted from `first`: philox(block of four rows; purpose, column, table,
// attempt).
void draw_matrix(Random::Kind kind, int purpose, const TableKey& key, double keep, int64_t first, int64_t columns,
                 int64_t n, int64_t stride, float* out);

// to = matrix [to.count()][from.count()] · from
void multiply(const float* matrix, const Columns& from, Columns& to, Work& work);

// Writes settings.causes columns to work.layer.
void draw_causes(const Settings& settings, const TableKey& key, Work& work);
// Writes work.x and work.y. Numbers may be infinite or NaN: such a table is rejected.
void draw_perceptron(const Settings& settings, const TableKey& key, Work& work);
void draw_trees(const Settings& settings, const TableKey& key, Work& work);

}  // namespace tessera::prior
