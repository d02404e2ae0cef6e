#include "models/quality/metrics/diagnostics.h"

#include <algorithm>
#include <cmath>

#include "models/quality/common/statistics.h"

namespace tessera::quality {
namespace {

double share(int64_t part, int64_t whole) {
  return whole == 0 ? kUndefined : static_cast<double>(part) / static_cast<double>(whole);
}

std::vector<char> present(const ComparedColumn& column, int32_t levels) {
  std::vector<char> seen(static_cast<size_t>(levels), 0);
  for (const int32_t code : column.codes)
    if (code >= 0) seen[static_cast<size_t>(code)] = 1;
  return seen;
}

}  // namespace

double boundary_adherence(const ComparedColumn& real, const ComparedColumn& synthetic) {
  if (std::isnan(real.low)) return kUndefined;
  int64_t inside = 0;
  for (const double x : synthetic.numbers) inside += (x >= real.low) & (x <= real.high);
  const auto rows = static_cast<int64_t>(synthetic.numbers.size());
  return share(inside, real.missing > 0 ? rows - synthetic.missing : rows);
}

double range_coverage(const ComparedColumn& real, const ComparedColumn& synthetic) {
  const double width = real.high - real.low;
  if (!(width > 0)) return kUndefined;
  if (std::isnan(synthetic.low)) return 0;
  return std::max(
      0.0, 1 - std::max((synthetic.low - real.low) / width, 0.0) - std::max((real.high - synthetic.high) / width, 0.0));
}

double category_adherence(const ComparedColumn& real, const ComparedColumn& synthetic, int32_t levels) {
  const std::vector<char> known = present(real, levels);
  int64_t inside = 0;
  for (const int32_t code : synthetic.codes)
    inside += code < 0 ? real.missing > 0 : known[static_cast<size_t>(code)] != 0;
  return share(inside, static_cast<int64_t>(synthetic.codes.size()));
}

double category_coverage(const ComparedColumn& real, const ComparedColumn& synthetic, int32_t levels) {
  const std::vector<char> wanted = present(real, levels), seen = present(synthetic, levels);
  int64_t all = 0, covered = 0;
  for (size_t c = 0; c < wanted.size(); ++c) {
    all += wanted[c];
    covered += wanted[c] & seen[c];
  }
  return share(covered, all);
}

std::vector<ColumnDiagnostics> diagnostics(const Comparison& c, const Workers& workers) {
  std::vector<ColumnDiagnostics> result(c.facts.size());
  workers.for_each("diagnostics", "columns", static_cast<int64_t>(result.size()), 1, [&](int64_t i) {
    const auto k = static_cast<size_t>(i);
    const ComparedColumn &real = c.tables[0].columns[k], &synthetic = c.tables[1].columns[k];
    ColumnDiagnostics& d = result[k];
    if (c.facts[k].kind == Kind::categorical) {
      d = {"CategoryAdherence", "CategoryCoverage", category_adherence(real, synthetic, c.facts[k].levels),
           category_coverage(real, synthetic, c.facts[k].levels), 0};
    } else {
      d = {"BoundaryAdherence", "RangeCoverage", boundary_adherence(real, synthetic), range_coverage(real, synthetic),
           0};
    }
    d.missing_similarity =
        1 - std::abs(share(real.missing, c.tables[0].rows) - share(synthetic.missing, c.tables[1].rows));
  });
  return result;
}

}  // namespace tessera::quality
