#include "privacy/attacks/linkage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "models/quality/metrics/comparison.h"

namespace tessera::privacy {
namespace {

enum : size_t { kReference, kMembers, kHeldOut, kSynthetic };
using quality::Comparison;

// A number as what an attacker takes for the same: one of 20 equal parts of the reference's range; a level. −1:
// missing.
int32_t cell(const Comparison& c, size_t table, size_t column, size_t row) {
  const quality::ComparedColumn &of = c.tables[table].columns[column], &scale = c.tables[kReference].columns[column];
  if (of.is_missing(static_cast<int64_t>(row))) return -1;
  if (c.facts[column].kind == quality::Kind::categorical) return of.codes[row];
  const double width = scale.high - scale.low;
  return width > 0 ? static_cast<int32_t>(std::floor(20 * (of.numbers[row] - scale.low) / width)) : 0;
}

// Anonymeter's multivariate predicate: of a synthetic row's columns, categories equal, numbers at least or at most the
// row's value, away from the median.
struct Predicate {
  struct Term {
    size_t column;
    int32_t level;
    double value;
    bool at_least;
  };
  std::vector<Term> terms;

  bool met(const Comparison& c, size_t table, size_t row) const {
    return std::all_of(terms.begin(), terms.end(), [&](const Term& t) {
      const quality::ComparedColumn& x = c.tables[table].columns[t.column];
      if (c.facts[t.column].kind == quality::Kind::categorical) return x.codes[row] == t.level;
      return t.at_least ? x.numbers[row] >= t.value : x.numbers[row] <= t.value;
    });
  }
  // The only row that meets it, or none.
  std::optional<size_t> singled_out(const Comparison& c, size_t table) const {
    std::optional<size_t> found;
    for (size_t i = 0; i < static_cast<size_t>(c.tables[table].rows); ++i) {
      if (!met(c, table, i)) continue;
      if (found) return {};
      found = i;
    }
    return found;
  }
};

std::vector<double> medians(const Comparison& c) {
  std::vector<double> out;
  for (const quality::ComparedColumn& column : c.tables[kReference].columns) {
    std::vector<double> present;
    for (const double x : column.numbers)
      if (x == x) present.push_back(x);
    std::sort(present.begin(), present.end());
    out.push_back(present.empty() ? 0 : present[present.size() / 2]);
  }
  return out;
}

class Linkage {
 public:
  Linkage(const Split& s, const Table& synthetic, const LinkageOptions& o)
      : c_(quality::compare_tables(
            {{"reference", s.reference}, {"members", s.members}, {"held-out", s.held_out}, {"synthetic", &synthetic}})),
        options_(o),
        random_(o.seed) {
    for (size_t k = 0; k < c_.facts.size(); ++k) {
      const std::string& name = c_.facts[k].name;
      if (name == o.secret) secret_ = k;
      else (std::find(o.known.begin(), o.known.end(), name) != o.known.end() ? known_ : others_).push_back(k);
    }
  }

  Attack singling_out() {
    std::set<size_t> members, held_out;  // a person whom many predicates find counts once: they are alike
    int64_t guesses = 0;
    const std::vector<double> median = medians(c_);
    const auto synthetic = static_cast<size_t>(c_.tables[kSynthetic].rows);
    for (int64_t tries = 0; tries < 100 * options_.guesses && guesses < options_.guesses; ++tries) {
      Predicate p;
      const size_t row = random_() % synthetic;
      Columns columns = all_columns(c_);
      std::shuffle(columns.begin(), columns.end(), random_);
      columns.resize(std::min<size_t>(columns.size(), 3 + random_() % 2));
      for (const size_t k : columns) {
        const quality::ComparedColumn& x = c_.tables[kSynthetic].columns[k];
        if (x.is_missing(static_cast<int64_t>(row))) continue;
        if (c_.facts[k].kind == quality::Kind::categorical) p.terms.push_back({k, x.codes[row], 0, false});
        else p.terms.push_back({k, 0, x.numbers[row], x.numbers[row] >= median[k]});
      }
      if (p.terms.empty() || !p.singled_out(c_, kSynthetic)) continue;
      ++guesses;
      if (const auto person = p.singled_out(c_, kMembers)) members.insert(*person);
      if (const auto person = p.singled_out(c_, kHeldOut)) held_out.insert(*person);
    }
    return {"singling out",
            {static_cast<int64_t>(members.size()), c_.tables[kMembers].rows},
            {static_cast<int64_t>(held_out.size()), c_.tables[kHeldOut].rows}};
  }

  Attack linkability() {
    return each("linkability", [&](size_t table, size_t row) {
      return nearest(c_, known_, table, row, kSynthetic) == nearest(c_, others_, table, row, kSynthetic);
    });
  }

  Attack inference() {
    return each("inference", [&](size_t table, size_t row) {
      return cell(c_, kSynthetic, secret_, nearest(c_, known_, table, row, kSynthetic)) ==
             cell(c_, table, secret_, row);
    });
  }

  // Of everybody whose known columns nobody else shares, on neither side nor in the reference, so that both sides are
  // alike.
  Attack rare_combinations() {
    std::map<std::vector<int32_t>, int> people;
    for (const size_t table : {kReference, kMembers, kHeldOut})
      for (size_t i = 0; i < static_cast<size_t>(c_.tables[table].rows); ++i) ++people[combination(table, i, false)];
    std::map<std::vector<int32_t>, int> made;
    for (size_t i = 0; i < static_cast<size_t>(c_.tables[kSynthetic].rows); ++i)
      ++made[combination(kSynthetic, i, true)];
    Attack out{"rare combinations", {}, {}};
    for (const auto& [table, rate] : {std::pair{kMembers, &out.members}, {kHeldOut, &out.held_out}})
      for (size_t i = 0; i < static_cast<size_t>(c_.tables[table].rows); ++i)
        if (people[combination(table, i, false)] == 1)
          ++rate->trials, rate->hits += made.count(combination(table, i, true)) != 0;
    return out;
  }

 private:
  std::vector<int32_t> combination(size_t table, size_t row, bool secret) const {
    std::vector<int32_t> out;
    for (const size_t k : known_) out.push_back(cell(c_, table, k, row));
    if (secret) out.push_back(cell(c_, table, secret_, row));
    return out;
  }
  template <class Guess>
  Attack each(const char* name, Guess right) {
    Attack out{name, {}, {}};
    for (const auto& [table, rate] : {std::pair{kMembers, &out.members}, {kHeldOut, &out.held_out}})
      for (size_t i = 0; i < static_cast<size_t>(std::min(c_.tables[table].rows, options_.guesses)); ++i)
        ++rate->trials, rate->hits += right(table, i);
    return out;
  }

  Comparison c_;
  LinkageOptions options_;
  std::mt19937_64 random_;
  Columns known_, others_;
  size_t secret_ = 0;
};

}  // namespace

std::vector<Attack> linkage_attacks(const Split& split, const Table& synthetic, const LinkageOptions& options) {
  Linkage l(split, synthetic, options);
  return {l.singling_out(), l.linkability(), l.inference(), l.rare_combinations()};
}

}  // namespace tessera::privacy
