#include "tables/sequence/step_coding.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tables/kinds/kind.h"
#include "tables/protection/protected_numbers.h"
#include "tables/sequence/base_search.h"
#include "tables/sequence/sequences.h"
#include "tables/sequence/step_code.h"
#include "tables/sequence/step_survey.h"
#include "tables/sequence/step_terms.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

constexpr int kDigitsOfRatio = 9;  // significant ones
constexpr int kMaxOnLine = 12;     // steps that are counted

// The codes of x, on the digits that they have.
void finish(Column& c, const Column& x, const StepCoding::Code& of, const Table& steps,
            const std::vector<int32_t>& key) {
  auto& codes = c.numbers;
  // A row without a step before repeats the next one's code: it is never learned there.
  for (size_t row = codes.size(); of.needs_before() && row-- > 0;)
    if (row == 0 || key[row] != key[row - 1])
      codes[row] = row + 1 < codes.size() && key[row + 1] == key[row] ? codes[row + 1] : neutral(of);
  double sizes = 0, known = 0;
  for (const double v : codes)
    if (v == v && v != 0) sizes += std::log10(std::fabs(v)), ++known;
  int decimals = std::clamp(kDigitsOfRatio - static_cast<int>(std::ceil(known > 0 ? sizes / known : 0)), 0, 15);
  if (of.form == StepCoding::Code::Form::difference && of.terms.empty())
    decimals = std::max(decimals_of(x), decimals_of(steps.columns[static_cast<size_t>(of.base)]));
  become_count(c, decimals);
  for (double& v : codes) v = round_decimals(v, decimals);
}

}  // namespace

StepCoding StepCoding::find(const Table& steps, const std::vector<int32_t>& key,
                            const std::vector<std::string>& uncoded, const StaticsOfSteps& statics) {
  StepCoding out;
  const StepSurvey survey(steps, key, uncoded, statics);
  BaseSearch search(survey);
  for (size_t j = 0; j < steps.columns.size(); ++j) {
    Coded& c = out.columns_.emplace_back();
    if (!survey.usable[j]) continue;
    std::tie(c.first, c.next) = search.of(j);
    add_terms(survey, j, true, c.first), add_terms(survey, j, false, c.next);
    c.column = steps.columns[j].pick(std::vector<int32_t>{});
  }
  out.orders_ = search.orders();
  std::vector<char> lines;
  for (size_t j = 0; j < steps.columns.size(); ++j) lines.push_back(survey.serves[j] != 0 && lies_on_lines(survey, j));
  out.place(static_cast<int>(steps.columns.size()), lines);
  return out;
}

void StepCoding::place(int first, const std::vector<char>& lines) {
  for (Coded& c : columns_)
    if (c.next.needs_before()) c.start_at = first++;
  for (size_t j = 0; j < columns_.size(); ++j)
    if (lines[j] != 0) columns_[j].line_at = first++;
}

