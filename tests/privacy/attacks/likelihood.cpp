#include "privacy/attacks/likelihood.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "engine/run/compile.h"
#include "models/made/network.h"
#include "models/method/method.h"
#include "models/model/model_state.h"
#include "privacy/attacks/model_file.h"
#include "privacy/attacks/rows.h"

namespace tessera::privacy {
namespace {

// Values that the model has not seen carry no information about its networks: another value replaces them.
Table with_known_values(const Table& rows, const Model& model) {
  Table out = rows_between(rows, 0, rows.rows);
  const Table schema = model.schema();
  for (size_t j = 0; j < out.columns.size(); ++j) {
    Column& c = out.columns[j];
    if (is_numeric(c.type)) {
      const Encoder::Codes codes = model.shared_rows()->encoder.codes(static_cast<int>(j));
      if (!codes.mean.empty() || codes.values.empty()) continue;
      for (double& x : c.numbers)
        if (x == x)
          x = *std::min_element(codes.values.begin(), codes.values.end(),
                                [&](double a, double b) { return std::abs(a - x) < std::abs(b - x); });
      continue;
    }
    const std::vector<std::string>& known = schema.columns[j].values;
    for (std::string& v : c.values)
      if (!known.empty() && std::find(known.begin(), known.end(), v) == known.end()) v = known.front();
  }
  return out;
}

std::vector<double> logits_of(const Table& rows, const Model& model) {
  const RowModel& s = *model.shared_rows();
  std::vector<int64_t> all(static_cast<size_t>(rows.rows));
  std::iota(all.begin(), all.end(), 0);
  const Table picked = s.encoder.pick(rows, all);
  const Profile& p = s.calibration.profile;
  std::vector<int32_t> cells(static_cast<size_t>(rows.rows * p.codes()));
  std::vector<float> inputs(static_cast<size_t>(std::max<int64_t>(rows.rows * p.inputs(), 1)));
  p.encode(picked, cells.data(), inputs.data());
  std::vector<double> out(static_cast<size_t>(rows.rows));
  Team team(1);
  Ratio::Evaluator(s.calibration.ratio, 1024, Device::processor(), team)
      .run(cells.data(), inputs.data(), rows.rows, out.data());
  return out;
}

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

  std::vector<double> draw(std::mt19937_64& random) const {
    std::normal_distribution<double> normal;
    std::vector<double> z(latent_);
    for (double& x : z) x = normal(random);
    const std::vector<double>*share = file_.find("tensor prior.share"), *mean = file_.find("tensor prior.mean"),
          *factor = file_.find("tensor prior.factor");
    if (share == nullptr) return z;
    const size_t k = std::discrete_distribution<size_t>(share->begin(), share->end())(random),
                 d = mean->size() / share->size();
    std::vector<double> drawn(mean->begin() + static_cast<ptrdiff_t>(k * d),
                              mean->begin() + static_cast<ptrdiff_t>((k + 1) * d));
    for (size_t i = 0; i < d; ++i)
      for (size_t j = 0; j <= i; ++j) drawn[i] += (*factor)[(k * d + i) * d + j] * z[j];
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

}  // namespace

Scores by_classifier(const Split& split, const Model& model) {
  if (model.shared_rows()->calibration.ratio.weights.empty()) return {};
  return {logits_of(*split.members, model), logits_of(*split.held_out, model)};
}

Scores by_decoder(const Split& split, const Model& model, int latents) {
  const ModelFile file(model.bytes());
  if (file.find("tensor decoder.output.weight") == nullptr) return {};
  const Decoder decoder(file);
  const RowLayout& layout = model.shared_rows()->encoder.layout();
  std::mt19937_64 random(1);
  std::vector<std::vector<double>> law;
  for (int k = 0; k < latents; ++k) law.push_back(laws(layout, decoder.logits(decoder.draw(random))));
  const auto score = [&](const Table& table) {
    Team team(1);
    const EncodedTable rows = model.shared_rows()->encoder.encode(with_known_values(table, model), team, {});
    std::vector<double> out, term(law.size());
    for (int64_t i = 0; i < rows.rows; ++i) {
      for (size_t k = 0; k < law.size(); ++k) term[k] = log_probability(layout, law[k], rows, i, decoder);
      const double top = *std::max_element(term.begin(), term.end());
      out.push_back(top + std::log(std::accumulate(term.begin(), term.end(), 0.0,
                                                   [&](double sum, double t) { return sum + std::exp(t - top); })));
    }
    return out;
  };
  return {score(*split.members), score(*split.held_out)};
}

Scores by_chain(const Split& split, const Model& model) {
  const RowModel& s = *model.shared_rows();
  if (s.config.method().name != std::string("made")) return {};
  const Made made(s.encoder.layout(), s.config.as<MadeConfig>());
  const auto score = [&](const Table& table) {
    Team team(1);
    const EncodedTable rows = s.encoder.encode(with_known_values(table, model), team, {});
    std::vector<int32_t> row(static_cast<size_t>(rows.rows));
    std::iota(row.begin(), row.end(), 0);
    const auto program = compile({team, 1, Device::processor()}, Purpose::held_out, [&](Recorder& r) {
      record_surprise(r, made, rows.rows, static_cast<int64_t>(row.size()));
    });
    program->bind_if("codes", rows.codes.data());
    program->bind_if("alphas", rows.alphas.data());
    program->bind_if("row", row.data());
    load_states(*program, {{"network", s.kept.states.at("network")}});
    program->run(1);
    std::vector<double> out;
    for (const float surprise : program->read<float>(program->find("surprise"))) out.push_back(-surprise);
    return out;
  };
  return {score(*split.members), score(*split.held_out)};
}

}  // namespace tessera::privacy
