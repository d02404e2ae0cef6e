#include "models/made/sampling.h"

#include "engine/ops/span.h"
#include "models/layers/recording.h"

namespace tessera {
namespace {

constexpr int64_t kLargestTable = 1 << 18;  // elements

using OneSpan = std::shared_ptr<const Spans>;

OneSpan span_alone(Recorder& r, const Span& span) {
  auto one = std::make_shared<const Spans>(std::vector<Spans::Item>{{0, span.width, true, -1}});
  r.plan.tables.push_back(one);
  return one;
}

// −log softmax(logits)[level], [batch, 1].
Var surprise(Recorder& r, const SpanTable* one, Var logits, Var level) {
  return r.emit1(SpanReconstruction{one}, {logits, level, fill(r, level.shape(), 1), Var{}});
}
// ln of the probability of the allowed levels.
Var log_left(const SpanTable* one, Var logits, Var left) { return log_sum_exp(left, one) - log_sum_exp(logits, one); }

// Output columns of a layer that still need inputs; complete columns are removed from the left.
struct Waiting {
  Var sum;  // bias and the inputs so far; none if no column remains
  Var take(int64_t count) {
    const Var taken = slice_cols(sum, 0, count);
    const int64_t left = sum.cols() - count;
    sum = left > 0 ? slice_cols(sum, count, left) : Var{};
    return taken;
  }
};

// Access to weights and levels for both networks.
class Reading {
 public:
  Reading(Recorder& r, const Made& m, int64_t batch) : r_(r), m_(m), batch_(batch) { own(r, m); }

 protected:
  Var weight(const std::string& layer) { return r_(m_.network, layer + ".weight"); }
  Var bias(const std::string& layer) { return r_(m_.network, layer + ".bias"); }

  // Adds the contribution of a column's level to the waiting columns of a layer: a row of the product of embeddings
  // and weight, which is computed once per batch unless it is large. `value` [batch, 1]: a factor; none: 1.
  void add_level(const Made::Layer& layer, Waiting& waiting, int j, Var level, Var value) {
    if (!waiting.sum) return;
    const Span& span = m_.columns[static_cast<size_t>(j)];
    const int64_t e = m_.config.embedding_dim;
    const Var embeddings = slice_rows(weight("embedding"), span.start, span.width);
    const Var to = rows_of(layer, waiting, e * j, e);
    if (span.width * to.cols() <= kLargestTable)
      waiting.sum = r_.emit1(SparseMatmul{span.width, 1, true}, {level, value, matmul(embeddings, to), waiting.sum});
    else
      waiting.sum = matmul(r_.emit1(SparseMatmul{span.width, 1, false}, {level, value, embeddings}), to) + waiting.sum;
  }
  // Rows [first, first + count) of a layer's weight, for the waiting columns.
  Var rows_of(const Made::Layer& layer, const Waiting& waiting, int64_t first, int64_t count) {
    const Var all = weight(layer.name);
    return slice_cols(slice_rows(all, first, count), all.cols() - waiting.sum.cols(), waiting.sum.cols());
  }

  Var logits_of(int j, Var context) {
    const Span& span = m_.columns[static_cast<size_t>(j)];
    const int64_t start = span.start - m_.given_levels;
    return broadcast(
        matmul(context, slice_cols(weight("head"), start, span.width)) + slice_cols(bias("head"), start, span.width),
        {batch_, span.width});
  }

  Recorder& r_;
  const Made& m_;
  int64_t batch_;
};

// The network in the columns' order. The contribution of a column or of a group of units is added to all consumers as
// soon as it is known: products of few rows of the weights and many of their columns.
class Ordered : Reading {
 public:
  // Given columns are read from the bound leaf "given".
  Ordered(Recorder& r, const Made& m, int64_t batch) : Reading(r, m, batch) {
    input_.sum = bias(m.input.name), contexts_.sum = bias(m.context.name);
    for (const Made::Layer& l : m.expand) expand_.push_back({bias(l.name)});
    for (const Made::Layer& l : m.contract) contract_.push_back({bias(l.name)});
    if (m.given > 0) give(r.input("given", {batch, m.given}, DType::index));
  }

