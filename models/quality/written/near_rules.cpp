#include <algorithm>
#include <cmath>

#include "models/quality/written/written_form.h"
#include "tables/expression/arithmetic.h"
#include "tables/formats/calendar.h"
#include "tables/protection/rare_categories.h"

namespace tessera::quality {
namespace {

constexpr double kNearShare = 0.95, kBeyondChance = 0.03;
constexpr int64_t kCheckedRows = 20'000;  // of a table, evenly spaced
constexpr int64_t kConcerned = 50;        // minimum real rows to which a relation applies
constexpr int32_t kMaxSources = 500, kMaxConditions = 20;
constexpr double kNanosecondsOfDay = kSecondsPerDay * 1e9;

class NearRules {
 public:
  NearRules(const Comparison& c, const Table& real) : c_(c), table_(real) {}

  // Relations of column a with every other one.
  std::vector<NearRule> of(size_t a) const {
    std::vector<NearRule> out;
    const Kind kind = c_.facts[a].kind;
    for (size_t b = 0; b < c_.facts.size(); ++b) {
      if (a == b) continue;
      const std::string first = quoted_name(c_.facts[a].name), second = quoted_name(c_.facts[b].name);
      if (a < b && kind != Kind::categorical && kind == c_.facts[b].kind) {
        numbers(a, b, first + " = " + second, out, [](double x, double y) { return x == y; });
        numbers(a, b, first + " <= " + second, out, [](double x, double y) { return x <= y; });
        numbers(a, b, first + " >= " + second, out, [](double x, double y) { return x >= y; });
        if (kind == Kind::datetime)
          numbers(a, b, second + " - " + first + " is a number of whole days", out, [](double x, double y) {
            const double part = std::fmod(std::abs(y - x), kNanosecondsOfDay);
            return std::min(part, kNanosecondsOfDay - part) < 1e3;
          });
      }
      if (a < b)
        check(first + " and " + second + " are missing together", out, [&](size_t t, int64_t i, int64_t j) {
          const bool x = column(t, a).is_missing(i), y = column(t, b).is_missing(j);
          return x || y ? x == y : -1;
        });
      if (kind == Kind::categorical) {
        if (c_.facts[b].kind == Kind::categorical) follows(a, b, second + " follows from " + first, out);
        missing_where(a, b, first, second, out);
      }
    }
    return out;
  }

 private:
  const ComparedColumn& column(size_t table, size_t k) const { return c_.tables[table].columns[k]; }

  // The frequency of holds(table, i, j) == 1 where it is 0 or 1, for cells of rows i and j = i + shift.
  struct Held {
    int64_t rows = 0, kept = 0;
    double share() const { return rows == 0 ? kMissing : static_cast<double>(kept) / static_cast<double>(rows); }
  };
  template <class Holds>
  Held held(size_t table, int64_t shift, Holds&& holds) const {
    const int64_t rows = c_.tables[table].rows, step = (rows + kCheckedRows - 1) / kCheckedRows;
    Held out;
    for (int64_t i = 0; i < rows; i += step) {
      const int answer = holds(table, i, (i + shift) % rows);
      if (answer >= 0) ++out.rows, out.kept += answer;
      if (out.rows == 1000 && out.share() < kNearShare - 0.1) break;
    }
    return out;
  }

  template <class Holds>
  void check(const std::string& rule, std::vector<NearRule>& out, Holds&& holds) const {
    const Held real = held(kReal, 0, holds);
    if (real.rows < kConcerned || real.share() < kNearShare) return;
    const Held chance = held(kReal, std::max<int64_t>(c_.tables[kReal].rows / 2, 1), holds);
    if (chance.rows > 0 && real.share() - chance.share() < kBeyondChance) return;
    add(rule, real, held(kSynthetic, 0, holds), out);
  }

  static void add(const std::string& rule, const Held& real, const Held& synthetic, std::vector<NearRule>& out) {
    if (synthetic.rows == 0) return;
    const double n = static_cast<double>(real.rows), m = static_cast<double>(synthetic.rows);
    const double both = (static_cast<double>(real.kept + synthetic.kept) + 1) / (n + m + 2);
    const double noise = 2 * std::sqrt(both * (1 - both) * (1 / n + 1 / m));
    out.push_back({rule, protected_share(real.kept, real.rows), synthetic.share(),
                   std::max(0.0, real.share() - synthetic.share() - noise)});
  }

