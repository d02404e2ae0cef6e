#include "models/ctgan/network.h"

#include <algorithm>

#include "models/layers/recording.h"

namespace tessera {

Ctgan::Ctgan(const RowLayout& layout, const CtganConfig& c)
    : config(c),
      spans(spans_of(layout)),
      data(layout.data_width),
      cond(layout.cond_width),
      generator(c.embedding_dim + cond, data, c),
      discriminator(c.pac * (data + cond), c) {}

Ctgan::Generator::Generator(int64_t in, int64_t out, const CtganConfig& c) : ParameterSet{"generator", {}, 0} {
  for (const int width : c.generator_dim) {
    const std::string block = "residual." + std::to_string(blocks.size());
    const layers::Linear linear(*this, block + ".linear", in, width);
    blocks.push_back({linear, {*this, block + ".norm", width, c.bn_eps, c.bn_momentum}});
    in += width;
  }
  output = {*this, "output", in, out};
}

Var Ctgan::Generator::operator()(Var x, Norm norm) const {
  for (const Residual& block : blocks) x = concat_cols({relu(block.norm(block.linear(x), norm)), x});
  return output(x);
}

Ctgan::Critic::Critic(int64_t in, const CtganConfig& c)
    : ParameterSet{"discriminator", {}, 0},
      hidden(*this, in, c.discriminator_dim, c.leaky_slope, c.dropout),
      output(*this, "output", hidden.out, 1) {}

Var Ctgan::Critic::operator()(Var packed, const std::string& use) const { return output(hidden(packed, use)); }

Var generate(const Ctgan& m, Var z, const Condition& c, Norm norm) {
  return m.generator(c.one_hot ? concat_cols({z, c.one_hot}) : z, norm);
}

Var activate(Recorder& r, const Ctgan& m, Var logits, const std::string& noise) {
  return r.emit1(SpanActivation{m.spans->table(), m.config.tau, kLowUniform, kHighUniform},
                 {logits, r.uniform(noise, logits.shape())});
}

Var pack(const Ctgan& m, Var rows, const Condition& c) {
  const int64_t pac = m.config.pac, packed = rows.rows() / pac;
  const Var data = reshape(rows, {packed, pac * m.data});
  return c.one_hot ? concat_cols({data, reshape(c.one_hot, {packed, pac * m.cond})}) : data;
}

CriticLoss critic_loss(Recorder& r, const Ctgan& m, Var real, Var fake, const std::string& suffix) {
  CriticLoss l;
  l.real = m.discriminator(real, "real" + suffix);
  l.fake = m.discriminator(fake, "fake" + suffix);
  const Var between = lerp_rows(r.uniform("alpha" + suffix, {real.rows(), 1}), real, fake);
  l.interpolate = m.discriminator(between, "interpolate" + suffix);
  const Var slope = pullback(r, {l.interpolate}, {fill(r, l.interpolate.shape(), 1)}, {between})[0];
  l.norm = sqrt(row_dot(slope, slope));
  l.wasserstein = mean(l.fake) - mean(l.real);
  l.penalty = m.config.penalty_weight * mean(square(l.norm + -1.0));
  l.loss = l.wasserstein + l.penalty;
  return l;
}

GeneratorLoss generator_loss(Recorder& r, const Ctgan& m, Var logits, Var fake, const Condition& c,
                             const std::string& use) {
  GeneratorLoss l;
  l.scores = m.discriminator(pack(m, fake, c), use);
  l.loss = -1.0 * mean(l.scores);
  if (!c.one_hot) return l;
  l.cross_entropy = mean(r.emit1(SpanCrossEntropy{m.spans->table()}, {logits, c.index}));
  l.loss = l.loss + l.cross_entropy;
  return l;
}

void visit_weights(const Ctgan& m, const ParameterSet& set, const WeightVisitor& visit) {
  const int64_t data = m.data, cond = m.cond, pac = m.config.pac, width = data + cond;
  const bool critic = set.name == m.discriminator.name;
  visit_weights(set, visit, [=](const Parameter& p, int64_t k) {
    if (!critic || p.name != "hidden.0.weight") return k;
    const int64_t slot = k / width, at = k % width;
    return at < data ? slot * data + at : pac * data + slot * cond + (at - data);
  });
}

namespace {

AdamOptions adam(const Ctgan& m, int64_t steps) {
  AdamOptions o{Adam::torch,
                m.config.learning_rate,
                m.config.beta1,
                m.config.beta2,
                m.config.adam_eps,
                m.config.weight_decay,
                1,
                0,
                0,
                0};
  decay_linearly(o, m.config.decay_from, steps);
  return o;
}

struct Drawn {
  Condition condition;
  Var row;  // table rows that satisfy the conditions
};

Drawn draw(Recorder& r, const Ctgan& m, int64_t batch, int64_t columns, int64_t table_rows) {
  auto leaf = [&](const char* name, Shape s, DType t = DType::index) {
    const Id have = r.plan.find_leaf(name);
    return have != kNone ? r.var(have) : r.input(name, s, t);
  };
  const Var cumulative = leaf("cumulative", {1, std::max<int64_t>(m.cond, 1)}, DType::real),
            start = leaf("start", {columns + 1, 1});
  const Var offset = leaf("row_offset", {std::max<int64_t>(m.cond + columns, 1), 1}),
            index = leaf("row_index", {std::max<int64_t>(columns * table_rows, 1), 1});
  const auto d =
      r.emit(DrawConditions{r.next_purpose(), batch, columns, table_rows}, {cumulative, start, offset, index, r.rows});
  return {{d[0], m.cond > 0 ? sparse_dense(d[0], Var{}, m.cond, 1) : Var{}}, d[1]};
}

}  // namespace

AdamOptions critic_adam(const Ctgan& m, int64_t index, int64_t steps) {
  AdamOptions o = adam(m, steps);
  o.updates = m.config.discriminator_steps;
  o.index = index;
  return o;
}
AdamOptions generator_adam(const Ctgan& m, int64_t steps) { return adam(m, steps); }

void record_training(Recorder& r, const Ctgan& m, int64_t table_rows, int64_t columns, int64_t steps) {
  const int64_t batch = m.config.batch;
  r.plan.tables.push_back(m.spans);
  r.own(m.generator);
  r.own(m.discriminator);
  const SpanTable& spans = *m.spans->table();
  const TableInput table = table_input(r, spans, table_rows);

  CriticLoss critic;
  for (int k = 0; k < m.config.discriminator_steps; ++k) {
    const std::string n = m.config.discriminator_steps == 1 ? "" : "." + std::to_string(k);
    const Drawn drawn = draw(r, m, batch, columns, table_rows);
    const Var z = r.normal("z.critic" + n, {batch, m.config.embedding_dim});
    const Var logits = generate(m, z, drawn.condition, Norm::training);
    const Var fake = activate(r, m, logits, "u.critic" + n);
    // Real rows have their own conditions: with the fake rows' conditions the generator learns a too sharp joint
    // distribution (docs/methods/fidelity.md).
    const Drawn seen = draw(r, m, batch, columns, table_rows);
    const Var real = dense(spans, gather_rows(spans, table, seen.row));
    critic = critic_loss(r, m, pack(m, real, seen.condition), pack(m, fake, drawn.condition), n);
    r.minimize(critic.loss, m.discriminator, critic_adam(m, k, steps));
  }

  const Drawn drawn = draw(r, m, batch, columns, table_rows);
  const Var z = r.normal("z", {batch, m.config.embedding_dim});
  const Var logits = r.name(generate(m, z, drawn.condition, Norm::training), "logits");
  const Var fake = r.name(activate(r, m, logits, "u"), "fake");
  const GeneratorLoss generator = generator_loss(r, m, logits, fake, drawn.condition, "generator");
  r.minimize(generator.loss, m.generator, generator_adam(m, steps));

  if (m.config.average_decay > 0) record_average(r, m.generator, m.config.average_decay, steps);
  report_losses(r, {r.name(critic.loss, "critic loss"), r.name(generator.loss, "generator loss"),
                    r.name(critic.penalty, "penalty")});
}

void record_population(Recorder& r, const Ctgan& m, int64_t batch, int64_t columns) {
  r.plan.tables.push_back(m.spans);
  r.own(m.generator);
  const Drawn drawn = draw(r, m, batch, columns, 0);
  generate(m, r.normal("z", {batch, m.config.embedding_dim}), drawn.condition, Norm::population);
}

void record_sampling(Recorder& r, const Ctgan& m, int64_t batch, int64_t columns, bool given_condition) {
  r.plan.tables.push_back(m.spans);
  r.own(m.generator);
  r.rows = r.input("rows", {batch, 3}, DType::index);
  Condition c;
  if (given_condition && m.cond > 0) {
    c.index = r.input("condition", {batch, 1}, DType::index);
    c.one_hot = sparse_dense(c.index, Var{}, m.cond, 1);
  } else {
    c = draw(r, m, batch, columns, 0).condition;
  }
  const Var logits = generate(m, r.normal("z", {batch, m.config.embedding_dim}), c, Norm::inference);
  const DrawnCells cells = draw_cells(r, *m.spans->table(), logits);
  r.output(cells.codes, "codes");
  r.output(cells.alphas, "alphas");
}

}  // namespace tessera
