#include "models/quality/sequences/step_features.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "models/quality/metrics/comparison.h"
#include "tables/kinds/cells.h"

namespace tessera::quality {
namespace {

constexpr size_t kMaxFeatureLevels = 100;

// The static columns: length and start are not features of a step.
Table statics_of(const Sequences& s) {
  Table out;
  out.rows = s.attributes.rows;
  for (const Column& c : s.attributes.columns)
    if (std::find(s.options.statics.begin(), s.options.statics.end(), c.name) != s.options.statics.end())
      out.columns.push_back(c);
  return out;
}

// A feature of a row of `steps`, or of `statics`, of the selected table.
struct Source {
  enum class Kind { number, mark, level } kind;
  bool fixed;
  size_t column;
  double low = 0, high = 0, fill = 0;  // number
  int32_t level = 0;

  float of(const ComparedColumn& c, int64_t row) const {
    if (kind == Kind::mark) return c.is_missing(row) ? 1 : 0;
    if (kind == Kind::level) return c.codes[static_cast<size_t>(row)] == level ? 1 : 0;
    double x = c.numbers[static_cast<size_t>(row)];
    if (x != x) x = fill;
    return static_cast<float>(low < high ? (x / 2 - low / 2) / (high / 2 - low / 2) : x == low ? 0 : 1);
  }
};

double mean_of(std::span<const double> numbers) {
  double sum = 0, n = 0;
  for (const double x : numbers)
    if (x == x) sum += x, n += 1;
  return n > 0 ? sum / n : 0;
}

// The features of one comparison, appended.
void describe(const Comparison& c, const Table& real, bool fixed, StepFeatures& out, std::vector<Source>& sources) {
  for (size_t j = 0; j < c.facts.size(); ++j) {
    const ComparedColumn &a = c.tables[0].columns[j], &b = c.tables[1].columns[j];
    const std::string& name = c.facts[j].name;
    if (c.facts[j].kind != Kind::categorical) {
      const bool some = a.missing < c.tables[0].rows;
      if (some && !(a.low == a.high && b.low == b.high && a.low == b.low)) {
        out.features.push_back({name, true, a.high - a.low, a.low, fixed, c.facts[j].kind == Kind::datetime});
        sources.push_back({Source::Kind::number, fixed, j, a.low, a.high, mean_of(a.numbers), 0});
      }
      if ((a.missing > 0 && some) || b.missing > 0) {
        out.features.push_back({name + " missing", false, 1, 0, fixed});
        sources.push_back({Source::Kind::mark, fixed, j});
      }
      continue;
    }
    std::vector<int64_t> rows(static_cast<size_t>(c.facts[j].levels) + 1);
    for (const int32_t code : a.codes) ++rows[static_cast<size_t>(code + 1)];
    std::vector<int32_t> levels(rows.size());
    std::iota(levels.begin(), levels.end(), -1);
    std::erase_if(levels, [&](int32_t l) { return rows[static_cast<size_t>(l + 1)] == 0; });
    const bool same = levels.size() == 1 &&
                      std::all_of(b.codes.begin(), b.codes.end(), [&](int32_t code) { return code == levels[0]; });
    if (same) continue;
    std::stable_sort(levels.begin(), levels.end(), [&](int32_t l, int32_t m) {
      return rows[static_cast<size_t>(l + 1)] > rows[static_cast<size_t>(m + 1)];
    });
    if (levels.size() > kMaxFeatureLevels) levels.resize(kMaxFeatureLevels);
    std::sort(levels.begin(), levels.end());
    if (levels.size() == 2) levels.erase(levels.begin());  // one of two levels determines the other
    const Column& column = *real.find(name);
    for (const int32_t l : levels) {
      std::string text = "missing";
      if (l >= 0) {
        const auto row = std::find(a.codes.begin(), a.codes.end(), l) - a.codes.begin();
        if (has_texts(column)) text = "= " + column.values[static_cast<size_t>(column.codes[static_cast<size_t>(row)])];
      }
      out.features.push_back({name + " " + text, false, 1, 0, fixed});
      sources.push_back({Source::Kind::level, fixed, j, 0, 0, 0, l});
    }
  }
  out.excluded.insert(out.excluded.end(), c.identifiers.begin(), c.identifiers.end());
}

void fill(const Sequences& s, const std::vector<Source>& sources, const ComparedTable& steps,
          const ComparedTable* statics, StepSet& out) {
  out.first = s.first, out.length = s.length, out.longest = s.longest;
  out.features = static_cast<int64_t>(sources.size());
  const size_t width = sources.size();
  out.values.assign(static_cast<size_t>(s.steps.rows) * width, 0.0f);
  for (size_t k = 0; k < width; ++k) {
    const Source& source = sources[k];
    if (!source.fixed) {
      for (int64_t row = 0; row < s.steps.rows; ++row)
        out.values[static_cast<size_t>(row) * width + k] = source.of(steps.columns[source.column], row);
      continue;
    }
    for (int64_t i = 0; i < s.size(); ++i) {
      const float value = source.of(statics->columns[source.column], i);
      const auto begin = static_cast<size_t>(s.first[static_cast<size_t>(i)]),
                 end = begin + static_cast<size_t>(s.length[static_cast<size_t>(i)]);
      for (size_t row = begin; row < end; ++row) out.values[row * width + k] = value;
    }
  }
}

}  // namespace

StepFeatures step_features(const Sequences& real, const Sequences& synthetic) {
  StepFeatures out;
  std::vector<Source> sources;
  const Table real_statics = statics_of(real), synthetic_statics = statics_of(synthetic);
  Comparison fixed;
  if (!real_statics.columns.empty()) {
    fixed = compare_tables({{"real", &real_statics}, {"synthetic", &synthetic_statics}});
    describe(fixed, real_statics, true, out, sources);
  }
  const Comparison steps = compare_tables({{"real", &real.steps}, {"synthetic", &synthetic.steps}});
  describe(steps, real.steps, false, out, sources);
  if (sources.empty())
    throw Error(ErrorCode::data,
                "Every column is constant, a key or an identifier. These sequences have no features to compare.");
  fill(real, sources, steps.tables[0], fixed.tables.empty() ? nullptr : &fixed.tables[0], out.real);
  fill(synthetic, sources, steps.tables[1], fixed.tables.empty() ? nullptr : &fixed.tables[1], out.synthetic);
  return out;
}

}  // namespace tessera::quality