void StepCoding::encode(Table& steps, const std::vector<int32_t>& key, int64_t least, uint64_t seed, Team& team,
                        std::span<const int32_t> holder, const StaticsOfSteps& statics) {
  Table ranges;
  ranges.rows = steps.rows;
  for (size_t j = 0; j < columns_.size(); ++j)
    if (columns_[j].coded()) ranges.columns.push_back(steps.columns[j]);
  (void)protect_numbers(ranges, least, seed, team, holder);
  for (size_t j = 0, at = 0; j < columns_.size(); ++j) {
    if (!columns_[j].coded()) continue;
    const Column& c = ranges.columns[at++];
    double low = INFINITY, high = -INFINITY;  // all missing: too few keys, nothing is learned
    for (const double x : c.numbers) low = std::fmin(low, x), high = std::fmax(high, x);
    if (low <= high) columns_[j].low = low, columns_[j].high = high;
  }
  ranges = {};

  // `of`: columns of codes as they are computed; a level alone stays its column.
  const auto begun = [&](const Column& x, const Code& code, const std::string& name) {
    if (code.form == Code::Form::level && code.terms.empty()) {
      Column same = x;
      same.name = name;
      return same;
    }
    Column c;
    c.name = name, c.least_rows = x.least_rows;
    if (code.base >= 0) c.least_rows = std::max(c.least_rows, steps.columns[static_cast<size_t>(code.base)].least_rows);
    become_count(c, 0);
    c.numbers.reserve(static_cast<size_t>(steps.rows));
    return c;
  };
  std::vector<Column> next(columns_.size()), starts(columns_.size()), lines(columns_.size());
  for (size_t j = 0; j < columns_.size(); ++j) {
    const Coded& c = columns_[j];
    if (!c.coded()) continue;
    next[j] = begun(steps.columns[j], c.next, c.column.name);
    if (c.start_at >= 0) starts[j] = begun(steps.columns[j], c.first, start_of(c.column.name));
    if (c.line_at < 0) continue;
    lines[j].name = "(line) " + c.column.name, lines[j].least_rows = steps.columns[j].least_rows;
    become_count(lines[j], 0);
  }
  const auto computed = [&](const Column& c) { return static_cast<int64_t>(c.numbers.size()) < steps.rows; };
  std::vector<char> written(2 * columns_.size(), 0);
  for (size_t j = 0; j < columns_.size(); ++j)
    written[2 * j] = columns_[j].coded() && computed(next[j]),
                written[2 * j + 1] = columns_[j].start_at >= 0 && computed(starts[j]);
  Values v;
  v.statics = &statics.statics;
  for (size_t row = 0; row < static_cast<size_t>(steps.rows); ++row) {
    if (row == 0 || key[row] != key[row - 1]) v.begin();
    v.step();
    v.here.assign(columns_.size(), kMissing);
    if (!statics.row.empty()) v.sequence = statics.row[row];
    for (size_t j = 0; j < columns_.size(); ++j)
      if (columns_[j].coded()) v.here[j] = steps.columns[j].numbers[row];
    for (size_t j = 0; j < columns_.size(); ++j) {
      if (written[2 * j] != 0) next[j].numbers.push_back(code(static_cast<int>(j), false, v));
      if (written[2 * j + 1] != 0) starts[j].numbers.push_back(code(static_cast<int>(j), true, v));
      if (columns_[j].line_at < 0) continue;
      const double line = line_code(static_cast<int>(j), v);
      lines[j].numbers.push_back(line == line ? line : 0);
    }
  }
  for (size_t j = 0; j < columns_.size(); ++j) {
    if (written[2 * j] != 0) finish(next[j], steps.columns[j], columns_[j].next, steps, key);
    if (written[2 * j + 1] != 0) finish(starts[j], steps.columns[j], columns_[j].first, steps, key);
  }
  for (size_t j = 0; j < columns_.size(); ++j)
    if (columns_[j].coded()) steps.columns[j] = std::move(next[j]);
  for (size_t j = 0; j < columns_.size(); ++j)
    if (columns_[j].start_at >= 0) steps.columns.push_back(std::move(starts[j]));
  for (size_t j = 0; j < columns_.size(); ++j)
    if (columns_[j].line_at >= 0) steps.columns.push_back(std::move(lines[j]));
}

int StepCoding::column_starting_at(int start_at) const {
  const auto of =
      std::find_if(columns_.begin(), columns_.end(), [&](const Coded& c) { return c.start_at == start_at; });
  return static_cast<int>(of - columns_.begin());
}

int StepCoding::column_on_line(int line_at) const {
  const auto of = std::find_if(columns_.begin(), columns_.end(), [&](const Coded& c) { return c.line_at == line_at; });
  return of == columns_.end() ? -1 : static_cast<int>(of - columns_.begin());
}

bool StepCoding::Code::needs_before() const {
  return before || std::any_of(terms.begin(), terms.end(), [](const Term& t) { return t.of == Term::Of::before; });
}

void StepCoding::Values::step() {
  if (here.empty()) return;
  if (last.empty()) {
    last = here;
    moves.assign(here.size(), kMissing), on_line.assign(here.size(), 0);
    return;
  }
  for (size_t k = 0; k < here.size(); ++k) {
    on_line[k] = follows(k, here[k]) ? on_line[k] + 1 : 0;
    moves[k] = here[k] - last[k];
    if (here[k] == here[k]) last[k] = here[k];
  }
}

void StepCoding::Values::begin() {
  here.clear(), last.clear(), moves.clear(), on_line.clear(), lowest.clear(), highest.clear();
}

bool StepCoding::Values::follows(size_t k, double x) const {
  return !moves.empty() && continues_line(last[k], moves[k], x);
}

bool StepCoding::on_line(const Table& steps, int64_t row, int column, const Values& v) const {
  const auto k = static_cast<size_t>(column);
  if (k >= columns_.size() || columns_[k].line_at < 0 || v.moves.empty() || v.moves[k] != v.moves[k]) return false;
  const auto& lines = steps.columns[static_cast<size_t>(columns_[k].line_at)].numbers;
  return !lines.empty() && lines[static_cast<size_t>(row)] > 0;
}

double StepCoding::line_code(int column, const Values& v) const {
  const auto k = static_cast<size_t>(column);
  if (v.moves.empty() || v.moves[k] != v.moves[k] || v.here[k] != v.here[k]) return kMissing;
  return v.follows(k, v.here[k]) ? std::min(v.on_line[k] + 1, kMaxOnLine) : 0;
}

// The ends of a column. A given value beyond one shows that it is no limit: the next steps may go on as far as the
// given ones have gone, else all forecasts of a summer that is warmer than the table would start with a fall.
double StepCoding::low_end(const Coded& c, const Values& v, size_t column) {
  if (v.lowest.empty() || v.lowest[column] >= c.low) return c.low;
  return v.lowest[column] - std::max(v.highest[column], c.low) + v.lowest[column];
}
double StepCoding::high_end(const Coded& c, const Values& v, size_t column) {
  if (v.highest.empty() || v.highest[column] <= c.high) return c.high;
  return v.highest[column] - std::min(v.lowest[column], c.high) + v.highest[column];
}

