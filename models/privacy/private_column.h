// A column as noisy counts know it: leaves (values, or ranges of a grid of numbers) and the levels they form.
#pragma once
#include <string>
#include <vector>

#include "models/privacy/ledger.h"
#include "tables/table/table.h"

namespace tessera {

// Removes all information about rows from a column's head, except what is declared.
void keep_declared(Column& column);

class PrivateColumn {
 public:
  // From what the user declares; Error(usage | data) naming the column if that is not enough, or wrong.
  explicit PrivateColumn(const Column& column);

  const Column& head() const { return head_; }
  bool needs_threshold() const { return !numeric_ && values_.empty(); }
  int64_t mechanisms() const;  // of measure(): counts that a row changes by 1

  // Reads the column: noisy counts of leaves, of a table of about `rows`.
  void measure(const Column& column, double rows, uint64_t sigma2, double threshold_delta, SecretNoise& noise,
               Ledger& ledger);
  // Whether ranges of numbers have enough rows to count their parts.
  bool is_coarse() const;
  // Reads the column: counts of these parts.
  void divide(const Column& column, uint64_t sigma2, SecretNoise& noise, Ledger& ledger);
  static constexpr int kMaxDivisions = 3;

  // Leaves as frequencies, and levels of at least `least` rows, about `bins` of them where numbers vary.
  void form_levels(double least, int bins);
  int levels() const { return static_cast<int>(counts_.size()); }
  const std::vector<double>& counts() const { return counts_; }  // of levels
  double variance() const { return variance_; }                  // of the noise of one of them, on average

  std::vector<int> levels_of(const Column& column, int64_t rows) const;
  Column draw(const std::vector<int>& levels, SecretNoise& noise) const;

 private:
  struct Leaf {
    int64_t first, last;  // points of the grid, or the index of a value; −1: missing
    double count = 0, variance = 0;
    int level = 0;
  };
  void find_range(const Column& column, uint64_t sigma2, SecretNoise& noise, Ledger& ledger);
  void measure_numbers(const Column& column, uint64_t sigma2, SecretNoise& noise, Ledger& ledger);
  void count(const Column& column, const std::vector<bool>& wanted, const char* what, uint64_t sigma2,
             SecretNoise& noise, Ledger& ledger);
  void smooth(size_t begin, size_t end, bool parts);
  bool has_many(const Leaf& leaf) const;
  static std::vector<Leaf> parts_of(const Leaf& leaf, int64_t parts);
  void measure_texts(const Column& column, uint64_t sigma2, double threshold_delta, SecretNoise& noise, Ledger& ledger);
  int64_t point_of(double x) const;
  size_t leaf_of(int64_t point) const;  // index in leaves_ of a number that is not missing

  Column head_;
  bool numeric_ = false, ranged_ = false;
  double low_ = 0, step_ = 1;
  int64_t points_ = 1;
  std::vector<std::string> values_;
  std::vector<Leaf> leaves_;  // ascending; the last is "missing"
  double rows_ = 1, variance_ = 1;
  std::vector<double> counts_;
};

}  // namespace tessera
