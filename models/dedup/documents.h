// Texts compared as sets of their pieces of five bytes (Broder 1997, "On the resemblance and containment of
// documents"): similarity is Jaccard's, the share of the pieces of either text that both have.
#pragma once
#include <string>
#include <vector>

#include "models/dedup/groups.h"
#include "models/dedup/search.h"

namespace tessera::dedup {

class Documents final : public Compared {
 public:
  // A row's text: the texts of all columns of `own`, which hold texts, on lines of their own. `other` may be null, and
  // has the same columns. Both must outlive the result.
  Documents(const Table& own, const Table* other, double threshold);

  bool equal(int32_t a, int32_t b) const override;
  bool near(int32_t a, int32_t b) const override { return near(pieces(a), pieces(b)); }
  double similarity(int32_t a, int32_t b) const override { return similarity(pieces(a), pieces(b)); }
  bool cell_equal(size_t column, int32_t a, int32_t b) const override;
  uint64_t hash(int32_t row) const override;

  using Pieces = std::vector<uint32_t>;  // hashes of the pieces, ascending, each once
  Pieces pieces(int32_t row) const;
  bool near(const Pieces& a, const Pieces& b) const;
  static double similarity(const Pieces& a, const Pieces& b);
  void text(int32_t row, std::string& out) const;  // its columns one below the other
  // The hash of the piece at every byte of the text, in order; a text of fewer bytes is one piece.
  void hash_pieces(int32_t row, std::vector<uint32_t>& out) const;
  double threshold() const { return threshold_; }

 private:
  std::string_view cell(size_t column, int32_t row) const;  // missing: ""

  const Table* tables_[2];
  double threshold_;
};

// Links near copies among `some` rows, ascending. Each text gets 128 minima of random hashes of its pieces; two texts
// agree in a minimum with probability J. A key is the hash of r minima; texts that agree in one of the 128/r keys are
// compared by their pieces. r is the largest with a recall of .99 at the threshold.
KeySearch find_near_documents(const Documents& documents, const RowList& some, Groups& groups,
                              const quality::Workers& workers);

// Minima of a key, and the share of pairs at the threshold that are found.
struct BandSize {
  int64_t minima;
  double recall;
};
BandSize band_size(double threshold);

}  // namespace tessera::dedup
