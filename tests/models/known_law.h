// Two categories and a number whose joint law is known: P(a) = .5, .3, .2; b = a with .9, else the next one; x normal
// about 10·a.
#pragma once
#include "models/tables.h"

namespace tessera::whole {

inline Table known_categories(int64_t n) {
  const auto a = [](int64_t i) {
    const double u = uniform(i, 1);
    return u < 0.5 ? 0 : u < 0.8 ? 1 : 2;
  };
  const auto b = [=](int64_t i) { return uniform(i, 2) < 0.9 ? a(i) : (a(i) + 1) % 3; };
  return table({texts_by("a", n, [=](int64_t i) { return "a" + std::to_string(a(i)); }),
                texts_by("b", n, [=](int64_t i) { return "b" + std::to_string(b(i)); })});
}

inline Table known_rows(int64_t n) {
  Table t = known_categories(n);
  const Column& a = t.columns[0];
  t.columns.push_back(decimals_by(
      "x", n, 2, [&](int64_t i) { return std::nearbyint(100 * (10 * (cell(a, i)[1] - '0') + normal(i, 3))) / 100; }));
  return t;
}

// In total variation; independent columns are at a distance of about .53.
inline double distance_from_known(const Table& made) {
  const double of_a[] = {0.5, 0.3, 0.2};
  double distance = 0;
  for (int x = 0; x < 3; ++x)
    for (int y = 0; y < 3; ++y) {
      const double want = of_a[x] * (y == x ? 0.9 : y == (x + 1) % 3 ? 0.1 : 0);
      const double found = share(made, [&](int64_t i) {
        return text(made, "a", i) == "a" + std::to_string(x) && text(made, "b", i) == "b" + std::to_string(y);
      });
      distance += std::fabs(found - want) / 2;
    }
  return distance;
}

}  // namespace tessera::whole
