// The initial network. Numeric levels start as smooth functions of their rank (random Fourier features; Rahimi, Recht
// 2007): neighbors have similar embeddings and logits. That was the largest single effect in the experiments for this
// method (docs/methods/made.md).
#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "models/layers/initial_weights.h"
#include "models/made/copula.h"

namespace tessera {
namespace {

constexpr double kLowest = 0.25, kHighest = 8;  // frequencies, in periods over all ranks
constexpr double kRough = 0.1;                  // noise added to the smooth functions
constexpr double kHeadScale = 0.3;
constexpr double kContractScale = 0.5, kContextScale = 0.3, kSkipScale = 0.1;

class Starter {
 public:
  Starter(const Made& m, const std::vector<double>& frequencies, uint64_t seed, const Copula* copula)
      : m_(m),
        frequencies_(frequencies),
        seed_(seed),
        copula_(copula != nullptr && !copula->empty() ? copula : nullptr),
        flat_(static_cast<size_t>(m.network.size), 0.0f) {}

  std::vector<float> run() {
    levels("embedding.weight", 1, true);
    layer(m_.input, 1);
    for (const Made::Layer& l : m_.expand) layer(l, 1);
    for (const Made::Layer& l : m_.contract) layer(l, kContractScale);
    if (copula_ == nullptr) {  // else 0
      layer(m_.context, kContextScale);
      if (m_.skips()) layer(m_.skip, kSkipScale);
    }
    levels("head.weight", kHeadScale / std::sqrt(m_.config.context_dim), false);
    const int64_t bias = m_.network.find("head.bias").offset;
    for (int64_t k = 0; k < m_.drawn_levels(); ++k)
      set(bias + k, std::log(frequencies_[static_cast<size_t>(m_.given_levels + k)]));
    if (copula_ != nullptr) start_at(*copula_);
    silence();
    return std::move(flat_);
  }

 private:
  // The first dimensions of embeddings, contexts and head are the scores; those that are not used stay as they are.
  void start_at(const Copula& c) {
    const size_t n = m_.columns.size(), given = static_cast<size_t>(m_.given);
    const int64_t e = m_.config.embedding_dim, r = m_.config.context_dim, contexts = r * m_.drawn_count();
    const int64_t embedding = m_.network.find("embedding.weight").offset, head = m_.network.find("head.weight").offset,
                  bias = m_.network.find("head.bias").offset, skip = m_.network.find("skip.weight").offset;
    const auto each_score = [&](size_t j, auto&& f) {
      for (size_t a = c.first[j]; a < c.first[j + 1]; ++a) f(static_cast<int64_t>(a - c.first[j]), a);
    };
    for (size_t j = 0; j < n; ++j) {
      const Span& span = m_.columns[j];
      each_score(j, [&](int64_t d, size_t a) {
        const double* precision = &c.precision[a * Copula::kMaxScores];
        const auto own = [&](const std::vector<double>& scores, int64_t level, int64_t of) {
          return scores[static_cast<size_t>(level * Copula::kMaxScores + of)];
        };
        bool used = false;
        for (int k = span.start; k < span.start + span.width; ++k) used |= own(c.score, k, d) != 0;
        for (int k = span.start; used && k < span.start + span.width; ++k) {
          set(embedding + k * e + d, own(c.score, k, d));
          if (j < given) continue;
          const int64_t level = k - m_.given_levels;
          const double score = own(c.bounded, k, d);
          set(head + d * m_.drawn_levels() + level, score);
          double product = -score;
          each_score(j, [&](int64_t other, size_t) { product += precision[other] * own(c.bounded, k, other); });
          flat_[static_cast<size_t>(bias + level)] -= static_cast<float>(score * product / 2);
        }
        for (size_t i = 0; j >= given && i < j; ++i)
          each_score(i, [&](int64_t from, size_t b) {
            double weight = 0;
            each_score(j,
                       [&](int64_t other, size_t of) { weight += precision[other] * c.slopes[of * c.scores() + b]; });
            set(skip + (static_cast<int64_t>(i) * e + from) * contexts + static_cast<int64_t>(j - given) * r + d,
                weight);
          });
      });
    }
  }

  // Columns that others do not see.
  void silence() {
    const int64_t e = m_.config.embedding_dim, embedding = m_.network.find("embedding.weight").offset;
    for (size_t j = 0; j < m_.columns.size(); ++j) {
      if (m_.is_seen(j)) continue;
      const Span& span = m_.columns[j];
      for (int64_t k = span.start * e; k < (span.start + span.width) * e; ++k) set(embedding + k, 0);
    }
  }

  void set(int64_t k, double x) { flat_[static_cast<size_t>(k)] = static_cast<float>(x); }
  // Noise of mean 0 and variance 1, for element k of the set.
  double noise(int64_t k) const {
    return std::numbers::sqrt3 * (2 * static_cast<double>(initial_draw(k, 0, seed_)) - 1);
  }
  double uniform(int64_t k, uint32_t stream) const { return static_cast<double>(initial_draw(k, stream, seed_)); }

  // Elements outside the blocks stay 0.
  void layer(const Made::Layer& l, double scale) {
    const Parameter& p = m_.network.find(l.name + ".weight");
    const BlockTable& t = *l.blocks->table();
    std::vector<int> depth(static_cast<size_t>(t.cols), 0);
    const auto each = [&](auto&& f) {
      for (int b = 0; b < t.count; ++b)
        for (int row = t.items[b].row; row < t.items[b].row + t.items[b].rows; ++row)
          for (int col = t.items[b].col; col < t.items[b].col + t.items[b].cols; ++col)
            f(row, static_cast<size_t>(col));
    };
    each([&](int, size_t col) { ++depth[col]; });
    each([&](int row, size_t col) {
      const int64_t k = p.offset + row * t.cols + static_cast<int64_t>(col);
      set(k, scale / std::sqrt(depth[col]) * noise(k));
    });
  }

  // A vector for every level: smooth in the rank for numeric levels, random for the others. One row per level, or one
  // column.
  void levels(const char* name, double scale, bool by_rows) {
    const Parameter& p = m_.network.find(name);
    const int64_t dimensions = by_rows ? p.shape.cols : p.shape.rows, first = by_rows ? 0 : m_.given_levels;
    for (const Span& span : std::span(m_.columns).subspan(by_rows ? 0 : static_cast<size_t>(m_.given)))
      for (int64_t c = 0; c < dimensions; ++c) {
        const int64_t wave = p.offset + span.start * dimensions + c;  // an index for each column and dimension
        const double period = kLowest * std::pow(kHighest / kLowest, uniform(wave, 1));
        const double phase = 2 * std::numbers::pi * uniform(wave, 2);
        double rank = 0;
        for (int64_t level = 0; level < span.width; ++level) {
          const int64_t row = span.start + level,
                        k = p.offset + (by_rows ? row * dimensions + c : c * m_.drawn_levels() + row - first);
          const double share = frequencies_[static_cast<size_t>(row)];
          const double smooth =
              std::numbers::sqrt2 * std::cos(2 * std::numbers::pi * period * (rank + share / 2) + phase);
          set(k, scale * (level < span.ascending ? smooth + kRough * noise(k) : noise(k)));
          rank += share;
        }
      }
  }

  const Made& m_;
  const std::vector<double>& frequencies_;
  uint64_t seed_;
  const Copula* copula_;  // null: none
  std::vector<float> flat_;
};

}  // namespace

std::vector<float> initial_network(const Made& m, const std::vector<double>& frequencies, uint64_t seed,
                                   const Copula* copula) {
  return Starter(m, frequencies, seed, copula).run();
}

}  // namespace tessera
