// An autoencoder of rows: a model in one file. Encoder and decoder minimize −ln p(row | z); then the codes z of the
// training rows get a Gaussian, and sampling decodes draws from it.
#include "autoencoder.h"

#include "models/layers/linear.h"
#include "models/layers/recording.h"
#include "models/layers/weights.h"
#include "models/method/row_outputs.h"
#include "models/tvae/latent_mixture.h"

namespace tessera {
namespace {

constexpr LossSpec kLosses[] = {{"reconstruction", "{:.2f}", "−ln p(row | z), nats"}};
constexpr double kSpread = 0.1;  // standard deviation of a number inside its mode

struct AutoencoderConfig : Hyperparameters {
  int epochs = 300, batch = 500, latent = 16;
  std::vector<int> widths{128};
  double learning_rate = 1e-3;
  std::unique_ptr<Hyperparameters> copy() const override { return std::make_unique<AutoencoderConfig>(*this); }
  bool trains() const override { return epochs > 0; }
  std::vector<Option> options() override {
    return {{"epochs", &epochs, ranges::kEpochs, ranges::kEpochsHelp},
            {"batch_size", &batch, ranges::kBatch, "rows of a step"},
            {"learning_rate", &learning_rate, ranges::kRate, "of both networks"},
            {"embedding_dim", &latent, ranges::kUnits, "latent dimensions"},
            {"encoder_dim", &widths, ranges::kUnits, "widths of the hidden layers of both networks"}};
  }
};

// Hidden layers, then a linear one: the encoder and the decoder.
struct Network : ParameterSet {
  layers::Mlp hidden;
  layers::Linear output;
  Network(const char* set, int64_t in, const std::vector<int>& widths, int64_t out)
      : ParameterSet{set, {}, 0}, hidden(*this, in, widths), output(*this, "output", hidden.out, out) {}
  Var operator()(Var x) const { return output(hidden(x)); }
};

// Sampling: z = μ + L·n, then the decoder, then a draw of every cell.
class AutoencoderRows : public RowGenerator {
 public:
  AutoencoderRows(std::shared_ptr<const Spans> spans, const Network& decoder, int64_t latent)
      : spans_(std::move(spans)), decoder_(decoder), latent_(latent) {}
  void record(Recorder& r, int64_t batch) const override {
    const SpanTable& spans = *spans_->table();
    r.plan.tables.push_back(spans_);
    r.own(decoder_);
    r.rows = r.input("rows", {batch, 3}, DType::index);
    const Var factor = r.state("latent.factor", {latent_, latent_}), mean = r.state("latent.mean", {1, latent_});
    const Var z = matmul(r.normal("z", {batch, latent_}), factor, false, true) + mean;
    const DrawnCells cells = draw_cells(r, spans, decoder_(z));
    r.output(cells.codes, "codes");
    const Var noise = spans.tanhs > 0 ? r.normal("alpha", {batch, spans.tanhs}) : Var{};
    r.output(noise ? cells.alphas + kSpread * noise : cells.alphas, "alphas");
  }
  void bind(Program&) override {}

