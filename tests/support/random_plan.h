// Random plans from the building blocks of models: layers, normalization, spans of sparse rows, interpolation,
// penalties, concatenations and their pieces, and two optimizer steps. A law that holds for all of them is likely to
// hold for the next model.
#pragma once
#include "support/sandbox.h"

namespace tessera::sandbox {

class RandomPlan : public Sandbox {
 public:
  explicit RandomPlan(uint64_t seed) : Sandbox(seed), dice_(seed * 77 + 1) {
    set_.name = "net";
    for (int k = 0; k < kLayers; ++k) {
      const std::string layer = std::to_string(k);
      width_.push_back(pick(1, 9));
      set_.add("w" + layer, {k == 0 ? kIn : width_[static_cast<size_t>(k - 1)], width_.back()});
      set_.add("b" + layer, {1, width_.back()});
      set_.add("gamma" + layer, {1, width_.back()});
    }
    set_.add("out", {width_.back(), 1});
    own(set_);
    rows_ = pick(1, 4) * 6;
    for (int64_t update = 0; update < 2; ++update) {
      const Var a = input(update, "a"), b = input(update, "b");
      const Var ya = network(a), yb = network(b),
                between = lerp_rows(real("t" + std::to_string(update), {rows_, 1}, 0, 1), a, b), yi = network(between);
      Var loss = mean(square(ya)) - mean(yb * yb) + mean(yi);
      if (pick(0, 2) > 0) {
        const Var slope = pullback(r, {yi}, {fill(r, yi.shape(), 1)}, {between})[0];
        loss = loss + 0.5 * mean(square(sqrt(row_dot(slope, slope)) + -1.0));
      }
      see(1.0 * loss, "loss " + std::to_string(update));
      // An ε of 1: a step in proportion to the gradient, so that rounding stays rounding.
      r.minimize(loss, set_, {Adam::torch, 0.1, 0.5, 0.9, 1.0, 1e-3, 2, update, 0, 0});
    }
    const Var ring = r.state("ring", {4, 1});
    r.advance(ring, r.emit1(Report{4}, {ring, fill(r, {1, 1}, 2)}));
  }

 private:
  static constexpr int kLayers = 3;
  static constexpr int64_t kIn = 8;

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(dice_); }

  // [rows, 8]: dense, or sparse entries beside dense columns, or packed from twice as many rows, sliced and put
  // together again.
  Var input(int64_t update, const std::string& which) {
    const std::string n = which + std::to_string(update);
    switch (pick(0, 4)) {
      case 0: return real(n, {rows_, kIn});
      case 1:
        return concat_cols(
            {sparse_dense(index(n + ".i", {rows_, 2}, -1, 4), real(n + ".v", {rows_, 2}), 5, 2), real(n, {rows_, 3})});
      case 2: return reshape(sparse_dense(index(n + ".i", {2 * rows_, 1}, 0, 3), Var{}, 4, 1), {rows_, kIn});
      case 3:
        return concat_rows({slice_cols(real(n, {rows_ / 2, 11}), 2, kIn), real(n + ".more", {rows_ - rows_ / 2, kIn})});
      default: return tanh(slice_rows(real(n, {rows_ + 3, kIn}), 1, rows_));
    }
  }

  Var network(Var x) {
    for (int k = 0; k < kLayers; ++k) {
      const std::string layer = std::to_string(k);
      const int form = forms_.size() < kLayers ? forms_.emplace_back(pick(0, 4)) : forms_[static_cast<size_t>(k)];
      Var h = matmul(x, r(set_, "w" + layer)) + r(set_, "b" + layer);
      switch (form) {
        case 0: h = leaky_relu(h, 0.2); break;
        case 1: h = tanh(h); break;
        case 2: h = tanh(batch_norm(h, r(set_, "gamma" + layer), r(set_, "b" + layer), 0.1).y); break;
        case 3: h = relu(batch_norm(h, r(set_, "gamma" + layer), r(set_, "b" + layer), 0.1).y) + 0.1; break;
        default: h = slice_cols(concat_cols({softplus(h), h}), pick(0, 1) * h.cols(), h.cols());
      }
      x = h;
    }
    return matmul(x, r(set_, "out"));
  }

  std::mt19937_64 dice_;
  ParameterSet set_;
  std::vector<int64_t> width_;
  std::vector<int> forms_;
  int64_t rows_ = 0;
};

}  // namespace tessera::sandbox
