// profile_rows: texts, numbers of modes with and without the map, numbers of values only, huge numbers, a column
// without values. The reference here counts instead of searching.
#include <cmath>
#include <limits>

#include "kernels/math/profile.h"
#include "op_case.h"
#include "philox_spec.h"

namespace tessera::oracle {
namespace {

constexpr uint64_t kSeed = 0xFEDCBA9876543210ull;
constexpr double kGone = std::numeric_limits<double>::quiet_NaN();

struct Points {
  std::vector<double> points, shares;
  bool exact = false;

  // Shares below x and up to x.
  std::pair<double, double> rank(double x) const {
    size_t below = 0, upto = 0;
    for (const double p : points) below += p < x ? 1 : 0, upto += p <= x ? 1 : 0;
    if (exact) return {below == 0 ? 0 : shares[below - 1], upto == 0 ? 0 : shares[upto - 1]};
    if (upto == 0) return {0, 0};
    if (below == points.size()) return {1, 1};
    if (below == upto) {
      const double t = (x - points[below - 1]) / (points[below] - points[below - 1]),
                   p = shares[below - 1] + t * (shares[below] - shares[below - 1]);
      return {p, p};
    }
    const bool several = upto - below > 1;
    return {several && below > 0 ? (shares[below - 1] + shares[below]) / 2 : shares[below],
            several && upto < points.size() ? (shares[upto - 1] + shares[upto]) / 2 : shares[upto - 1]};
  }
  double at(double p) const {
    size_t k = 0;
    while (k < shares.size() && shares[k] < p) ++k;
    if (k == shares.size()) return points.back();
    if (exact || k == 0) return points[k];
    const double t = (p - shares[k - 1]) / (shares[k] - shares[k - 1]);
    return points[k - 1] + t * (points[k] - points[k - 1]);
  }
};

struct Column {
  std::vector<int> cells{};  // of a text's codes; empty: a number
  std::vector<double> mean{}, stddev{}, values{};
  NumberRange range{{1, 1}, -1e300, 1e300, 0};
  Points model{}, free{}, real{};
  std::vector<double> fixed{}, heaped{};
  double unit = 0;

  int codes() const { return static_cast<int>(cells.size() + mean.size() + values.size()); }
  int cell_count() const {
    return cells.empty() ? static_cast<int>(heaped.size()) + ProfileTable::kBins + 1
                         : 1 + *std::max_element(cells.begin(), cells.end());
  }
  double rounded_on(double x, double u) const {
    return u > 0 && std::fabs(x * u) < 0x1p51 ? std::nearbyint(x * u) / u : x;
  }

  double number(int code, double alpha, uint32_t column, const std::array<uint32_t, 3>& id) const {
    double x = 0;
    if (static_cast<size_t>(code) < mean.size()) {
      const double v =
          (4 * std::clamp(alpha, -1.0, 1.0) * stddev[static_cast<size_t>(code)] + mean[static_cast<size_t>(code)]) *
          range.scale[0] * range.scale[1];
      x = rounded_on(v != v ? range.low : std::min(std::max(v, range.low), range.high), range.unit);
    } else {
      x = values[static_cast<size_t>(code) - mean.size()];
    }
    if (model.points.empty() || x != x || std::find(fixed.begin(), fixed.end(), x) != fixed.end()) return x;
    const auto [below, upto] = model.rank(x);
    double p = below;
    if (upto > below) {
      const auto w = Drawer{kSeed, id[0], id[1], id[2], 0x7300}.words(column);
      p += (upto - below) * ((static_cast<double>((static_cast<uint64_t>(w[0]) << 32 | w[1]) >> 12) + 0.5) * 0x1p-52);
    }
    return rounded_on(free.at(p), unit);
  }
  int cell(double x) const {
    const int heaps = static_cast<int>(heaped.size());
    if (x != x) return heaps + ProfileTable::kBins;
    for (int k = 0; k < heaps; ++k)
      if (heaped[static_cast<size_t>(k)] == x) return k;
    if (real.points.empty()) return heaps;
    const auto [below, upto] = real.rank(x);
    return heaps + std::min(static_cast<int>((below + upto) / 2 * ProfileTable::kBins), ProfileTable::kBins - 1);
  }
};

// The columns and the arrays that a table points into.
struct Profile {
  std::vector<Column> columns;
  std::vector<ProfileTable::Column> described;
  std::vector<double> numbers;
  std::vector<int> cells;
  ProfileTable table;