 private:
  std::shared_ptr<const Spans> spans_;
  const Network& decoder_;
  int64_t latent_;
};

class AutoencoderMethod : public RowMethod {
 public:
  AutoencoderMethod(const RowLayout& layout, const AutoencoderConfig& c)
      : config_(c),
        spans_(spans_of(layout)),
        encoder_("encoder", layout.data_width, c.widths, c.latent),
        decoder_("decoder", c.latent, c.widths, layout.data_width) {}
  const MethodSpec& spec() const override { return kAutoencoder; }
  void prepare(const EncodedTable& table, Team&) override { table_ = &table; }
  void bind(Program& program) const override { bind_rows(program, *table_); }
  std::vector<Phase> phases() const override { return {passes_over(table_->rows, config_.epochs, config_.batch, 1)}; }
  double learning_rate() const override { return config_.learning_rate; }
  States start(uint64_t seed) const override {
    return {{"encoder", initial_weights(encoder_, seed, 0)}, {"decoder", initial_weights(decoder_, seed, 1)}};
  }
  void record_training(Recorder& r, size_t, int64_t) const override {
    const SpanTable& spans = *spans_->table();
    r.plan.tables.push_back(spans_);
    r.own(encoder_), r.own(decoder_);
    const Var row = draw_rows(r, config_.batch, table_->rows);
    const SparseRows rows = gather_rows(spans, table_input(r, spans, table_->rows), row);
    const Var logits = decoder_(encoder_(dense(spans, rows)));
    const Var sigma = spans.tanhs > 0 ? fill(r, {1, spans.tanhs}, kSpread) : Var{};
    const Var terms = r.emit1(SpanReconstruction{&spans}, {logits, rows.index, rows.value, sigma});
    const Var loss = (1.0 / config_.batch) * sum(terms);
    r.minimize(loss, {&encoder_, &decoder_}, {.lr = config_.learning_rate});
    report_losses(r, {r.name(loss, "reconstruction loss")});
  }
  FittedState keep(States end, const RunContext& context) const override {
    const SpanTable& spans = *spans_->table();
    const auto record = [&](Recorder& r, int64_t batch) {
      r.plan.tables.push_back(spans_);
      r.own(encoder_);
      const Var row = r.input("row", {batch, 1}, DType::index);
      r.output(encoder_(dense(spans, gather_rows(spans, table_input(r, spans, table_->rows), row))), "z");
    };
    const States encoder{{"encoder", std::move(end.at("encoder"))}};
    RowOutputs z(*table_, 50000, encoder, {"z"}, Purpose::posterior, context, record);
    std::vector<float> points;
    z.each_batch([&](int64_t, int64_t count, const auto& out) {
      points.insert(points.end(), out[0].begin(), out[0].begin() + count * z.width(0));
    });
    const LatentMixtureOptions one{.components = 1, .until = context.until};
    const LatentMixture gaussian = fit_latent_mixture(points, config_.latent, one, context.team, context.monitor);
    return {.states = {{"decoder", std::move(end.at("decoder"))},
                       {"latent.mean", {gaussian.mean.begin(), gaussian.mean.end()}},
                       {"latent.factor", {gaussian.factor.begin(), gaussian.factor.end()}}}};
  }
  std::unique_ptr<RowGenerator> row_generator(const FittedState&, const std::vector<AllowedLevels>&, uint64_t,
                                              Team&) const override {
    return std::make_unique<AutoencoderRows>(spans_, decoder_, config_.latent);
  }
  void visit_tensors(const FittedState&, const std::function<void(const TensorSpec&)>& visit) const override {
    visit_weights(decoder_, [&](const std::string& name, const std::vector<int64_t>& shape, const auto& element) {
      visit({name, shape, "decoder", decoder_.size, element});
    });
    const int64_t d = config_.latent;
    visit({"latent.mean", {d}, "latent.mean", d, std::identity()});
    visit({"latent.factor", {d, d}, "latent.factor", d * d, std::identity()});
  }
  int64_t parameters() const override { return decoder_.size; }
  std::vector<std::string> networks() const override { return {"decoder"}; }

 private:
  AutoencoderConfig config_;
  std::shared_ptr<const Spans> spans_;
  Network encoder_, decoder_;
  const EncodedTable* table_ = nullptr;
};

std::unique_ptr<Hyperparameters> preset(bool) { return std::make_unique<AutoencoderConfig>(); }
std::unique_ptr<RowMethod> make(const RowLayout& layout, const MethodConfig& config) {
  return std::make_unique<AutoencoderMethod>(layout, config.as<AutoencoderConfig>());
}

}  // namespace

const MethodSpec kAutoencoder{"autoencoder", 128, preset, kLosses, make};

}  // namespace tessera
