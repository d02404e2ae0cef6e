// all_gather; reshape, slice_rows, slice_cols, concat_rows, concat_cols, as kernels: placement turns most of these into
// views; the kernels copy the others. Exact.
#include <cstring>

#include "op_case.h"

namespace tessera::oracle {
namespace {

// Ranks with equal contents.
int echoing_ranks = 3;
const Wires kEcho{&echoing_ranks,
                  [](void* ranks, const void* from, void* to, int64_t bytes, int64_t apart, void*) {
                    for (int r = 0; r < *static_cast<int*>(ranks); ++r)
                      std::memcpy(static_cast<char*>(to) + r * apart, from, static_cast<size_t>(bytes));
                    return true;
                  },
                  [](void* ranks, const void* from, int64_t total, int64_t part, void* room, const void** at, void*) {
                    // this rank is the last one
                    const int64_t before = (total - 1) / part * part, own = total - before;
                    const char* mine = static_cast<const char*>(from) + before;
                    for (int64_t r = 0; r <= before / part; ++r) {
                      at[r] = mine;
                      if (room != nullptr)
                        std::memcpy(static_cast<char*>(room) + r * own, mine, static_cast<size_t>(own));
                    }
                    return ranks != nullptr;
                  },
                  [](void* ranks, void*, int64_t, int64_t, void*) { return ranks != nullptr; }};

}  // namespace

void view_cases(Cases& cases) {
  for (const int64_t n : {1, 33, 1025})
    cases.push_back(
        {"of ranks that hold the same", AllGather{&kEcho, 3}, {real(1, 1), real(1, n)}, [](const Grids& in) {
           return Grids{in[0], grid(3, in[1].cols, [&](int64_t, int64_t k) { return in[1](0, k); })};
         }});
  // Σ over 3 and 5 ranks that all have the same, in the part of the last one
  for (const auto& [n, part, ranks] : {std::tuple{3, 1, 3}, {70, 32, 3}, {5000, 1111, 5}}) {
    const int64_t from = part * (ranks - 1);
    cases.push_back({"of ranks that hold the same",
                     ReduceParts{&kEcho, ranks, ranks - 1, part},
                     {real(1, 1), real(1, n)},
                     [n = n, ranks = ranks, from](const Grids& in) {
                       return Grids{in[0], grid(1, n - from, [&](int64_t, int64_t k) {
                                      const auto x = in[1](0, from + k);
                                      return ranks == 3 ? x + (x + x) : (x + x) + (x + (x + x));
                                    })};
                     }});
  }
  cases.push_back(
      {"as their owners have them", GatherParts{&kEcho, 1, 0}, {real(1, 1), real(1, 40)}, [](const Grids& in) {
         return in;
       }});
  for (const auto& [r, c, p, q] : {std::tuple{6, 35, 21, 10}, {1, 65, 65, 1}, {31, 2, 1, 62}, {10, 33, 1, 330}})
    cases.push_back({"same elements", Reshape{p, q}, {real(r, c)}, [p = p, q = q](const Grids& in) {
                       Grid y = in[0];
                       y.rows = p, y.cols = q;
                       return Grids{y};
                     }});
  for (const auto& [r, c, start, n] : {std::tuple{33, 65, 0, 31}, {33, 65, 32, 1}, {40, 3, 2, 37}}) {
    cases.push_back({"rows", SliceRows{start, n}, {real(r, c)}, [start = start, n = n](const Grids& in) {
                       return Grids{grid(n, in[0].cols, [&](int64_t i, int64_t k) { return in[0](start + i, k); })};
                     }});
    cases.push_back({"columns", SliceCols{start, n}, {real(c, r)}, [start = start, n = n](const Grids& in) {
                       return Grids{grid(in[0].rows, n, [&](int64_t i, int64_t k) { return in[0](i, start + k); })};
                     }});
    cases.back().by_rows = true;
  }
  for (const auto& sizes : {std::vector<int64_t>{1}, {2, 31}, {33, 1, 64}}) {
    Case rows{"stacked", ConcatRows{}, {}, [](const Grids& in) {
                Grid y(0, in[0].cols);
                for (const Grid& x : in) {
                  y.rows += x.rows;
                  y.cells.insert(y.cells.end(), x.cells.begin(), x.cells.end());
                }
                return Grids{y};
              }};
    Case cols{"side by side", ConcatCols{}, {}, [](const Grids& in) {
                Grid y(in[0].rows, 0);
                for (const Grid& x : in) y.cols += x.cols;
                y.cells.resize(static_cast<size_t>(y.rows * y.cols));
                int64_t at = 0;
                for (const Grid& x : in) {
                  for (int64_t i = 0; i < x.rows; ++i)
                    for (int64_t k = 0; k < x.cols; ++k) y(i, at + k) = x(i, k);
                  at += x.cols;
                }
                return Grids{y};
              }};
    for (const int64_t n : sizes) {
      rows.in.push_back(real(n, 33));
      cols.in.push_back(real(35, n));
    }
    cols.by_rows = true;
    cases.push_back(rows);
    cases.push_back(cols);
  }
}

}  // namespace tessera::oracle