  // The logits of the next column, given those before.
  Var logits(int j) { return logits_of(j, contexts_.take(m_.config.context_dim)); }

  // Adds the contributions of column j's level [batch, 1]: its embedding, then the units that waited for it.
  void extend(int j, Var level) {
    add_level(m_.input, input_, j, level, {});
    if (m_.skips()) add_level(m_.skip, contexts_, j, level, {});
    add_units(m_.units[static_cast<size_t>(j)], m_.units[static_cast<size_t>(j) + 1]);
  }

 private:
  void give(Var index) {
    const int64_t width = m_.given * m_.config.embedding_dim;
    const Shape cells{index.shape().count(), 1};
    const Var embeddings =
        r_.emit1(SparseMatmul{m_.levels, 1, false}, {reshape(index, cells), Var{}, weight("embedding")});
    const Var x = reshape(embeddings, {batch_, width});
    input_.sum = matmul(x, rows_of(m_.input, input_, 0, width)) + input_.sum;
    if (m_.skips()) contexts_.sum = matmul(x, rows_of(m_.skip, contexts_, 0, width)) + contexts_.sum;
    add_units(0, m_.units[static_cast<size_t>(m_.given)]);
  }

  // Units [first, last), which have waited for the last column.
  void add_units(int first, int last) {
    const int units = last - first;
    if (units == 0) return;
    Var h = input_.take(units);
    for (size_t i = 0; i < expand_.size(); ++i) {
      add(m_.expand[i], expand_[i], first, silu(h));
      add(m_.contract[i], contract_[i], first, silu(expand_[i].take(units)));
      h = h + contract_[i].take(units);
    }
    add(m_.context, contexts_, first, silu(h));
  }

  // Adds the contributions of the units from `first` on.
  void add(const Made::Layer& layer, Waiting& waiting, int64_t first, Var units) {
    if (waiting.sum) waiting.sum = matmul(units, rows_of(layer, waiting, first, units.cols())) + waiting.sum;
  }

  Waiting input_, contexts_;
  std::vector<Waiting> expand_, contract_;  // of each residual block
};

// The network of any order: one pass per column, conditional on the columns shown so far.
class AnyOrder : Reading {
 public:
  // `shown` [batch, columns]: the levels that are shown from the beginning, numbered over all columns, −1 for hidden
  // columns.
  AnyOrder(Recorder& r, const Made& m, int64_t batch, Var shown) : Reading(r, m, batch) {
    const Var x = embed(r, m, shown, {});
    const auto of_shown = [&](const Made::Layer& l, Var addend) {
      return block_matmul(BlockMatmul::forward, l.blocks->table(), x, weight(l.name), addend);
    };
    input_.sum = of_shown(m.input, bias(m.input.name));
    contexts_.sum = m.skips() ? of_shown(m.skip, bias(m.context.name)) : bias(m.context.name);
  }

  // The logits of the next column, given those that are shown.
  Var logits(int j) {
    Var h = input_.sum;
    for (size_t i = 0; i < m_.expand.size(); ++i) {
      const std::string &expand = m_.expand[i].name, &contract = m_.contract[i].name;
      const Var z = silu(matmul(silu(h), weight(expand)) + bias(expand));
      h = h + (matmul(z, weight(contract)) + bias(contract));
    }
    const int64_t r = m_.config.context_dim;
    return logits_of(j, matmul(silu(h), slice_cols(weight(m_.context.name), r * j, r)) + contexts_.take(r));
  }

  // `value` [batch, 1]: 1 if column j is newly shown, 0 if it was already shown.
  void show(int j, Var level, Var value) {
    add_level(m_.input, input_, j, level, value);
    if (m_.skips()) add_level(m_.skip, contexts_, j, level, value);
  }

