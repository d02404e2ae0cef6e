#include "models/audit/likelihood.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "models/audit/attacks.h"
#include "models/audit/draws.h"
#include "models/audit/model_file.h"
#include "models/likelihood/cell_likelihoods.h"
#include "models/likelihood/learned_rows.h"
#include "models/method/method.h"
#include "models/model/model_state.h"

namespace tessera::audit {
namespace {

constexpr int kLatents = 1000;

// A TVAE's decoder and prior, from the tensors of its file.
class Decoder {
 public:
  explicit Decoder(const ModelFile& file) : file_(file) {
    while (file.find(layer(layers_) + "weight") != nullptr) ++layers_;
    sigma_ = file.find("tensor decoder.sigma");
    latent_ = file.find(layer(0) + "weight")->size() / file.find(layer(0) + "bias")->size();
  }

  std::vector<double> logits(const std::vector<double>& z) const {
    std::vector<double> x = z;
    for (int l = 0; l < layers_; ++l) {
      x = linear(layer(l), x);
      for (double& u : x) u = std::max(u, 0.0);
    }
    return linear("tensor decoder.output.", x);
  }
  double sigma(size_t alpha) const { return (*sigma_)[alpha]; }

  // The k-th point of the prior.
  std::vector<double> draw(uint64_t seed, uint64_t k) const {
    uint32_t block = 0;
    const auto uniform = [&] {
      const Philox p = quality::random_words(seed, kDrawnLatents, block++, k);
      return open_uniform(p.word[0], p.word[1]);
    };
    std::vector<double> z(latent_);
    for (double& x : z) {
      const double radius = std::sqrt(-2 * std::log(uniform()));
      x = radius * std::cos(2 * std::numbers::pi * uniform());
    }
    const std::vector<double>*share = file_.find("tensor prior.share"), *mean = file_.find("tensor prior.mean"),
          *factor = file_.find("tensor prior.factor");
    if (share == nullptr) return z;
    double at = uniform() * std::accumulate(share->begin(), share->end(), 0.0);
    size_t part = 0;
    while (part + 1 < share->size() && at >= (*share)[part]) at -= (*share)[part++];
    const size_t d = mean->size() / share->size();
    std::vector<double> drawn(mean->begin() + static_cast<ptrdiff_t>(part * d),
                              mean->begin() + static_cast<ptrdiff_t>((part + 1) * d));
    for (size_t i = 0; i < d; ++i)
      for (size_t j = 0; j <= i; ++j) drawn[i] += (*factor)[(part * d + i) * d + j] * z[j];
    std::copy(drawn.begin(), drawn.end(), z.begin());
    return z;
  }

 private:
  static std::string layer(int l) { return "tensor decoder.hidden." + std::to_string(l) + "."; }
  std::vector<double> linear(const std::string& name, const std::vector<double>& x) const {
    const std::vector<double>& weight = *file_.find(name + "weight");
    std::vector<double> y = *file_.find(name + "bias");
    for (size_t o = 0; o < y.size(); ++o)
      y[o] = std::inner_product(x.begin(), x.end(), weight.begin() + static_cast<ptrdiff_t>(o * x.size()), y[o]);
    return y;
  }

