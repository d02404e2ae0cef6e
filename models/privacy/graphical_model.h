// The distribution of largest entropy with given noisy marginals, by belief propagation on a junction tree and mirror
// descent (McKenna, Sheldon, Miklau 2019, arXiv 1901.09136), and rows drawn from it.
#pragma once
#include <cstdint>
#include <vector>

#include "models/privacy/noise.h"

namespace tessera {

// Counts of the combinations of levels of some columns (ascending); the last column's level varies fastest.
struct NoisyMarginal {
  std::vector<int> columns;
  std::vector<double> counts;
  double variance = 1;  // of the noise of a count
};

class GraphicalModel {
 public:
  using Sets = std::vector<std::vector<int>>;  // of columns
  // Cells of the junction tree that has each set in a clique.
  static int64_t cells(const std::vector<int>& sizes, const Sets& sets);

  // `levels` of each column, with at least one marginal of every column.
  GraphicalModel(std::vector<int> levels, const Sets& sets);
  void fit(const std::vector<NoisyMarginal>& marginals, double rows, int iterations);
  // The levels of each column of the rows. Each clique's counts are rounded together, so that they vary by less than
  // independent rows would.
  std::vector<std::vector<int>> sample(int64_t rows, SecretNoise& noise) const;

 private:
  struct Clique {
    std::vector<int> columns, separator;  // separator: shared with the parent
    int parent = -1;
    std::vector<int> children;
    std::vector<int32_t> to_separator, to_parents;  // of each cell; of each cell of the parent: the separator's cell
    size_t cells = 0, separator_cells = 0;
    std::vector<double> potential, total, marginal, up, down;
  };
  std::vector<int32_t> cells_of(const std::vector<int>& columns, const std::vector<int>& part) const;
  size_t size_of(const std::vector<int>& columns) const;
  void propagate();
  std::vector<int> sizes_;
  std::vector<Clique> cliques_;  // parents first
};

}  // namespace tessera
