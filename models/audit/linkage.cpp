// Guesses about a person that other columns of the person lead to. Right about anybody as often as the population lets
// them be; about members no more often than about held-out people.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "models/audit/attacks.h"
#include "models/audit/draws.h"
#include "models/quality/common/statistics.h"
#include "models/quality/metrics/utility.h"

namespace tessera::audit {
namespace {

using quality::ComparedColumn;
using quality::Comparison;

enum : uint32_t { kPredicates, kCombinations };  // draws of guesses

double draw(uint64_t seed, uint32_t which, int64_t guess, uint32_t use) {
  const Philox p =
      quality::random_words(seed, kDrawnGuesses, use, static_cast<uint64_t>(guess) | uint64_t{which} << 32);
  return open_uniform(p.word[0], p.word[1]);
}

// `count` of the columns.
std::vector<size_t> some_columns(const Comparison& c, size_t count, uint64_t seed, uint32_t which, int64_t guess) {
  std::vector<std::pair<double, size_t>> keyed;
  for (size_t k = 0; k < c.facts.size(); ++k)
    keyed.emplace_back(draw(seed, which, guess, static_cast<uint32_t>(16 + k)), k);
  std::sort(keyed.begin(), keyed.end());
  std::vector<size_t> out;
  for (size_t k = 0; k < std::min(count, keyed.size()); ++k) out.push_back(keyed[k].second);
  return out;
}

// A cell as an attacker compares it: the index of one of 20 equal intervals of the reference's range, or the level; −1:
// missing.
int32_t cell(const Comparison& c, size_t table, size_t column, size_t row) {
  const ComparedColumn &of = c.tables[table].columns[column], &scale = c.tables[kReference].columns[column];
  if (of.is_missing(static_cast<int64_t>(row))) return -1;
  if (c.facts[column].kind == quality::Kind::categorical) return of.codes[row];
  const double width = scale.high - scale.low;
  return width > 0 ? static_cast<int32_t>(std::floor(20 * std::clamp((of.numbers[row] - scale.low) / width, -1.0, 2.0)))
                   : 0;
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
      const ComparedColumn& x = c.tables[table].columns[t.column];
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

Predicate predicate(const Comparison& c, const std::vector<double>& median, uint64_t seed, int64_t guess) {
  Predicate p;
  const auto row =
      static_cast<size_t>(draw(seed, kPredicates, guess, 0) * static_cast<double>(c.tables[kSynthetic].rows));
  const size_t count = draw(seed, kPredicates, guess, 1) < 0.5 ? 3 : 4;
  for (const size_t k : some_columns(c, count, seed, kPredicates, guess)) {
    const ComparedColumn& x = c.tables[kSynthetic].columns[k];
    if (x.is_missing(static_cast<int64_t>(row))) continue;
    if (c.facts[k].kind == quality::Kind::categorical) p.terms.push_back({k, x.codes[row], 0, false});
    else p.terms.push_back({k, 0, x.numbers[row], x.numbers[row] >= median[k]});
  }
  return p;
}

std::vector<double> medians(const Comparison& c) {
  std::vector<double> out;
  for (const ComparedColumn& column : c.tables[kReference].columns) {
    std::vector<double> present;
    for (const double x : column.numbers)
      if (x == x) present.push_back(x);
    out.push_back(present.empty() ? 0 : quality::median(std::move(present)));
  }
  return out;
}

// The synthetic rows that are nearest to a row in parts of its columns: in the even ones, in the odd ones, and in all
// but each of them; the first of equal ones.
struct NearestInParts {
  int64_t even = 0, odd = 0;
  std::vector<int64_t> without;  // each column
};

class PartsSearch {
 public:
  PartsSearch(const Comparison& c, size_t reference)
      : c_(c), reference_(reference), rows_(static_cast<size_t>(c.tables[reference].rows)) {
    each_.resize(c.facts.size() * rows_);
  }

  NearestInParts search(size_t table, size_t row) {
    std::vector<float> half[2]{std::vector<float>(rows_), std::vector<float>(rows_)};
    for (size_t k = 0; k < c_.facts.size(); ++k) {
      float* d = each_.data() + k * rows_;
      measure(k, table, row, d);
      float* sum = half[k % 2].data();
      for (size_t i = 0; i < rows_; ++i) sum[i] += d[i];
    }
    NearestInParts out{first_min(half[0]), first_min(half[1]), {}};
    std::vector<float> all(rows_), rest(rows_);
    for (size_t i = 0; i < rows_; ++i) all[i] = half[0][i] + half[1][i];
    for (size_t k = 0; k < c_.facts.size(); ++k) {
      const float* d = each_.data() + k * rows_;
      for (size_t i = 0; i < rows_; ++i) rest[i] = all[i] - d[i];
      out.without.push_back(first_min(rest));
    }
    return out;
  }

 private:
  static int64_t first_min(const std::vector<float>& v) { return std::min_element(v.begin(), v.end()) - v.begin(); }

  // Gower's terms of a column.
  void measure(size_t k, size_t table, size_t row, float* d) const {
    const ComparedColumn &x = c_.tables[table].columns[k], &y = c_.tables[reference_].columns[k],
                         &scale = c_.tables[kReference].columns[k];
    if (c_.facts[k].kind == quality::Kind::categorical) {
      const int32_t level = x.codes[row];
      for (size_t i = 0; i < rows_; ++i) d[i] = y.codes[i] != level ? 1.0f : 0.0f;
      return;
    }
    const double value = x.numbers[row], width = scale.high > scale.low ? scale.high - scale.low : 0;
    const bool missing = value != value;
    for (size_t i = 0; i < rows_; ++i) {
      const double other = y.numbers[i], off = std::abs(value - other);
      const bool gone = other != other;
      d[i] = missing || gone ? (missing != gone ? 1.0f : 0.0f)
             : width > 0     ? static_cast<float>(std::min(off / width, 1.0))
                             : (off > 0 ? 1.0f : 0.0f);
    }
  }

  const Comparison& c_;
  size_t reference_, rows_;
  std::vector<float> each_;  // [column][row]
};

// Correct guesses about the rows of a table: links, and values of each column.
struct Right {
  std::vector<double> linked, columns;         // of each row; columns: the share
  std::vector<std::vector<double>> of_column;  // [column][row]
};

Right guess(const Subject& s, size_t table, size_t by, int64_t count) {
  const Comparison& c = s.compared;
  const auto rows = static_cast<size_t>(count), columns = c.facts.size();
  Right out{std::vector<double>(rows), std::vector<double>(rows),
            std::vector<std::vector<double>>(columns, std::vector<double>(rows))};
  constexpr int64_t kPiece = 16;
  s.workers.for_each("links and guesses", "rows", (count + kPiece - 1) / kPiece, kPiece, [&](int64_t piece) {
    PartsSearch search(c, by);
    for (auto i = static_cast<size_t>(piece * kPiece); i < std::min(rows, static_cast<size_t>((piece + 1) * kPiece));
         ++i) {
      const NearestInParts near = search.search(table, i);
      out.linked[i] = near.even == near.odd ? 1 : 0;
      for (size_t k = 0; k < columns; ++k) {
        const bool right = cell(c, by, k, static_cast<size_t>(near.without[k])) == cell(c, table, k, i);
        out.of_column[k][i] = right ? 1 : 0;
        out.columns[i] += (right ? 1.0 : 0.0) / static_cast<double>(columns);
      }
    }
  });
  return out;
}

// How often boosted trees that learned from other people are right about a member's column; NaN: not a class.
double trees_without(const Subject& s, size_t column) {
  if (s.compared.facts[column].kind != quality::Kind::categorical ||
      s.compared.facts[column].levels > static_cast<int32_t>(quality::kFewLevels))
    return NAN;
  try {
    const quality::Target target = quality::choose_target(s.compared, s.compared.facts[column].name);
    return quality::utility(s.compared, target, kReference, kMembers, {}, 10'000, s.workers, "trees without the person")
        .accuracy;
  } catch (const Error& e) {
    if (e.code() != ErrorCode::data) throw;
    return NAN;  // it has one value
  }
}

nlohmann::json number(double x) { return std::isfinite(x) ? nlohmann::json(x) : nlohmann::json(nullptr); }

}  // namespace

Attack singling_out(const Subject& s) {
  constexpr int64_t kTries = 20'000, kGuesses = 1000, kPiece = 64;
  const Comparison& c = s.compared;
  const std::vector<double> median = medians(c);
  struct Try {
    bool guessed = false;
    std::optional<size_t> found[2];
  };
  std::vector<Try> tries(kTries);
  std::vector<double> members(static_cast<size_t>(c.tables[kMembers].rows)),
      held_out(static_cast<size_t>(c.tables[kHeldOut].rows));
  int64_t guesses = 0;
  // In blocks, until there are enough guesses: a predicate that many synthetic rows meet is none.
  for (int64_t first = 0; first < kTries && guesses < kGuesses; first += kTries / 10) {
    s.workers.for_each("singling out", "predicates", (kTries / 10 + kPiece - 1) / kPiece, kPiece, [&](int64_t piece) {
      for (int64_t i = first + piece * kPiece; i < std::min(first + kTries / 10, first + (piece + 1) * kPiece); ++i) {
        Try& t = tries[static_cast<size_t>(i)];
        const Predicate p = predicate(c, median, s.seed, i);
        t.guessed = !p.terms.empty() && p.singled_out(c, kSynthetic).has_value();
        if (t.guessed) t.found[0] = p.singled_out(c, kMembers), t.found[1] = p.singled_out(c, kHeldOut);
      }
    });
    for (int64_t i = first; i < first + kTries / 10 && guesses < kGuesses; ++i) {
      const Try& t = tries[static_cast<size_t>(i)];
      guesses += t.guessed;
      if (t.found[0]) members[*t.found[0]] = 1;  // a person whom many predicates find counts once: they are alike
      if (t.found[1]) held_out[*t.found[1]] = 1;
    }
  }
  Attack a{"singling out",
           "linkage",
           "Do conditions that only one synthetic row satisfies single out one person?",
           Attack::Measure::guesses,
           {std::move(members), std::move(held_out)}};
  a.details["predicates"] = guesses;
  return a;
}

std::vector<Attack> linkage(const Subject& s) {
  constexpr double kPairs = 1e9;  // of cells that are compared
  const Comparison& c = s.compared;
  const double cost = static_cast<double>(c.tables[kSynthetic].rows) * static_cast<double>(c.facts.size());
  const auto count =
      std::min(c.tables[kMembers].rows, std::clamp<int64_t>(static_cast<int64_t>(kPairs / cost / 2), 100, 1000));
  Right members = guess(s, kMembers, kSynthetic, count), held_out = guess(s, kHeldOut, kSynthetic, count);
  std::vector<Attack> out;
  out.push_back({"linkability",
                 "linkage",
                 "Do two halves of a person's columns lead to the same synthetic row?",
                 Attack::Measure::guesses,
                 {std::move(members.linked), std::move(held_out.linked)}});
  if (c.facts.size() < 2) return out;

  Attack a{"attribute inference",
           "inference",
           "Does the nearest synthetic row reveal an unknown column of a person?",
           Attack::Measure::guesses,
           {std::move(members.columns), std::move(held_out.columns)}};
  // That of the column with the highest lower end leads; its interval is one of many, and not a finding.
  size_t worst = 0;
  std::vector<Interval> excess;
  a.details["columns"] = nlohmann::json::array();
  for (size_t k = 0; k < c.facts.size(); ++k) {
    excess.push_back(difference_of_means(members.of_column[k], held_out.of_column[k]));
    if (excess[k].low > excess[worst].low) worst = k;
    a.details["columns"].push_back({{"name", c.facts[k].name},
                                    {"members", mean(members.of_column[k])},
                                    {"held_out", mean(held_out.of_column[k])},
                                    {"low", excess[k].low},
                                    {"high", excess[k].high}});
  }
  const Right without = guess(s, kMembers, kReference, std::min<int64_t>(count, 200));
  a.details["worst"] = c.facts[worst].name;
  a.details["without_the_person"] = {{"nearest_row", mean(without.columns)},
                                     {"nearest_row_worst", mean(without.of_column[worst])},
                                     {"trees_worst", number(trees_without(s, worst))}};
  out.push_back(std::move(a));
  return out;
}

// Only rows whose cells are unique within their side and absent from the reference, so that both sides are comparable.
Attack rare_combinations(const Subject& s) {
  constexpr int64_t kDrawn = 16;
  const Comparison& c = s.compared;
  struct Person {
    double hits = 0, trials = 0;
  };
  std::vector<Person> people[2];
  people[0].resize(static_cast<size_t>(c.tables[kMembers].rows)),
      people[1].resize(static_cast<size_t>(c.tables[kHeldOut].rows));
  std::set<std::vector<size_t>> drawn;
  for (int64_t t = 0; t < kDrawn; ++t) {
    std::vector<size_t> columns = some_columns(c, 3, s.seed, kCombinations, t);
    std::sort(columns.begin(), columns.end());
    if (!drawn.insert(columns).second) continue;
    const auto combination = [&](size_t table, size_t row) {
      std::vector<int32_t> out;
      for (const size_t k : columns) out.push_back(cell(c, table, k, row));
      return out;
    };
    std::map<std::vector<int32_t>, int> real;
    std::set<std::vector<int32_t>> synthetic;
    for (const size_t table : {kReference, kMembers, kHeldOut})
      for (size_t i = 0; i < static_cast<size_t>(c.tables[table].rows); ++i) ++real[combination(table, i)];
    for (size_t i = 0; i < static_cast<size_t>(c.tables[kSynthetic].rows); ++i)
      synthetic.insert(combination(kSynthetic, i));
    for (const size_t side : {0, 1})
      for (size_t i = 0; i < people[side].size(); ++i)
        if (const auto own = combination(side == 0 ? kMembers : kHeldOut, i); real[own] == 1)
          ++people[side][i].trials, people[side][i].hits += static_cast<double>(synthetic.count(own));
  }
  const auto shares = [](const std::vector<Person>& of) {
    std::vector<double> out;
    for (const Person& p : of)
      if (p.trials > 0) out.push_back(p.hits / p.trials);
    return out;
  };
  return {"rare combinations",
          "leaks",
          "Do combinations of three values that only one person has appear again?",
          Attack::Measure::guesses,
          {shares(people[0]), shares(people[1])}};
}

}  // namespace tessera::audit
