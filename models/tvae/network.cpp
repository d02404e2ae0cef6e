#include "models/tvae/network.h"

#include "engine/ops/span.h"

namespace tessera {

Tvae::Tvae(const RowLayout& layout, const TvaeConfig& c)
    : config(c),
      spans(spans_of(layout)),
      data(layout.data_width),
      numbers(layout.alphas()),
      encoder(data, c),
      decoder(data, numbers, c) {}

Tvae::Encoder::Encoder(int64_t in, const TvaeConfig& c)
    : ParameterSet{"encoder", {}, 0},
      hidden(*this, in, c.encoder_dim),
      mean(*this, "mu", hidden.out, c.embedding_dim),
      log_variance(*this, "logvar", hidden.out, c.embedding_dim) {}

Posterior Tvae::Encoder::operator()(Var rows) const {
  const Var h = hidden(rows);
  Posterior q{mean(h), log_variance(h), {}};
  q.stddev = exp(0.5 * q.log_variance);
  return q;
}

Tvae::Decoder::Decoder(int64_t out, int64_t numbers, const TvaeConfig& c)
    : ParameterSet{"decoder", {}, 0},
      hidden(*this, c.embedding_dim, c.decoder_dim),
      output(*this, "output", hidden.out, out) {
  if (numbers > 0) sigma = add("sigma", {1, numbers}, {Start{c.sigma_start}});
}

Var Tvae::Decoder::operator()(Var z) const { return output(hidden(z)); }

ElboLoss elbo_loss(Recorder& r, const Tvae& m, const SparseRows& rows, Var logits, const Posterior& q) {
  const double batch = static_cast<double>(logits.rows());
  ElboLoss l;
  const Var sigma = m.numbers > 0 ? r(m.decoder.sigma) : Var{};
  l.spans = r.emit1(SpanReconstruction{m.spans->table()}, {logits, rows.index, rows.value, sigma});
  l.reconstruction = (m.config.loss_factor / batch) * sum(l.spans);
  // KL(N(μ, σ²) ‖ N(0, 1)) = ½(μ² + σ² − ln σ² − 1), summed over the dimensions.
  const Var terms = square(q.mean) + square(q.stddev) - q.log_variance + -1.0;
  l.kl = (0.5 / batch) * sum(terms);
  l.loss = l.reconstruction + l.kl;
  return l;
}

namespace {

void keep_sigma_in_bounds(Recorder& r, const Tvae& m) {
  const TvaeConfig& c = m.config;
  if (m.numbers == 0) return;
  const Var weights = r.flat(m.decoder);
  r.advance(weights,
            r.emit1(ClampRange{m.decoder.sigma.parameter.offset, m.numbers, c.sigma_low, c.sigma_high}, {weights}));
}

// What a step computes of its rows.
struct TvaeStep {
  Posterior q;
  SparseRows rows;
  Var logits;
};
TvaeStep through_both(Recorder& r, const Tvae& m, int64_t table_rows, Var row) {
  const SpanTable& spans = *m.spans->table();
  TvaeStep s;
  s.rows = gather_rows(spans, table_input(r, spans, table_rows), row);
  s.q = m.encoder(dense(spans, s.rows));
  const Var z = s.q.mean + s.q.stddev * r.normal("noise", s.q.mean.shape());
  s.logits = r.name(m.decoder(z), "logits");
  return s;
}

void end_tvae_step(Recorder& r, const Tvae& m, Var reconstruction, Var kl, int64_t steps) {
  if (m.config.average_decay > 0)
    for (const ParameterSet* set : m.weights()) record_average(r, *set, m.config.average_decay, steps);
  report_losses(r, {r.name(reconstruction, "reconstruction loss"), r.name(kl, "KL divergence")});
}

}  // namespace

void update(Recorder& r, const Tvae& m, Var loss, int64_t steps) {
  r.minimize(loss, m.weights(), adam_of(m.config, steps));
  keep_sigma_in_bounds(r, m);
}

void record_training(Recorder& r, const Tvae& m, int64_t table_rows, int64_t steps) {
  const int64_t batch = m.config.batch;
  r.plan.tables.push_back(m.spans);
  r.own(m.encoder);
  r.own(m.decoder);
  const TvaeStep s = through_both(r, m, table_rows, draw_rows(r, batch, table_rows));
  const ElboLoss l = elbo_loss(r, m, s.rows, s.logits, s.q);
  update(r, m, l.loss, steps);
  end_tvae_step(r, m, l.reconstruction, l.kl, steps);
}

void record_training(Recorder& r, const Tvae& m, const PrivateRows& rows, int64_t steps) {
  r.plan.tables.push_back(m.spans);
  r.own(m.encoder);
  r.own(m.decoder);
  const PrivateRows::Batch batch = rows.draw(r);
  const TvaeStep s = through_both(r, m, rows.table().rows, batch.row);
  const Var sigma = m.numbers > 0 ? r(m.decoder.sigma) : Var{};
  const Var reconstruction =
      sum_cols(r.emit1(SpanReconstruction{m.spans->table()}, {s.logits, s.rows.index, s.rows.value, sigma}),
               m.config.loss_factor);
  const Var kl = sum_cols(square(s.q.mean) + square(s.q.stddev) - s.q.log_variance + -1.0, 0.5);
  rows.minimize(r, reconstruction + kl, batch, m.weights(), adam_of(m.config, steps));
  keep_sigma_in_bounds(r, m);
  end_tvae_step(r, m, rows.mean(reconstruction, batch), rows.mean(kl, batch), steps);
}

void record_posterior(Recorder& r, const Tvae& m, int64_t table_rows, int64_t batch) {
  r.plan.tables.push_back(m.spans);
  r.own(m.encoder);
  const SpanTable& spans = *m.spans->table();
  const Var row = r.input("row", {batch, 1}, DType::index);
  const Posterior q = m.encoder(dense(spans, gather_rows(spans, table_input(r, spans, table_rows), row)));
  r.output(q.mean, "mean");
  r.output(q.stddev, "stddev");
}

void record_elbo(Recorder& r, const Tvae& m, int64_t table_rows, int64_t batch) {
  r.plan.tables.push_back(m.spans);
  r.own(m.encoder);
  r.own(m.decoder);
  const SpanTable& spans = *m.spans->table();
  const Var row = r.input("row", {batch, 1}, DType::index);
  const SparseRows rows = gather_rows(spans, table_input(r, spans, table_rows), row);
  const Posterior q = m.encoder(dense(spans, rows));
  const Var z = q.mean + q.stddev * r.normal("noise", q.mean.shape());
  const ElboLoss l = elbo_loss(r, m, rows, m.decoder(z), q);
  const Var kl = sum_cols(square(q.mean) + square(q.stddev) - q.log_variance + -1.0, 0.5);
  r.output(sum_cols(l.spans) + kl, "elbo_loss");
}

namespace {

// Latent points of the prior. `watched`: the mixture's part is the output "latent".
Var draw_latent(Recorder& r, const Tvae& m, int64_t batch, const Prior& prior, bool watched) {
  Var z = r.normal("z", {batch, m.config.embedding_dim});
  if (prior.components > 0) {
    // Draws the component, then the point in it; the first `active` dimensions are the mixture's.
    const Var share = r.input("prior.cumulative", {1, prior.components}),
              start = r.input("prior.start", {2, 1}, DType::index);
    const Var component =
        r.emit(DrawConditions{r.next_purpose(), batch, 1, 0}, {share, start, Var{}, Var{}, r.rows})[0];
    const Var mean = r.state("prior.mean", {prior.components, prior.active}),
              factor = r.state("prior.factor", {prior.components * prior.active, prior.active});
    const Var drawn = r.emit1(MixtureDraw{}, {slice_cols(z, 0, prior.active), component, mean, factor});
    z = prior.active < z.cols() ? concat_cols({drawn, slice_cols(z, prior.active, z.cols() - prior.active)}) : drawn;
    if (watched) r.output(drawn, "latent");
  }
  return z;
}

// ln Σ over the allowed levels − ln Σ over all, span by span [batch, spans].
Var log_share(Var left, Var all, const SpanTable* s) {
  const Var top = span_spread(span_max(all, s), s);
  return log(span_sum(exp(left - top), s)) - log(span_sum(exp(all - top), s));
}

void put_cells(Recorder& r, const Tvae& m, int64_t batch, const DrawnCells& cells) {
  r.output(cells.codes, "codes");
  // p(α | z) = N(tanh(logit), σ²) (§4.4): the position is drawn from it, not set to its mean.
  const Var noise = m.numbers > 0 ? r.normal("alpha", {batch, m.numbers}) : Var{};
  r.output(noise ? cells.alphas + noise * r(m.decoder.sigma) : cells.alphas, "alphas");
}

void begin_rows(Recorder& r, const Tvae& m, int64_t batch) {
  r.plan.tables.push_back(m.spans);
  r.own(m.decoder);
  r.rows = r.input("rows", {batch, 3}, DType::index);
}

}  // namespace

void record_sampling(Recorder& r, const Tvae& m, int64_t batch, const Prior& prior, bool conditioned) {
  begin_rows(r, m, batch);
  const Var z = draw_latent(r, m, batch, prior, conditioned);
  Var logits = m.decoder(z);
  if (conditioned) {
    // ln P(every span has an allowed level | z); then the levels are drawn among the allowed ones.
    const Var barred = logits + r.input("barrier", {1, m.data});
    r.output(sum_cols(log_share(barred, logits, m.spans->table())), "log_probability");
    logits = barred;
  }
  put_cells(r, m, batch, draw_cells(r, *m.spans->table(), logits));
}

void record_given(Recorder& r, const Tvae& m, int64_t batch, const Prior& prior) {
  begin_rows(r, m, batch);
  const Var logits = m.decoder(draw_latent(r, m, batch, prior, false));
  const SpanTable* s = m.spans->table();
  const Var left = logits + r.input("given.levels", {batch, m.data});
  Var weight = sum_cols(log_sum_exp(left, s) - log_sum_exp(logits, s));
  const DrawnCells cells = draw_cells(r, *s, left);
  if (m.numbers > 0) {
    const Var difference = (r.input("given.alphas", {batch, m.numbers}) - cells.alphas) / r(m.decoder.sigma);
    weight = weight + sum_cols(r.input("given.known", {batch, m.numbers}) * square(difference), -0.5);
  }
  r.output(weight, "log_weight");
  put_cells(r, m, batch, cells);
}

}  // namespace tessera