  const ModelFile& file_;
  int layers_ = 0;
  size_t latent_ = 0;
  const std::vector<double>* sigma_ = nullptr;
};

// ln p(code) of every unit of a softmax span; the mean of every alpha.
std::vector<double> laws(const RowLayout& layout, std::vector<double> logits) {
  for (const Span& s : layout.spans) {
    const auto first = logits.begin() + s.start, last = first + s.width;
    if (s.part == Span::Part::alpha) {
      *first = std::tanh(*first);
      continue;
    }
    const double top = *std::max_element(first, last);
    const double log_sum = top + std::log(std::accumulate(
                                     first, last, 0.0, [&](double sum, double u) { return sum + std::exp(u - top); }));
    std::for_each(first, last, [&](double& u) { u -= log_sum; });
  }
  return logits;
}

double log_probability(const RowLayout& layout, const std::vector<double>& law, const EncodedTable& rows, int64_t row,
                       const Decoder& decoder) {
  size_t alpha = static_cast<size_t>(row * layout.alphas()), code = static_cast<size_t>(row * layout.codes()), a = 0;
  double sum = 0;
  for (const Span& s : layout.spans) {
    if (s.part == Span::Part::alpha) {
      const double sigma = decoder.sigma(a++),
                   off = (static_cast<double>(rows.alphas[alpha++]) - law[static_cast<size_t>(s.start)]) / sigma;
      sum -= 0.5 * off * off + std::log(sigma);
    } else {
      sum += law[static_cast<size_t>(s.start + rows.codes[code++])];
    }
  }
  return sum;
}

std::vector<double> by_decoder(const Model& model, const EncodedTable& rows, uint64_t seed, Team& team) {
  const ModelFile file(model.bytes());
  if (file.find("tensor decoder.output.weight") == nullptr) return {};
  const Decoder decoder(file);
  const RowLayout& layout = model.shared_rows()->encoder.layout();
  std::vector<std::vector<double>> law(kLatents);
  team.for_each(kLatents, [&](int64_t k) {
    law[static_cast<size_t>(k)] = laws(layout, decoder.logits(decoder.draw(seed, static_cast<uint64_t>(k))));
  });
  std::vector<double> out(static_cast<size_t>(rows.rows));
  team.for_each(rows.rows, [&](int64_t i) {
    std::vector<double> term(law.size());
    for (size_t k = 0; k < law.size(); ++k) term[k] = log_probability(layout, law[k], rows, i, decoder);
    const double top = *std::max_element(term.begin(), term.end());
    out[static_cast<size_t>(i)] =
        top + std::log(std::accumulate(term.begin(), term.end(), 0.0,
                                       [&](double sum, double t) { return sum + std::exp(t - top); }));
  });
  return out;
}

}  // namespace

Likelihood log_likelihood(const Model& model, const Table& rows, uint64_t seed, Team& team) {
  const RowModel& m = *model.shared_rows();
  Likelihood out;
  if (!m.learned()) return out;
  LearnedRows learned = learned_rows(m, rows, team);
  const EncodedTable encoded = m.encoder.encode(std::move(learned.table), team, {});
  if (m.config.method().name != std::string("made")) {
    out.rows = by_decoder(model, encoded, seed, team);
    return out;
  }
  CellLikelihoods cells(m, team);
  const std::vector<double> each = cells.of(encoded);
  const size_t columns = cells.columns().size();
  const Table schema = m.encoder.schema();
  for (const int column : cells.columns()) out.columns.push_back(schema.columns[static_cast<size_t>(column)].name);
  out.of_column.assign(columns, std::vector<double>(static_cast<size_t>(rows.rows)));
  out.rows.assign(static_cast<size_t>(rows.rows), 0);
  for (size_t i = 0; i < out.rows.size(); ++i)
    for (size_t k = 0; k < columns; ++k) {
      out.of_column[k][i] = each[i * columns + k];
      out.rows[i] += out.of_column[k][i];
    }
  return out;
}

std::vector<double> logits_of_ratio(const Model& model, const Table& rows, Team& team) {
  const RowModel& m = *model.shared_rows();
  if (m.calibration.ratio.weights.empty()) return {};
  std::vector<int64_t> all(static_cast<size_t>(rows.rows));
  std::iota(all.begin(), all.end(), 0);
  const Table picked = m.encoder.pick(learned_rows(m, rows, team).table, all);
  const Profile& p = m.calibration.profile;
  std::vector<int32_t> cells(static_cast<size_t>(rows.rows * p.codes()));
  std::vector<float> inputs(static_cast<size_t>(std::max<int64_t>(rows.rows * p.inputs(), 1)));
  p.encode(picked, cells.data(), inputs.data());
  std::vector<double> out(static_cast<size_t>(rows.rows));
  Ratio::Evaluator(m.calibration.ratio, 1024, Device::processor(), team)
      .run(cells.data(), inputs.data(), rows.rows, out.data());
  return out;
}

std::vector<Attack> by_likelihood(const Subject& s) {
  const Likelihood members = log_likelihood(*s.model, s.members, s.seed, s.workers.team),
                   held_out = log_likelihood(*s.model, s.held_out, s.seed, s.workers.team);
  if (members.rows.empty()) return {};
  Attack a = s.ranking("likelihood", "Does the model file give training rows a higher likelihood than unseen rows?",
                       {members.rows, held_out.rows});
  std::vector<std::pair<double, std::string>> columns;
  for (size_t k = 0; k < members.columns.size(); ++k)
    columns.emplace_back(area_under_roc(members.of_column[k], held_out.of_column[k]).value, members.columns[k]);
  std::stable_sort(columns.begin(), columns.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
  if (!columns.empty()) a.details["columns"] = nlohmann::json::array();
  for (const auto& [area, name] : columns) a.details["columns"].push_back({{"name", name}, {"auc", area}});
  return {std::move(a)};
}

std::vector<Attack> by_classifier(const Subject& s) {
  Scores scores{logits_of_ratio(*s.model, s.members, s.workers.team),
                logits_of_ratio(*s.model, s.held_out, s.workers.team)};
  if (scores.members.empty()) return {};
  return {s.ranking("calibration's classifier",
                    "Does the calibration's classifier score training rows higher than unseen rows?",
                    std::move(scores))};
}

}  // namespace tessera::audit
