#include "models/privacy/graphical_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "base/error.h"

namespace tessera {
namespace {

bool holds(const std::vector<int>& all, const std::vector<int>& part) {
  return std::includes(all.begin(), all.end(), part.begin(), part.end());
}

// Maximal cliques of a triangulation, by eliminating the column whose clique is the smallest.
GraphicalModel::Sets triangulate(const std::vector<int>& sizes, const GraphicalModel::Sets& sets) {
  std::vector<std::set<int>> near(sizes.size());
  for (const auto& set : sets)
    for (const int a : set)
      for (const int b : set)
        if (a != b) near[static_cast<size_t>(a)].insert(b);
  std::vector<bool> gone(sizes.size());
  GraphicalModel::Sets cliques;
  for (size_t round = 0; round < sizes.size(); ++round) {
    size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t v = 0; v < sizes.size(); ++v) {
      if (gone[v]) continue;
      double cells = sizes[v];
      for (const int b : near[v]) cells *= sizes[static_cast<size_t>(b)];
      if (cells < least) least = cells, best = v;
    }
    std::vector<int> clique(near[best].begin(), near[best].end());
    for (const int a : clique) {
      near[static_cast<size_t>(a)].erase(static_cast<int>(best));
      for (const int b : clique)
        if (a != b) near[static_cast<size_t>(a)].insert(b);
    }
    clique.insert(std::lower_bound(clique.begin(), clique.end(), static_cast<int>(best)), static_cast<int>(best));
    gone[best] = true;
    if (std::none_of(cliques.begin(), cliques.end(), [&](const auto& c) { return holds(c, clique); }))
      cliques.push_back(std::move(clique));
  }
  return cliques;
}

double log_of(double p) { return std::log(std::max(p, 1e-300)); }

}  // namespace

int64_t GraphicalModel::cells(const std::vector<int>& sizes, const Sets& sets) {
  double total = 0;
  for (const auto& clique : triangulate(sizes, sets)) {
    double cells = 1;
    for (const int v : clique) cells *= sizes[static_cast<size_t>(v)];
    total += cells;
  }
  return static_cast<int64_t>(std::min(total, 1e18));
}

size_t GraphicalModel::size_of(const std::vector<int>& columns) const {
  size_t cells = 1;
  for (const int v : columns) cells *= static_cast<size_t>(sizes_[static_cast<size_t>(v)]);
  return cells;
}

std::vector<int32_t> GraphicalModel::cells_of(const std::vector<int>& columns, const std::vector<int>& part) const {
  std::vector<int32_t> out{0};
  for (const int v : columns) {
    const auto n = sizes_[static_cast<size_t>(v)];
    const bool in = std::binary_search(part.begin(), part.end(), v);
    std::vector<int32_t> next;
    next.reserve(out.size() * static_cast<size_t>(n));
    for (const int32_t at : out)
      for (int32_t k = 0; k < n; ++k) next.push_back(in ? at * n + k : at);
    out = std::move(next);
  }
  return out;
}

GraphicalModel::GraphicalModel(std::vector<int> levels, const Sets& sets) : sizes_(std::move(levels)) {
  Sets sets_left = triangulate(sizes_, sets);
  // Prim's tree of the largest separators; an empty one connects independent columns
  while (!sets_left.empty()) {
    size_t best = 0;
    int parent = -1;
    std::vector<int> separator;
    for (size_t k = 0; k < sets_left.size(); ++k)
      for (size_t c = 0; c < cliques_.size(); ++c) {
        std::vector<int> shared;
        std::set_intersection(sets_left[k].begin(), sets_left[k].end(), cliques_[c].columns.begin(),
                              cliques_[c].columns.end(), std::back_inserter(shared));
        if (parent < 0 || shared.size() > separator.size())
          best = k, parent = static_cast<int>(c), separator = std::move(shared);
      }
    Clique clique;
    clique.columns = sets_left[best], clique.separator = separator, clique.parent = parent;
    sets_left.erase(sets_left.begin() + static_cast<std::ptrdiff_t>(best));
    clique.cells = size_of(clique.columns), clique.separator_cells = size_of(separator);
    clique.to_separator = cells_of(clique.columns, separator);
    clique.potential.assign(clique.cells, 0);
    clique.down.assign(clique.separator_cells, 0);
    if (parent >= 0) {
      Clique& above = cliques_[static_cast<size_t>(parent)];
      clique.to_parents = cells_of(above.columns, separator);
      above.children.push_back(static_cast<int>(cliques_.size()));
    }
    cliques_.push_back(std::move(clique));
  }
}

void GraphicalModel::propagate() {
  for (size_t c = cliques_.size(); c-- > 0;) {
    Clique& q = cliques_[c];
    q.total = q.potential;
    for (const int k : q.children) {
      const Clique& child = cliques_[static_cast<size_t>(k)];
      for (size_t i = 0; i < q.cells; ++i) q.total[i] += child.up[static_cast<size_t>(child.to_parents[i])];
    }
    if (q.parent < 0) continue;
    const double top = *std::max_element(q.total.begin(), q.total.end());
    q.up.assign(q.separator_cells, 0);
    for (size_t i = 0; i < q.cells; ++i) q.up[static_cast<size_t>(q.to_separator[i])] += std::exp(q.total[i] - top);
    for (double& u : q.up) u = log_of(u) + top;
  }
  for (Clique& q : cliques_) {
    if (q.parent >= 0) {
      const Clique& above = cliques_[static_cast<size_t>(q.parent)];
      q.down.assign(q.separator_cells, 0);
      for (size_t i = 0; i < above.cells; ++i) q.down[static_cast<size_t>(q.to_parents[i])] += above.marginal[i];
      for (size_t s = 0; s < q.separator_cells; ++s) q.down[s] = log_of(q.down[s]) - q.up[s];
      for (size_t i = 0; i < q.cells; ++i) q.total[i] += q.down[static_cast<size_t>(q.to_separator[i])];
    }
    const double top = *std::max_element(q.total.begin(), q.total.end());
    q.marginal.resize(q.cells);
    double sum = 0;
    for (size_t i = 0; i < q.cells; ++i) sum += q.marginal[i] = std::exp(q.total[i] - top);
    for (double& m : q.marginal) m /= sum;
  }
}