  template <class Compare>
  void numbers(size_t a, size_t b, const std::string& rule, std::vector<NearRule>& out, Compare&& compare) const {
    check(rule, out, [&](size_t t, int64_t i, int64_t j) {
      const double x = column(t, a).numbers[static_cast<size_t>(i)], y = column(t, b).numbers[static_cast<size_t>(j)];
      return std::isnan(x) || std::isnan(y) ? -1 : int{compare(x, y)};
    });
  }

  // For each value of column a, whether b is missing there but rarely elsewhere.
  void missing_where(size_t a, size_t b, const std::string& first, const std::string& second,
                     std::vector<NearRule>& out) const {
    const int32_t levels = c_.facts[a].levels;
    if (levels > kMaxConditions || column(kReal, b).missing == 0) return;
    for (int32_t level = 0; level < levels; ++level)
      for (const bool missing : {true, false})
        check(second + (missing ? " is null" : " is not null") + " where " + first + " = '" + text(a, level) + "'", out,
              [&](size_t t, int64_t i, int64_t j) {
                return column(t, a).codes[static_cast<size_t>(i)] != level ? -1
                                                                           : int{column(t, b).is_missing(j) == missing};
              });
  }

  std::string text(size_t column, int32_t level) const {
    const auto& codes = c_.tables[kReal].columns[column].codes;
    return std::find(codes.begin(), codes.end(), level) == codes.end() ? "" : level_text(c_, table_, column, level);
  }

  // In nearly all rows, each value of a determines one value of b.
  void follows(size_t a, size_t b, const std::string& rule, std::vector<NearRule>& out) const {
    const int32_t sources = c_.facts[a].levels, targets = c_.facts[b].levels;
    const int64_t rows = c_.tables[kReal].rows;
    if (sources < 2 || targets < 2 || sources > kMaxSources || targets > kMaxSources || rows < 2 * kRareRows * sources)
      return;
    std::vector<int64_t> count(static_cast<size_t>(sources) * static_cast<size_t>(targets)),
        all(static_cast<size_t>(targets));
    const auto cell = [&](size_t t, int64_t i, int64_t j) -> std::pair<int32_t, int32_t> {
      return {column(t, a).codes[static_cast<size_t>(i)], column(t, b).codes[static_cast<size_t>(j)]};
    };
    int64_t present = 0;
    for (int64_t i = 0; i < rows; ++i)
      if (const auto [x, y] = cell(kReal, i, i); x >= 0 && y >= 0) {
        ++count[static_cast<size_t>(x) * static_cast<size_t>(targets) + static_cast<size_t>(y)];
        ++all[static_cast<size_t>(y)], ++present;
      }
    std::vector<int32_t> usual(static_cast<size_t>(sources), -1);
    Held real{present, 0};
    for (size_t x = 0; x < usual.size(); ++x) {
      const auto begin = count.begin() + static_cast<std::ptrdiff_t>(x * static_cast<size_t>(targets));
      const auto most = std::max_element(begin, begin + targets);
      if (*most == 0) continue;
      usual[x] = static_cast<int32_t>(most - begin), real.kept += *most;
    }
    const double chance = static_cast<double>(*std::max_element(all.begin(), all.end())) / static_cast<double>(present);
    if (present < kConcerned || real.share() < kNearShare || real.share() - chance < kBeyondChance) return;
    add(rule, real,
        held(kSynthetic, 0,
             [&](size_t t, int64_t i, int64_t j) {
               const auto [x, y] = cell(t, i, j);
               return x < 0 || y < 0 || usual[static_cast<size_t>(x)] < 0 ? -1
                                                                          : int{usual[static_cast<size_t>(x)] == y};
             }),
        out);
  }

  const Comparison& c_;
  const Table& table_;
};

}  // namespace

std::vector<NearRule> near_rules(const Comparison& c, const Table& real, const Workers& workers) {
  const NearRules rules(c, real);
  std::vector<std::vector<NearRule>> found(c.facts.size());
  workers.for_each("near rules", "columns", static_cast<int64_t>(found.size()), 1,
                   [&](int64_t a) { found[static_cast<size_t>(a)] = rules.of(static_cast<size_t>(a)); });
  std::vector<NearRule> out;
  for (auto& of_column : found)
    for (NearRule& r : of_column) out.push_back(std::move(r));
  std::stable_sort(out.begin(), out.end(), [](const NearRule& a, const NearRule& b) { return a.gap > b.gap; });
  return out;
}

}  // namespace tessera::quality
