// The span ops, over rows of tanh and softmax spans of ragged widths, with and without conditions.
#include "op_case.h"

namespace tessera::oracle {
namespace {

using Item = SpanTable::Item;

// f(span, number of the span) for each.
template <class F>
void spans_of(const SpanTable* s, F&& f) {
  for (int i = 0; i < s->count; ++i) f(s->items[i], i);
}

// softmax of g over a span of row r, written to y.
void softmax(const Grid& g, Grid& y, int64_t r, const Item& s) {
  double m = g(r, s.start).v;
  for (int k = 1; k < s.width; ++k) m = std::max(m, g(r, s.start + k).v);
  Number sum;
  for (int k = 0; k < s.width; ++k) sum += exp(g(r, s.start + k) - Number(m));
  for (int k = 0; k < s.width; ++k) y(r, s.start + k) = exp(g(r, s.start + k) - Number(m)) / sum;
}

constexpr double kLow = 0x1p-24, kHigh = 1 - 0x1p-24;
Number gumbel(Number u) {
  const double v = std::isnan(u.v) ? u.v : std::min(std::max(u.v, kLow), kHigh);
  return -log(-log(Number(v)));
}

Grids activation(const SpanTable* s, double tau, const Grids& in) {
  const Grid &x = in[0], &u = in[1];
  const Grid g =
      grid(x.rows, x.cols, [&](int64_t r, int64_t c) { return (x(r, c) + gumbel(u(r, c))) * rounded(1 / tau, 0); });
  Grid y(x.rows, x.cols);
  for (int64_t r = 0; r < x.rows; ++r)
    spans_of(s, [&](const Item& span, int) {
      if (span.softmax != 0) softmax(g, y, r, span);
      else y(r, span.start) = tanh(x(r, span.start));
    });
  return {y};
}

Grids activation_grad(const SpanTable* s, double tau, const Grids& in) {
  const Grid &y = in[0], &d = in[1];
  Grid out(y.rows, y.cols);
  for (int64_t r = 0; r < y.rows; ++r)
    spans_of(s, [&](const Item& span, int) {
      Number dot;
      for (int k = span.start; k < span.start + span.width; ++k) dot += y(r, k) * d(r, k);
      for (int k = span.start; k < span.start + span.width; ++k)
        out(r, k) =
            span.softmax != 0 ? y(r, k) * (d(r, k) - dot) * rounded(1 / tau, 0) : (1.0 - y(r, k) * y(r, k)) * d(r, k);
    });
  return {out};
}

// The chosen span of a row; nullptr for none.
const Item* chosen(const SpanTable* s, const Grid& condition, int64_t r) {
  const int c = static_cast<int>(condition(r, 0).v);
  for (int i = 0; i < s->count && c >= 0; ++i)
    if (s->items[i].cond_start >= 0 && c >= s->items[i].cond_start && c < s->items[i].cond_start + s->items[i].width)
      return &s->items[i];
  return nullptr;
}

Grids cross_entropy(const SpanTable* s, const Grids& in) {
  return {grid(in[0].rows, 1, [&](int64_t r, int64_t) {
    const Item* span = chosen(s, in[1], r);
    if (span == nullptr) return Number(0);
    double m = in[0](r, span->start).v;
    for (int k = 1; k < span->width; ++k) m = std::max(m, in[0](r, span->start + k).v);
    Number sum;
    for (int k = 0; k < span->width; ++k) sum += exp(in[0](r, span->start + k) - Number(m));
    return Number(m) + log(sum) - in[0](r, span->start + static_cast<int>(in[1](r, 0).v) - span->cond_start);
  })};
}

Grids cross_entropy_grad(const SpanTable* s, const Grids& in) {
  Grid p(in[0].rows, in[0].cols), out(in[0].rows, in[0].cols);
  for (int64_t r = 0; r < out.rows; ++r) {
    const Item* span = chosen(s, in[1], r);
    if (span == nullptr) continue;
    softmax(in[0], p, r, *span);
    for (int k = 0; k < span->width; ++k) {
      const bool hot = span->cond_start + k == static_cast<int>(in[1](r, 0).v);
      // exp(x − lse): the roundings of the largest logit and of lse stand in the exponent
      Number q = p(r, span->start + k);
      q.e += std::fabs(q.v) * 8;
      out(r, span->start + k) = (q - Number(hot ? 1 : 0)) * in[2](r, 0);
    }
  }
  return {out};
}

// log Σ e^x − x[at] over a span of row r: what is large cancels before anything is added to it.
Number surprise(const Grid& x, int64_t r, const Item& span, int64_t at) {
  double m = x(r, span.start).v;
  for (int k = 1; k < span.width; ++k) m = std::max(m, x(r, span.start + k).v);
  Number sum;
  for (int k = 0; k < span.width; ++k) sum += exp(x(r, span.start + k) - Number(m));
  return log(sum) + (Number(m) - x(r, at));
}

// in x, index, value, sigma, (d)
Grids reconstruction(const SpanTable* s, const Grids& in) {
  Grid out(in[0].rows, s->count);
  for (int64_t r = 0; r < out.rows; ++r)
    spans_of(s, [&](const Item& span, int i) {
      if (span.softmax != 0) {
        out(r, i) = surprise(in[0], r, span, static_cast<int64_t>(in[1](r, i).v));
        return;
      }
      const Number w = in[3](0, span.slot), miss = (in[2](r, i) - tanh(in[0](r, span.start))) / w;
      out(r, i) = miss * miss * 0.5 + log(w);
    });
  return {out};
}

Grids reconstruction_grad(const SpanTable* s, const Grids& in) {
  Grid d_x(in[0].rows, in[0].cols), d_sigma(in[0].rows, s->tanhs);
  for (int64_t r = 0; r < d_x.rows; ++r)
    spans_of(s, [&](const Item& span, int i) {
      const Number d = in[4](r, i);
      if (span.softmax != 0) {
        softmax(in[0], d_x, r, span);
        for (int k = 0; k < span.width; ++k) {
          const bool hot = span.start + k == static_cast<int>(in[1](r, i).v);
          d_x(r, span.start + k) = d_x(r, span.start + k) * d - (hot ? d : Number(0));
        }
        return;
      }
      const Number w = in[3](0, span.slot), t = tanh(in[0](r, span.start)), miss = (in[2](r, i) - t) / w;
      d_x(r, span.start) = Number(0) - d * miss * (1.0 - t * t) / w;
      d_sigma(r, span.slot) = d * (1.0 - miss * miss) / w;
    });
  return {d_x, d_sigma};
}

// Codes by the Gumbel maximum, alphas by tanh.
Grids sample(const SpanTable* s, const Grids& in) {
  Grid codes(in[0].rows, s->softmaxes), alphas(in[0].rows, s->tanhs);
  for (int64_t r = 0; r < in[0].rows; ++r)
    spans_of(s, [&](const Item& span, int) {
      if (span.softmax == 0) {
        alphas(r, span.slot) = tanh(in[0](r, span.start));
        return;
      }
      int best = 0;
      auto g = [&](int k) { return (in[0](r, span.start + k) + gumbel(in[1](r, span.start + k))).v; };
      for (int k = 1; k < span.width; ++k)
        if (g(k) > g(best)) best = k;
      codes(r, span.slot) = best;
    });
  return {codes, alphas};
}

// The lowest level whose e^(x − m), with those before it, exceeds u times the whole.
Grids draw(const SpanTable* s, const Grids& in) {
  Grid codes(in[0].rows, s->count);
  for (int64_t r = 0; r < codes.rows; ++r)
    spans_of(s, [&](const Item& span, int i) {
      double m = in[0](r, span.start).v, whole = 0, sum = 0;
      const auto share = [&](int k) { return std::exp(in[0](r, span.start + k).v - m); };
      for (int k = 1; k < span.width; ++k) m = std::max(m, in[0](r, span.start + k).v);
      for (int k = 0; k < span.width; ++k) whole += share(k);
      int level = 0;
      for (int k = 0; k < span.width && sum <= in[1](r, i).v * whole && sum < whole; ++k)
        if (share(k) > 0) sum += share(k), level = k;
      codes(r, i) = std::isnan(whole) ? 0 : level;
    });
  return {codes};
}

// Of the draws, how many have a level whose share is 0, as its logit is far below the largest.
double impossible(const SpanTable* s, const Grids& in, const Grids& out) {
  double count = 0;
  for (int64_t r = 0; r < in[0].rows; ++r)
    spans_of(s, [&](const Item& span, int i) {
      double m = in[0](r, span.start).v;
      for (int k = 1; k < span.width; ++k) m = std::max(m, in[0](r, span.start + k).v);
      count += in[0](r, span.start + static_cast<int>(out[0](r, i).v)).v < m - 1e5 ? 1 : 0;
    });
  return count;
}

void draw_cases(Cases& cases, const std::shared_ptr<const Spans>& spans) {
  const SpanTable* s = spans->table();
  for (const int64_t rows : {1, 2, 31, 65}) {
    std::vector<double> logits, ends;
    for (int64_t i = 0; i < rows * s->width; ++i) logits.push_back(i % 2 == 0 && s->width > 1 ? -1e6 : 0.25);
    for (int64_t i = 0; i < rows * s->count; ++i) ends.push_back(i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : 0x1p-24);
    const auto add = [&](const char* note, const Input& x, const Input& u, std::vector<Law> laws) {
      cases.push_back({note,
                       SpanDraw{s},
                       {x.constant(), u.constant()},
                       [s](const Grids& in) { return draw(s, in); },
                       std::move(laws)});
      cases.back().by_rows = rows > 1 && rows != s->width;
      cases.back().tables = spans;
    };
    add("draws by inversion", real(rows, s->width).range(-4, 4), real(rows, s->count).range(0.02, 0.98), {});
    add("no level of share 0, and what u ends in", real(rows, s->width).of(logits), real(rows, s->count).of(ends),
        {{"an impossible level is drawn", [s](const Grids& in, const Grids& out) { return impossible(s, in, out); }}});
  }
}

std::shared_ptr<const Spans> row(const std::vector<Spans::Item>& items) { return std::make_shared<const Spans>(items); }

}  // namespace

void span_cases(Cases& cases) {
  const std::shared_ptr<const Spans> mixed = row({{0, 1, false, -1},
                                                  {1, 3, true, -1},
                                                  {4, 1, true, 0},
                                                  {5, 1, false, -1},
                                                  {6, 31, true, -1},
                                                  {37, 7, true, 1},
                                                  {44, 2, true, 8},
                                                  {46, 33, true, 10}});
  const std::shared_ptr<const Spans> wide = row({{0, 129, true, 0}}),
                                     flat = row({{0, 1, false, -1}, {1, 1, false, -1}, {2, 1, false, -1}}),
                                     modes = row({{0, 1, false, -1}, {1, 10, true, -1}});
  // wider than the columns that the CPU kernel transposes at a time
  const std::shared_ptr<const Spans> wider = row({{0, 1, false, -1},
                                                  {1, 300, true, 0},
                                                  {301, 2, true, -1},
                                                  {303, 1, false, -1},
                                                  {304, 255, true, 300},
                                                  {559, 1, false, -1},
                                                  {560, 256, true, -1}});
  for (const auto& spans : {mixed, wide, flat, modes, wider})
    for (const int64_t rows : {1, 2, 31}) {
      const SpanTable* s = spans->table();
      const int64_t width = s->width;
      auto add = [&](const char* note, Op op, std::vector<Input> in, std::function<Grids(const Grids&)> reference,
                     std::vector<Law> laws = {}) {
        Case c{note, std::move(op), std::move(in), std::move(reference), std::move(laws)};
        c.by_rows = rows > 1 && rows != width;
        c.tables = spans;
        cases.push_back(std::move(c));
      };
      const Law sums{"softmax spans sum to one", [s](const Grids&, const Grids& out) {
                       double worst = 0;
                       for (int64_t r = 0; r < out[0].rows; ++r)
                         spans_of(s, [&](const Item& span, int) {
                           double sum = span.softmax != 0 ? -1 : 0;
                           for (int k = 0; k < span.width && span.softmax != 0; ++k) sum += out[0](r, span.start + k).v;
                           worst = std::max(worst, std::fabs(sum));
                         });
                       return worst;
                     }};
      for (const double tau : {0.2, 1.0})
        add("gumbel softmax", SpanActivation{s, tau, kLow, kHigh},
            {real(rows, width), real(rows, width).range(0.02, 0.98).constant()},
            [s, tau](const Grids& in) { return activation(s, tau, in); }, {sums});
      std::vector<double> ends;
      for (int64_t i = 0; i < rows * width; ++i) ends.push_back(i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : 0.5);
      add("uniforms 0 and 1 are clamped", SpanActivation{s, 0.2, kLow, kHigh},
          {real(rows, width).range(-30, 30).constant(), real(rows, width).of(ends).constant()},
          [s](const Grids& in) { return activation(s, 0.2, in); }, {sums});
      add("backward", SpanActivationGrad{s, 0.2}, {real(rows, width).range(0.01, 0.9), real(rows, width)},
          [s](const Grids& in) { return activation_grad(s, 0.2, in); });
      add("sum", SpanReduce{s, false}, {real(rows, width)}, [s](const Grids& in) {
        Grid y(in[0].rows, s->count);
        for (int64_t r = 0; r < y.rows; ++r)
          spans_of(s, [&](const Item& span, int i) {
            for (int k = 0; k < span.width; ++k) y(r, i) += in[0](r, span.start + k);
          });
        return Grids{y};
      });
      add("sum of products", SpanReduce{s, false}, {real(rows, width), real(rows, width)}, [s](const Grids& in) {
        Grid y(in[0].rows, s->count);
        for (int64_t r = 0; r < y.rows; ++r)
          spans_of(s, [&](const Item& span, int i) {
            for (int k = 0; k < span.width; ++k) y(r, i) += in[0](r, span.start + k) * in[1](r, span.start + k);
          });
        return Grids{y};
      });
      add("spread", SpanSpread{s}, {real(rows, s->count)}, [s](const Grids& in) {
        Grid y(in[0].rows, s->width);
        for (int64_t r = 0; r < y.rows; ++r)
          spans_of(s, [&](const Item& span, int i) {
            for (int k = 0; k < span.width; ++k) y(r, span.start + k) = in[0](r, i);
          });
        return Grids{y};
      });
      add("max, a shift without derivative", SpanReduce{s, true}, {real(rows, width)}, [s](const Grids& in) {
        Grid y(in[0].rows, s->count);
        for (int64_t r = 0; r < y.rows; ++r)
          spans_of(s, [&](const Item& span, int i) {
            y(r, i) = in[0](r, span.start);
            for (int k = 1; k < span.width; ++k)
              if (in[0](r, span.start + k) > y(r, i)) y(r, i) = in[0](r, span.start + k);
          });
        return Grids{y};
      });
      cases.back().derived = false;
      add("draws", SpanSample{s, kLow, kHigh},
          {real(rows, width).constant(), real(rows, width).range(0.02, 0.98).constant()},
          [s](const Grids& in) { return sample(s, in); });
      const std::vector<double> half(static_cast<size_t>(rows * width), 0.5),
          level(static_cast<size_t>(rows * width), 1);
      add("the lowest of equal ones is drawn", SpanSample{s, kLow, kHigh},
          {real(rows, width).of(level).constant(), real(rows, width).of(half).constant()},
          [s](const Grids& in) { return sample(s, in); }, {{"all codes are 0", [](const Grids&, const Grids& out) {
                                                              double sum = 0;
                                                              for (const Number& n : out[0].cells)
                                                                sum += std::fabs(n.v);
                                                              return sum;
                                                            }}});
      std::vector<double> conditions;  // the first value and the last, none, and what lies between
      for (int64_t r = 0; r < rows; ++r)
        conditions.push_back(s->cond_width == 0 || r % 5 == 2
                                 ? -1
                                 : static_cast<double>(r % 5 == 0   ? 0
                                                       : r % 5 == 1 ? s->cond_width - 1
                                                                    : 7 * r % s->cond_width));
      const Input condition = index(rows, 1, 0, 0).of(conditions);
      add("cross-entropy", SpanCrossEntropy{s}, {real(rows, width).range(-4, 4), condition},
          [s](const Grids& in) { return cross_entropy(s, in); });
      add("its derivative", SpanCrossEntropyGrad{s}, {real(rows, width).range(-4, 4), condition, real(rows, 1)},
          [s](const Grids& in) { return cross_entropy_grad(s, in); },
          {{"a span of d_x sums to zero", [](const Grids&, const Grids& out) {
              double worst = 0;
              for (int64_t r = 0; r < out[0].rows; ++r) {
                double sum = 0;
                for (int64_t k = 0; k < out[0].cols; ++k) sum += out[0](r, k).v;
                worst = std::max(worst, std::fabs(sum));
              }
              return worst;
            }}});
      // Rows as gather_rows gives them: a choice in every softmax span, the only column of every tanh span.
      std::vector<double> chosen_columns;
      for (int64_t r = 0; r < rows; ++r)
        spans_of(s, [&](const Item& span, int i) {
          chosen_columns.push_back(span.start + (7 * static_cast<int>(r) + 3 * i) % span.width);
        });
      const Input at = index(rows, s->count, 0, 0).of(chosen_columns),
                  value = real(rows, s->count).range(-0.99, 0.99).constant();
      const Input sigma = s->tanhs > 0 ? real(1, s->tanhs).range(0.2, 1) : none();
      add("reconstruction loss", SpanReconstruction{s}, {real(rows, width).range(-4, 4), at, value, sigma},
          [s](const Grids& in) { return reconstruction(s, in); });
      add("large logits", SpanReconstruction{s},
          {real(rows, width).range(9996, 10004).constant(), at, value, s->tanhs > 0 ? sigma.constant() : sigma},
          [s](const Grids& in) { return reconstruction(s, in); });
      add("its derivative", SpanReconstructionGrad{s},
          {real(rows, width).range(-4, 4), at, value, sigma, real(rows, s->count)},
          [s](const Grids& in) { return reconstruction_grad(s, in); },
          {{"a softmax span of d_x sums to zero", [s](const Grids&, const Grids& out) {
              double worst = 0;
              for (int64_t r = 0; r < out[0].rows; ++r)
                spans_of(s, [&](const Item& span, int) {
                  double sum = 0;
                  for (int k = 0; k < span.width && span.softmax != 0; ++k) sum += out[0](r, span.start + k).v;
                  worst = std::max(worst, std::fabs(sum));
                });
              return worst;
            }}});
      for (const bool soft : {true, false})
        if (rows == 1)
          add("mask", SpanMask{s, soft}, {}, [s, soft](const Grids&) {
            Grid y(1, s->width);
            spans_of(s, [&](const Item& span, int) {
              for (int k = 0; k < span.width; ++k) y(0, span.start + k) = (span.softmax != 0) == soft ? 1 : 0;
            });
            return Grids{y};
          });
    }
  for (const auto& spans :
       {row({{0, 2, true, -1}}), row({{0, 1, true, -1}, {1, 31, true, -1}, {32, 7, true, 0}, {39, 129, true, -1}}),
        wide, row({{0, 300, true, -1}, {300, 5, true, -1}})})
    draw_cases(cases, spans);
}

}  // namespace tessera::oracle