  explicit Profile(std::vector<Column> all) : columns(std::move(all)) {
    auto add = [&](const std::vector<double>& v) {
      numbers.insert(numbers.end(), v.begin(), v.end());
      return ProfileTable::Segment{static_cast<int>(numbers.size() - v.size()), static_cast<int>(v.size())};
    };
    auto distribution = [&](const Points& p) {
      const ProfileTable::Segment s = add(p.points);
      add(p.shares);
      return ProfileTable::Distribution{s, p.exact};
    };
    int entry = 0, start = 0, alpha = 0;
    for (size_t j = 0; j < columns.size(); ++j) {
      const Column& from = columns[j];
      ProfileTable::Column c{};
      c.column = static_cast<int>(3 * j + 1), c.numeric = from.cells.empty(), c.code = static_cast<int>(j),
      c.alpha = from.mean.empty() ? -1 : alpha++, c.entry = entry, c.start = start;
      c.cells = {static_cast<int>(cells.size()), static_cast<int>(from.cells.size())};
      cells.insert(cells.end(), from.cells.begin(), from.cells.end());
      c.modes = add(from.mean);
      add(from.stddev);
      c.values = add(from.values);
      c.range = from.range, c.model = distribution(from.model), c.free = distribution(from.free),
      c.real = distribution(from.real);
      c.fixed = add(from.fixed), c.heaped = add(from.heaped), c.unit = from.unit;
      described.push_back(c);
      entry += c.numeric ? ProfileTable::kInputs + 1 : 1;
      start += (c.numeric ? ProfileTable::kInputs : 0) + from.cell_count();
    }
    table = {described.data(),
             numbers.data(),
             cells.data(),
             static_cast<int>(described.size()),
             static_cast<int>(numbers.size()),
             static_cast<int>(cells.size()),
             entry};
  }
  int alphas() const {
    return static_cast<int>(
        std::count_if(columns.begin(), columns.end(), [](const Column& c) { return !c.mean.empty(); }));
  }
};

Points spread(double low, double high, int points) {
  Points p;
  for (int k = 0; k < points; ++k) {
    const double level = static_cast<double>(k) / (points - 1);
    p.points.push_back(low + (high - low) * level * level);
    p.shares.push_back(level);
  }
  return p;
}

std::vector<Column> every_kind() {
  const Column text{{2, 0, 1, 1, 3}};
  // Two modes, a spike, missing; the model's numbers repeat −1 and the table's are seven values.
  Column mapped{{}, {-2, 3}, {0.5, 1.5}, {0.25, kGone}, {{1, 1}, -4, 8, 100}};
  mapped.model = spread(-4, 8, 17);
  for (size_t k = 4; k < 8; ++k) mapped.model.points[k] = mapped.model.points[4];
  mapped.values.push_back(mapped.model.points[4]);
  mapped.free = {{-4, -1.5, 0, 0.25, 2, 7, 8}, {0.1, 0.3, 0.5, 0.6, 0.8, 0.95, 1}, true};
  mapped.real = mapped.free;
  mapped.fixed = {0.25}, mapped.heaped = {-1.5, 0.25, 2}, mapped.unit = 10;
  // Rounded to whole numbers by the encoder, to nothing by the map, whose source has few values.
  Column few{{}, {10}, {4}, {}, {{1, 1}, 0, 30, 1}};
  few.model = {{8, 9, 10, 12}, {0.25, 0.5, 0.75, 1}, true};
  few.free = spread(0, 30, 101), few.real = spread(0, 30, 1001), few.heaped = {15};
  Column levels{{}, {}, {}, {1, 2, 5, kGone}};
  levels.real = {{1, 2, 5}, {0.2, 0.9, 1}, true};
  Column huge{{}, {0.5, -0.25}, {0.1, 0.2}, {}, {{0x1p500, 0x1p510}, -0x1p1009, 0x1p1010, 0}};
  huge.real = spread(-0x1p1009, 0x1p1010, 33);
  const Column unseen{{}, {}, {}, {kGone, 0}};
  return {text, mapped, few, levels, huge, unseen};
}

}  // namespace

void profile_cases(Cases& cases) {
  for (const auto& [note, kinds] :
       {std::pair{"every kind of column", every_kind()}, {"texts alone", std::vector<Column>{{{0, 1}}, {{1, 0, 2}}}}}) {
    const auto profile = std::make_shared<Profile>(kinds);
    for (const int64_t rows : {1, 31, 257}) {
      std::mt19937 random(static_cast<unsigned>(rows));
      std::vector<double> codes, identities;
      for (int64_t r = 0; r < rows; ++r) {
        for (const Column& c : profile->columns)
          codes.push_back(static_cast<double>(random() % static_cast<unsigned>(c.codes())));
        for (int k = 0; k < 3; ++k)
          identities.push_back(static_cast<double>(static_cast<int32_t>(random()) >> (k == 2 ? 16 : 0)));
      }
      const int64_t columns = static_cast<int64_t>(profile->columns.size());
      Case x{note,
             ProfileRows{&profile->table},
             {index(rows, columns, 0, 0).of(codes), real(rows, profile->alphas()).range(-1.3, 1.3).constant(),
              index(rows, 3, 0, 0).of(identities)},
             [profile, rows](const Grids& in) {
               Grid at(rows, profile->table.entries), value(rows, profile->table.entries);
               for (int64_t r = 0; r < rows; ++r) {
                 auto id = [&](int64_t k) { return static_cast<uint32_t>(static_cast<int32_t>(in[2](r, k).v)); };
                 int64_t entry = 0, start = 0;
                 for (size_t j = 0; j < profile->columns.size(); ++j) {
                   const Column& c = profile->columns[j];
                   const ProfileTable::Column& d = profile->described[j];
                   const int code = static_cast<int>(in[0](r, static_cast<int64_t>(j)).v);
                   int cell = c.cells.empty() ? 0 : c.cells[static_cast<size_t>(code)];
                   if (c.cells.empty()) {
                     const double number = c.number(code, d.alpha < 0 ? 0 : in[1](r, d.alpha).v,
                                                    static_cast<uint32_t>(d.column), {id(0), id(1), id(2) & 0xFFFF});
                     const bool seen = number == number && !c.real.points.empty();
                     const auto [below, upto] = seen ? c.real.rank(number) : std::pair{0.0, 0.0};
                     for (int k = 0; k < ProfileTable::kInputs; ++k) {
                       at(r, entry) = static_cast<double>(start++);
                       const double u = (below + upto) / 2;
                       value(r, entry++) =
                           k == 0 ? Number(u, u)
                                  : rounded(seen ? std::sin(3.14159265358979323846 * std::ldexp(u, k - 1)) : 0,
                                            seen ? 32 : 0);
                     }
                     cell = c.cell(number);
                   }
                   at(r, entry) = static_cast<double>(start + cell);
                   value(r, entry++) = 1;
                   start += c.cell_count();
                 }
               }
               return Grids{at, value};
             }};
      x.by_rows = true;
      x.tables = profile;
      x.state = {kSeed, 4, -1};
      cases.push_back(x);
    }
  }
}

}  // namespace tessera::oracle
