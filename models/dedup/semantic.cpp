#include "models/dedup/semantic.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "models/dedup/search.h"
#include "models/model/model.h"
#include "models/quality/aligned.h"
#include "models/tvae/method.h"

namespace tessera::dedup {
namespace {

constexpr uint64_t kSeed = 0;
// Training steps. With more steps on few rows, the latent identifies rows instead of describing them.
constexpr int64_t kMinSteps = 400, kMaxSteps = 3000, kMaxEpochs = 100;
constexpr int64_t kQueries = 128, kReferences = 512;  // of a block of distances
constexpr double kOfProducts = 1e-5;                  // rounding of a squared distance, in single precision

using Block = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Rows of the latent one below the other, with their squared lengths.
struct Points {
  Points(const LatentRows& rows, std::span<const int32_t> some)
      : at(static_cast<int64_t>(some.size()), rows.dimensions()), square(static_cast<int64_t>(some.size())) {
    for (int64_t i = 0; i < at.rows(); ++i)
      at.row(i) = Eigen::Map<const Eigen::RowVectorXf>(rows.at(some[static_cast<size_t>(i)]), rows.dimensions());
    square = at.rowwise().squaredNorm();
  }
  Block at;
  Eigen::VectorXf square;
};

// Squared distances of some rows to all references, block by block: see(query, first reference, their distances).
// Lower by up to kOfProducts of the squared lengths, so that nothing near is lost.
template <class See>
void each_distance(const LatentRows& rows, std::span<const int32_t> queries, std::span<const int32_t> references,
                   See&& see) {
  const Points q(rows, queries);
  Block product;
  Eigen::RowVectorXf squared;
  for (size_t first = 0; first < references.size(); first += kReferences) {
    const Points r(rows, references.subspan(first, std::min<size_t>(kReferences, references.size() - first)));
    product.noalias() = q.at * r.at.transpose();
    for (int64_t i = 0; i < product.rows(); ++i) {
      squared = (r.square.array() + q.square[i]).transpose() * static_cast<float>(1 - kOfProducts) -
                2 * product.row(i).array();
      see(static_cast<size_t>(i), first, squared);
    }
  }
}

}  // namespace

LatentRows::LatentRows(const ComparedRows& cells, const Table& own, const Table* other, const quality::Workers& workers)
    : cells_(cells) {
  own_ = cells.own(), count_ = cells.count();
  FitOptions options;
  options.method = "tvae";
  apply_preset(options);
  auto& tvae = options.as<TvaeConfig>();
  const int64_t epoch = std::max<int64_t>(count_ / tvae.batch, 1);
  const int64_t steps = std::clamp(kMaxEpochs * epoch, kMinSteps, kMaxSteps);
  tvae.epochs = static_cast<int>(std::max<int64_t>(steps / epoch, 1));
  options.encoder.seed = kSeed;
  held_ =
      workers.team.share(int64_t{count_} * tvae.embedding_dim * static_cast<int64_t>(sizeof(float)), "latents of rows");

  Monitor learning = workers.monitor;
  if (workers.monitor.on_progress)
    learning.on_progress = [&](const Progress& p) {
      Progress named = p;
      named.phase = workers.phase, named.note = "learns what rows are like", named.finished = false;
      workers.monitor.on_progress(named);
    };
  Table rows = other == nullptr ? own : quality::joined(own, *other);
  const Encoder encoder = Encoder::fit(rows, options.encoder, workers.team, learning);
  const EncodedTable encoded = encoder.encode(std::move(rows), workers.team, learning);
  Latents latents = learn_latents(encoder.layout(), encoded, tvae, kSeed, workers.team, learning);
  dimensions_ = latents.dimensions, mean_ = std::move(latents.mean);

  double variance = 0;
  for (int64_t j = 0; j < dimensions_; ++j) {
    double sum = 0, squares = 0;
    for (int32_t i = 0; i < count_; ++i) sum += static_cast<double>(at(i)[j]);
    const double mean = sum / count_;
    for (int64_t i = 0; i < count_; ++i) {
      float& x = mean_[static_cast<size_t>(i * dimensions_ + j)];
      x = static_cast<float>(static_cast<double>(x) - mean);
      squares += static_cast<double>(x) * static_cast<double>(x);
    }
    variance += squares / count_;
  }
  if (variance > 0) scale_ = std::sqrt(2 * variance);
}

double LatentRows::similarity(int32_t a, int32_t b) const {
  if (dimensions_ == 0) return 0;
  double squares = 0;
  for (int64_t j = 0; j < dimensions_; ++j) {
    const double off = static_cast<double>(at(a)[j]) - static_cast<double>(at(b)[j]);
    squares += off * off;
  }
  return std::max(0.0, 1 - std::sqrt(squares) / scale_);
}

double LatentRows::usual_threshold(const RowList& some, const quality::Workers& workers) const {
  constexpr int64_t kAsked = 2000;
  const Sides sides = sides_of(*this, some);
  const auto all = static_cast<int64_t>(sides.own.size()), count = std::min(all, kAsked);
  if (count == 0 || sides.reference.empty() || dimensions_ == 0) return 1;
  std::vector<int32_t> asked;
  for (int64_t i = 0; i < count; ++i) asked.push_back(sides.own[static_cast<size_t>(i * all / count)]);
  std::vector<double> nearest(asked.size(), 0);
  workers.for_each("usual distances", "rows", (count + kQueries - 1) / kQueries, kQueries, [&](int64_t piece) {
    const auto first = static_cast<size_t>(piece * kQueries);
    const std::span<const int32_t> queries =
        std::span(asked).subspan(first, std::min<size_t>(kQueries, asked.size() - first));
    std::vector<std::pair<float, int32_t>> best(queries.size(), {INFINITY, -1});
    each_distance(*this, queries, sides.reference, [&](size_t i, size_t from, const Eigen::RowVectorXf& squared) {
      for (int64_t k = 0; k < squared.size(); ++k) {
        const int32_t row = sides.reference[from + static_cast<size_t>(k)];
        if (row != queries[i]) best[i] = std::min(best[i], {squared[k], row});
      }
    });
    for (size_t i = 0; i < queries.size(); ++i)
      if (best[i].second >= 0) nearest[first + i] = similarity(queries[i], best[i].second);
  });
  std::sort(nearest.begin(), nearest.end(), std::greater<>());
  const double one_in_a_hundred = nearest[nearest.size() / 100];
  return std::min(1.0, std::ceil(one_in_a_hundred * 1000) / 1000);
}

void find_near_latents(const LatentRows& rows, const RowList& some, Groups& groups, const quality::Workers& workers) {
  if (rows.dimensions() == 0) return;
  const Sides sides = sides_of(rows, some);
  const auto count = static_cast<int64_t>(sides.own.size());
  const auto within = static_cast<float>(rows.within() * rows.within() * (1 + kOfProducts));
  workers.for_each("near copies", "rows", (count + kQueries - 1) / kQueries, kQueries, [&](int64_t piece) {
    const auto first = static_cast<size_t>(piece * kQueries);
    const std::span<const int32_t> queries =
        sides.own.subspan(first, std::min<size_t>(kQueries, sides.own.size() - first));
    // within a table, each pair once: with the rows behind the first of these
    const std::span<const int32_t> references =
        rows.own() < rows.count() ? sides.reference : sides.reference.subspan(first);
    each_distance(rows, queries, references, [&](size_t i, size_t from, const Eigen::RowVectorXf& squared) {
      for (int64_t k = 0; k < squared.size(); ++k) {
        if (squared[k] > within) continue;
        const int32_t row = queries[i], other = references[from + static_cast<size_t>(k)];
        if (other > row && !groups.linked(row, other) && rows.near(row, other)) groups.link(row, other);
      }
    });
  });
}

}  // namespace tessera::dedup