void GraphicalModel::fit(const std::vector<NoisyMarginal>& marginals, double rows, int iterations) {
  struct Term {
    const NoisyMarginal* given;
    Clique* clique;
    std::vector<int32_t> map;
    std::vector<double> off;
    double weight;
  };
  std::vector<Term> terms;
  double largest = 0;
  for (const NoisyMarginal& m : marginals)
    for (Clique& q : cliques_)
      if (holds(q.columns, m.columns)) {
        terms.push_back({&m, &q, cells_of(q.columns, m.columns), {}, rows * rows / m.variance});
        largest = std::max(largest, terms.back().weight);
        break;
      }
  if (terms.size() != marginals.size()) throw Error(ErrorCode::internal, "a marginal is in no clique");
  for (Term& t : terms) t.weight /= largest;
  const auto loss = [&] {
    propagate();
    double sum = 0;
    for (Term& t : terms) {
      t.off.assign(t.given->counts.size(), 0);
      for (size_t i = 0; i < t.map.size(); ++i) t.off[static_cast<size_t>(t.map[i])] += t.clique->marginal[i];
      for (size_t k = 0; k < t.off.size(); ++k) {
        t.off[k] -= t.given->counts[k] / rows;
        sum += t.weight * t.off[k] * t.off[k] / 2;
      }
    }
    return sum;
  };
  double now = loss(), step = 1;
  const size_t n = cliques_.size();
  std::vector<std::vector<double>> before(n), slope(n), marginal(n);
  for (int i = 0; i < iterations; ++i) {
    for (size_t q = 0; q < n; ++q) {
      before[q] = cliques_[q].potential, marginal[q] = cliques_[q].marginal;
      slope[q].assign(cliques_[q].cells, 0);
    }
    for (const Term& t : terms) {
      std::vector<double>& s = slope[static_cast<size_t>(t.clique - cliques_.data())];
      for (size_t c = 0; c < t.map.size(); ++c) s[c] += t.weight * t.off[static_cast<size_t>(t.map[c])];
    }
    bool better = false;
    for (int tries = 0; tries < 12 && !better; ++tries) {
      for (size_t q = 0; q < n; ++q)
        for (size_t c = 0; c < cliques_[q].cells; ++c) cliques_[q].potential[c] = before[q][c] - step * slope[q][c];
      const double next = loss();
      double decrease = 0;
      for (size_t q = 0; q < n; ++q)
        for (size_t c = 0; c < cliques_[q].cells; ++c)
          decrease += slope[q][c] * (marginal[q][c] - cliques_[q].marginal[c]);
      better = next < now && now - next >= 0.1 * decrease;
      if (better) now = next, step *= 1.5;
      else step /= 3;
    }
    if (!better) break;
  }
  propagate();
}

std::vector<std::vector<int>> GraphicalModel::sample(int64_t rows, SecretNoise& noise) const {
  const auto n = static_cast<size_t>(rows);
  std::vector<std::vector<int>> out(sizes_.size(), std::vector<int>(n, 0));
  for (const Clique& q : cliques_) {
    // rows by the cell of the separator, in random order within it
    std::vector<std::vector<size_t>> groups(q.separator_cells);
    for (size_t r = 0; r < n; ++r) {
      size_t s = 0;
      for (const int v : q.separator)
        s = s * static_cast<size_t>(sizes_[static_cast<size_t>(v)]) +
            static_cast<size_t>(out[static_cast<size_t>(v)][r]);
      groups[s].push_back(r);
    }
    std::vector<std::vector<size_t>> of(q.separator_cells);
    for (size_t i = 0; i < q.cells; ++i) of[static_cast<size_t>(q.to_separator[i])].push_back(i);
    for (size_t s = 0; s < groups.size(); ++s) {
      std::vector<size_t>& group = groups[s];
      for (size_t k = group.size(); k > 1; --k) std::swap(group[k - 1], group[static_cast<size_t>(noise.below(k))]);
      double total = 0;
      for (const size_t i : of[s]) total += q.marginal[i];
      // systematic: the k-th row of the group takes the cell at (k + u)/size of the distribution
      double at = noise.uniform(), sum = 0;
      size_t cell = 0;
      for (const size_t r : group) {
        const double wanted = at / static_cast<double>(group.size()) * total;
        while (cell + 1 < of[s].size() && sum + q.marginal[of[s][cell]] < wanted) sum += q.marginal[of[s][cell++]];
        size_t rest = of[s][cell];
        for (size_t v = q.columns.size(); v-- > 0;) {
          const auto column = static_cast<size_t>(q.columns[v]), levels = static_cast<size_t>(sizes_[column]);
          out[column][r] = static_cast<int>(rest % levels);
          rest /= levels;
        }
        at += 1;
      }
    }
  }
  return out;
}

}  // namespace tessera