double StepCoding::linear(const Code& code, const Values& v) {
  double sum = code.shift;
  for (const Term& t : code.terms) {
    const auto at = static_cast<size_t>(t.column);
    sum += t.factor * (t.of == Term::Of::statics ? standardized(t, *v.statics, v.sequence)
                                                 : standardized(t, t.of == Term::Of::before ? v.last[at] : v.here[at]));
  }
  return sum;
}

double StepCoding::code(int column, bool first, const Values& v) const {
  const Coded& coded = columns_[static_cast<size_t>(column)];
  const Code& c = first ? coded.first : coded.next;
  if (c.needs_before() && v.last.empty()) return kMissing;
  const std::vector<double>& from = c.before ? v.last : v.here;
  const double base = c.base >= 0 ? from[static_cast<size_t>(c.base)] : 0,
               upper = c.upper >= 0 ? from[static_cast<size_t>(c.upper)] : 0;
  if (base != base || upper != upper) return kMissing;
  return reduced(c, v.here[static_cast<size_t>(column)], base, upper) - linear(c, v);
}

void StepCoding::decode(const Table& steps, int64_t row, Values& v, const double* known) const {
  v.here.assign(columns_.size(), kMissing);
  for (int j = 0; j < static_cast<int>(columns_.size()); ++j) {
    const Coded& c = columns_[static_cast<size_t>(j)];
    double& x = v.here[static_cast<size_t>(j)];
    const bool first = v.last.empty() && c.start_at >= 0;
    const auto& numbers = steps.columns[static_cast<size_t>(first ? c.start_at : j)].numbers;
    x = numbers.empty() ? kMissing : numbers[static_cast<size_t>(row)];
    if (c.coded()) {
      const Code& code = first ? c.first : c.next;
      const std::vector<double>& from = code.before ? v.last : v.here;
      const double base = code.base >= 0 ? from[static_cast<size_t>(code.base)] : 0,
                   upper = code.upper >= 0 ? from[static_cast<size_t>(code.upper)] : 0;
      x = combine(code, x, base, upper) + linear(code, v);
      const auto k = static_cast<size_t>(j);
      if (on_line(steps, row, j, v)) x = v.last[k] + v.moves[k];
      if (code.form != Code::Form::level || !code.terms.empty() || c.line_at >= 0)
        x = round_decimals(x, decimals_of(c.column));
      x = x == x ? std::clamp(x, low_end(c, v, k), high_end(c, v, k)) : x;
      for (const auto& [below, above] : orders_) {
        // bounds that given values violate do not apply
        if (!v.lowest.empty() && !v.last.empty() &&
            v.last[static_cast<size_t>(below)] > v.last[static_cast<size_t>(above)])
          continue;
        if (above == j && below < j) x = std::fmax(x, v.here[static_cast<size_t>(below)]);
        if (below == j && above < j) x = std::fmin(x, v.here[static_cast<size_t>(above)]);
      }
    }
    if (known == nullptr || known[j] != known[j]) continue;
    x = known[j];
    if (v.lowest.empty()) v.lowest.assign(columns_.size(), INFINITY), v.highest.assign(columns_.size(), -INFINITY);
    v.lowest[static_cast<size_t>(j)] = std::min(v.lowest[static_cast<size_t>(j)], x);
    v.highest[static_cast<size_t>(j)] = std::max(v.highest[static_cast<size_t>(j)], x);
  }
}

void StepCoding::restore_schema(Table& steps) const {
  if (empty()) return;
  for (size_t j = 0; j < columns_.size(); ++j)
    if (columns_[j].coded()) steps.columns[j] = columns_[j].column;
}

void StepCoding::restore(Table& steps, const std::vector<int32_t>& lengths, const Table& statics,
                         const std::vector<std::span<const double>>& known) const {
  if (empty()) return;
  const size_t n = columns_.size();
  std::vector<Column> out;
  for (const Coded& c : columns_) {
    out.push_back(c.column);
    if (c.coded()) out.back().numbers.reserve(static_cast<size_t>(steps.rows));
  }
  Values v;
  v.statics = &statics;
  int64_t row = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    v.begin(), v.sequence = static_cast<int64_t>(i);
    const std::span<const double> own = known.empty() ? std::span<const double>() : known[i];
    for (size_t t = 0; t < static_cast<size_t>(lengths[i]); ++t, ++row) {
      v.step();
      decode(steps, row, v, own.size() >= (t + 1) * n ? own.data() + t * n : nullptr);
      for (size_t j = 0; j < n; ++j)
        if (columns_[j].coded()) out[j].numbers.push_back(v.here[j]);
    }
  }
  for (size_t j = 0; j < n; ++j)
    if (columns_[j].coded()) steps.columns[j] = std::move(out[j]);
}

}  // namespace tessera
