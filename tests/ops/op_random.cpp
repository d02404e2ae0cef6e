// random, add_noise, fill, draw_conditions, gather_rows, gather_sequences, compact_rows, mixture_draw. Their
// statistics are in random.cpp and conditions.cpp; here are the exact numbers.
#include "op_case.h"
#include "philox_spec.h"

namespace tessera::oracle {
namespace {

constexpr uint64_t kSeed = 0xFEDCBA9876543210ull;

Drawer drawer(const Grid& rows, int64_t r, const StepState& state, int purpose) {
  if (rows.cells.empty()) return by_place(state.seed, r, state.step, purpose);
  auto id = [&](int64_t k) { return static_cast<uint32_t>(static_cast<int32_t>(rows(r, k).v)); };
  return {state.seed, id(0), id(1), id(2), static_cast<uint32_t>(purpose)};
}

Number element(const Random& op, const Drawer& d, int64_t c) {
  const auto w = d.words(static_cast<uint32_t>(op.block + c / 4));
  const double u = open_unit(w[static_cast<size_t>(c % 4)]);
  if (op.kind == Random::uniform) return u;
  if (op.kind == Random::bernoulli) return u < static_cast<double>(static_cast<float>(op.keep)) ? 1 : 0;
  const size_t pair = static_cast<size_t>(c % 4 / 2 * 2);
  // Box–Muller: the angle is exact, so cosine and sine have an absolute error of a few units
  const Number radius = sqrt(-2.0 * log(Number(open_unit(w[pair]))));
  const double turn = 2 * 3.14159265358979323846 * open_unit(w[pair + 1]);
  return radius * Number(c % 2 == 0 ? std::cos(turn) : std::sin(turn), 2);
}

std::vector<double> identities(int64_t rows) {
  std::vector<double> id;
  std::mt19937 random(1);
  for (int64_t r = 0; r < 3 * rows; ++r)
    id.push_back(static_cast<double>(static_cast<int32_t>(random()) >> (r % 3 == 2 ? 20 : 0)));
  return id;
}

// Three columns of 3, 1 and 4 values, some absent, over a table of eleven rows.
struct Conditions {
  static constexpr int kRows = 11;
  const std::vector<std::vector<int>> codes{
      {0, 2, 2, 0, 2, 2, 0, 0, 2, 2, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {3, 1, 1, 3, 1, 0, 1, 1, 1, 3, 0}};
  const std::vector<int> start{0, 3, 4, 8};
  std::vector<double> cumulative, offset, index;
  Conditions() {
    for (size_t j = 0; j < codes.size(); ++j) {
      int count = 0;
      for (int v = 0; v < start[j + 1] - start[j]; ++v) {
        offset.push_back(count);
        for (int r = 0; r < kRows; ++r)
          if (codes[j][static_cast<size_t>(r)] == v) index.push_back(r), ++count;
        cumulative.push_back(static_cast<double>(static_cast<float>(count) / kRows));
      }
      offset.push_back(count);
    }
  }
};

uint32_t scaled(uint32_t word, int64_t n) {
  return static_cast<uint32_t>(static_cast<uint64_t>(word) * static_cast<uint64_t>(n) >> 32);
}

}  // namespace

void source_cases(Cases& cases) {
  for (const auto& [r, c] : {std::pair{1, 1}, {2, 31}, {33, 65}, {17, 131}})
    for (const bool identified : {false, true}) {
      const StepState state{kSeed, (int64_t{5} << 32) + 77, -1};
      // The number that the first element is compared with: not less than itself.
      const double first = open_unit(
          drawer(identified
                     ? grid(1, 3, [&](int64_t, int64_t k) { return Number(identities(r)[static_cast<size_t>(k)]); })
                     : Grid(),
                 0, state, 5)
              .words(0)[0]);
      for (const Random& op : {Random{Random::uniform, 3, r, c, 0}, Random{Random::normal, 0x1001, r, c, 0},
                               Random{Random::bernoulli, 4, r, c, 0.3}, Random{Random::bernoulli, 5, r, c, first},
                               Random{Random::normal, 6, r, c, 0, 0, 3}}) {
        Case x{identified ? "rows by identity" : "rows by place and step",
               op,
               {identified ? index(r, 3, 0, 0).of(identities(r)) : none()},
               [op, state](const Grids& in) {
                 return Grids{grid(op.rows, op.cols, [&](int64_t i, int64_t k) {
                   return element(op, drawer(in[0], i, state, op.purpose), k);
                 })};
               }};
        x.by_rows = identified;
        x.state = state;
        cases.push_back(x);
      }
    }
  for (const auto& [r, c] : {std::pair{1, 1}, {1, 16411}, {33, 65}}) {
    const AddNoise op{0x1001, 0.3};
    const StepState state{kSeed, (int64_t{5} << 32) + 77, -1};
    Case x{"two normal numbers", op, {real(r, c)}, [op, state](const Grids& in) {
             return Grids{grid(in[0].rows, in[0].cols, [&](int64_t i, int64_t k) {
               const auto drawn = [&](int purpose) {
                 return element({Random::normal, purpose, 0, 0, 0}, by_place(state.seed, i, state.step, purpose), k);
               };
               return in[0](i, k) + rounded(op.scale, 0) * (drawn(op.purpose) + drawn(op.purpose + 1));
             })};
           }};
    x.state = state;
    cases.push_back(x);
  }
  for (const auto& [r, c] : {std::pair{1, 1}, {31, 33}, {65, 2}})
    cases.push_back(
        {"constant", Fill{r, c, -2.5}, {}, [r = r, c = c](const Grids&) { return Grids{Grid(r, c, -2.5)}; }});

  // Shares as they are, and where rounding has left the last short of 1 and the first row's number is just a column's
  // first share.
  for (const auto& [sampling, rows, short_of] : {std::tuple{false, 1, false},
                                                 {true, 1, false},
                                                 {false, 31, false},
                                                 {true, 31, false},
                                                 {false, 65, false},
                                                 {true, 65, false},
                                                 {false, 65, true}}) {
    Conditions k;
    const DrawConditions op{9, rows, 3, sampling ? 0 : Conditions::kRows};
    const StepState state{kSeed, 12, -1};
    if (short_of) {
      for (double& share : k.cumulative) share *= 0.75;
      const auto w = drawer(Grid(), 0, state, op.purpose).words(0);
      const size_t j = scaled(w[0], op.columns);
      for (size_t v = static_cast<size_t>(k.start[j]); v < static_cast<size_t>(k.start[j + 1]); ++v)
        k.cumulative[v] =
            v == static_cast<size_t>(k.start[j]) ? open_unit(w[1]) : std::max(k.cumulative[v], open_unit(w[1]));
    }
    auto column = [](const std::vector<double>& v) { return index(static_cast<int64_t>(v.size()), 1, 0, 0).of(v); };
    Case x{sampling ? "conditions alone" : "conditions and rows",
           op,
           {real(1, 8).of(k.cumulative).constant(), column({0, 3, 4, 8}), column(k.offset), column(k.index), none()},
           [op, state](const Grids& in) {
             Grid condition(op.rows, 1), row(op.rows, 1, -1);
             for (int64_t r = 0; r < op.rows; ++r) {
               const auto w = drawer(Grid(), r, state, op.purpose).words(0);
               const int64_t j = scaled(w[0], op.columns);
               int64_t v = static_cast<int64_t>(in[1](j, 0).v);
               while (static_cast<double>(v + 1) < in[1](j + 1, 0).v && !(in[0](0, v).v > open_unit(w[1]))) ++v;
               condition(r, 0) = static_cast<double>(v);
               const int64_t first = static_cast<int64_t>(in[2](v + j, 0).v),
                             last = static_cast<int64_t>(in[2](v + j + 1, 0).v);
               if (op.table_rows > 0) row(r, 0) = in[3](j * op.table_rows + first + scaled(w[2], last - first), 0);
             }
             return Grids{condition, row};
           }};
    x.state = state;
    x.in[0].smooth = false;
    cases.push_back(x);
  }
  for (const int64_t table : {0, 1, 1000}) {
    const DrawConditions op{2, 33, 0, table};
    const StepState state{kSeed, 1, -1};
    Case x{"no discrete column",
           op,
           {real(1, 1), index(1, 1, 0, 0), index(1, 1, 0, 0), index(1, 1, 0, 0), none()},
           [op, state](const Grids&) {
             return Grids{Grid(op.rows, 1, -1), grid(op.rows, 1, [&](int64_t r, int64_t) {
                            return op.table_rows == 0 ? Number(-1)
                                                      : Number(scaled(drawer(Grid(), r, state, op.purpose).words(0)[2],
                                                                      op.table_rows));
                          })};
           }};
    x.in[0].smooth = false;
    x.state = state;
    cases.push_back(x);
  }

  const auto spans = std::make_shared<const Spans>(
      std::vector<Spans::Item>{{0, 1, false, -1}, {1, 3, true, -1}, {4, 5, true, 0}, {9, 1, false, -1}});
  for (const int64_t rows : {1, 31, 65}) {
    Case x{"a row's spans in order",
           GatherRows{spans->table()},
           {index(13, 2, 0, 2), real(13, 2).constant(), index(rows, 1, 0, 12)},
           [rows](const Grids& in) {
             Grid at(rows, 4), value(rows, 4, 1);
             for (int64_t r = 0; r < rows; ++r) {
               const int64_t from = static_cast<int64_t>(in[2](r, 0).v);
               at(r, 0) = 0, at(r, 1) = 1 + in[0](from, 0).v, at(r, 2) = 4 + in[0](from, 1).v, at(r, 3) = 9;
               value(r, 0) = in[1](from, 0), value(r, 3) = in[1](from, 1);
             }
             return Grids{at, value};
           }};
    x.tables = spans;
    cases.push_back(x);
  }

  for (const auto& [rows, width, steps] : {std::tuple{1, 1, 1}, {33, 5, 4}, {65, 3, 9}}) {
    Case x{"padded to the longest, cut there too",
           GatherSequences{steps},
           {real(40, width).constant(), index(4, 1, 0, 0).of({0, 7, 20, 30}), index(4, 1, 0, 0).of({7, 1, 10, 3}),
            index(rows, 1, 0, 3)},
           [rows = rows, width = width, steps = steps](const Grids& in) {
             Grid to(rows, steps * width), length(rows, 1), valid(rows, steps);
             for (int64_t r = 0; r < rows; ++r) {
               const int64_t s = static_cast<int64_t>(in[3](r, 0).v), first = static_cast<int64_t>(in[1](s, 0).v),
                             n = std::min<int64_t>(static_cast<int64_t>(in[2](s, 0).v), steps);
               length(r, 0) = static_cast<double>(n);
               for (int64_t t = 0; t < n; ++t) {
                 valid(r, t) = 1;
                 for (int64_t k = 0; k < width; ++k) to(r, t * width + k) = in[0](first + t, k);
               }
             }
             return Grids{to, length, valid};
           }};
    x.by_rows = rows > 4;
    cases.push_back(x);
  }

  for (const auto& [rows, codes, alphas] :
       {std::tuple{1, 1, 1}, {33, 5, 2}, {1025, 3, 0}, {2047, 0, 3}, {2500, 4, 1}, {40, 0, 0}})
    for (const auto& [note, low, high] :
         {std::tuple{"some", -1.0, 1.0}, {"all", 0.5, 1.0}, {"none", -1.0, -0.5}, {"few", -1.0, 0.02}}) {
      Case x{std::string(note) + " are kept",
             CompactRows{},
             {real(rows, 1).range(low, high).constant(), index(rows, codes, -5, 5), real(rows, alphas).constant()},
             [rows = rows, codes = codes, alphas = alphas](const Grids& in) {
               Grid count(1, 1), row(rows, 1, -1), c(rows, codes), a(rows, alphas);
               int64_t n = 0;
               for (int64_t r = 0; r < rows; ++r) {
                 if (!(in[0](r, 0).v > 0)) continue;
                 row(n, 0) = static_cast<double>(r);
                 for (int64_t k = 0; k < codes; ++k) c(n, k) = in[1](r, k);
                 for (int64_t k = 0; k < alphas; ++k) a(n, k) = in[2](r, k);
                 ++n;
               }
               count(0, 0) = static_cast<double>(n);
               return Grids{count, row, c, a};
             }};
      cases.push_back(x);
    }

  for (const auto& [rows, d, components] : {std::tuple{1, 1, 1}, {2, 5, 3}, {33, 17, 4}}) {
    Case x{"mean and factor of the row's component",
           MixtureDraw{},
           {real(rows, d).constant(), index(rows, 1, 0, components - 1), real(components, d).constant(),
            real(components * d, d).constant()},
           [rows = rows, d = d](const Grids& in) {
             return Grids{grid(rows, d, [&](int64_t r, int64_t a) {
               const int64_t k = static_cast<int64_t>(in[1](r, 0).v);
               Number sum = in[2](k, a);
               for (int64_t b = 0; b < d; ++b) sum += in[3](k * d + a, b) * in[0](r, b);
               return sum;
             })};
           }};
    x.by_rows = rows > 1;
    cases.push_back(x);
  }
}

}  // namespace tessera::oracle