 private:
  Waiting input_, contexts_;  // units wait for all columns, contexts until their column is drawn
};

struct Rows {
  Var noise, evidence;
};
Rows start(Recorder& r, const Made& m, int64_t batch, const Known& known) {
  r.rows = r.input("rows", {batch, 3}, DType::index);
  const Var noise = r.uniform("u", {batch, m.drawn_count()});
  return {noise, known.rows > 0 ? r.input("evidence", {known.rows, m.levels}) : Var{}};
}

void finish(Recorder& r, const std::vector<Var>& codes, int64_t batch) {
  r.output(concat_cols(codes), "codes");
  r.output(fill(r, {batch, 0}, 0), "alphas");
}

void add(Var& sum, Var x) { sum = sum ? sum + x : x; }

}  // namespace

void record_sampling(Recorder& r, const Made& m, int64_t batch, const Known& known) {
  Ordered network(r, m, batch);
  const Rows rows = start(r, m, batch, known);
  std::vector<Var> codes;
  Var log_weight;
  for (int j = m.given; j < m.count(); ++j) {
    const Span& span = m.columns[static_cast<size_t>(j)];
    const OneSpan one = span_alone(r, span);
    Var l = network.logits(j);
    if (rows.evidence && (known.columns.empty() || known.columns[static_cast<size_t>(j)] != 0)) {
      const Var left = l + slice_cols(rows.evidence, span.start, span.width);
      add(log_weight, log_left(one->table(), l, left));
      l = left;
    }
    codes.push_back(r.emit1(SpanDraw{one->table()}, {l, slice_cols(rows.noise, j - m.given, 1)}));
    if (j + 1 < m.count()) network.extend(j, codes.back());
  }
  finish(r, codes, batch);
  if (log_weight) r.output(log_weight, "log_weight");
}

void record_expected_counts(Recorder& r, const Made& m, int64_t batch) {
  Ordered network(r, m, batch);
  const Rows rows = start(r, m, batch, {});
  std::vector<Var> expected;
  for (int j = m.given; j < m.count(); ++j) {
    const OneSpan one = span_alone(r, m.columns[static_cast<size_t>(j)]);
    const Var l = network.logits(j);
    expected.push_back(sum_rows(span_softmax(l, one->table())));
    const Var level = r.emit1(SpanDraw{one->table()}, {l, slice_cols(rows.noise, j - m.given, 1)});
    if (j + 1 < m.count()) network.extend(j, level);
  }
  r.output(concat_cols(expected), "expected");
}

// ln w = ln p(row) + Σ evidence − ln q(row). For a column, ln q = l[level] + evidence − ln Σ exp(l + evidence), so the
// evidence of the drawn level cancels.
void record_any_order(Recorder& r, const Made& ordered, const Made& any, int64_t batch) {
  const Rows rows = start(r, any, batch, {batch});
  const int n = any.count();
  const Var hidden = r.input("hidden", {batch, n});
  AnyOrder proposal(r, any, batch, r.input("shown", {batch, n}, DType::index));
  std::vector<Var> codes;
  Var log_weight;
  for (int j = 0; j < n; ++j) {
    const Span& span = any.columns[static_cast<size_t>(j)];
    const OneSpan one = span_alone(r, span);
    const Var l = proposal.logits(j), left = l + slice_cols(rows.evidence, span.start, span.width);
    const Var level = r.emit1(SpanDraw{one->table()}, {left, slice_cols(rows.noise, j, 1)});
    add(log_weight, surprise(r, one->table(), l, level) + log_left(one->table(), l, left));
    if (j + 1 < n) proposal.show(j, level, slice_cols(hidden, j, 1));
    codes.push_back(level);
  }
  Ordered law(r, ordered, batch);
  for (int j = 0; j < n; ++j) {
    const OneSpan one = span_alone(r, ordered.columns[static_cast<size_t>(j)]);
    const Var level = codes[static_cast<size_t>(j)];
    log_weight = log_weight - surprise(r, one->table(), law.logits(j), level);
    if (j + 1 < n) law.extend(j, level);
  }
  finish(r, codes, batch);
  r.output(log_weight, "log_weight");
}

}  // namespace tessera
