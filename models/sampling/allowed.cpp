#include "models/sampling/allowed.h"

#include <algorithm>
#include <cmath>

#include "tables/kinds/number_writer.h"

namespace tessera {
namespace {

constexpr int kHalvings = 52;  // bisection steps for the rank at which a term cuts a bin

// One span of the layout, with the terms that its column decides alone.
class OneColumn {
 public:
  OneColumn(const Where& terms, const Span& span, const RowModel& model, const ShownColumns& columns)
      : terms_(terms), span_(span), model_(model), columns_(columns) {}

  std::vector<float> of_categories() const {
    const std::vector<char> keep = meeting(levels_shown());
    std::vector<float> share;
    for (int k = 0; k < span_.width; ++k)
      share.push_back(model_.encoder.is_rare(span_, k) ? rare_can_meet(k) : keep[static_cast<size_t>(k)] != 0 ? 1 : 0);
    return share;
  }

  // Numbers ascend with the rank within a bin, so the allowed ranks are intervals that end where the bin's numbers
  // cross a number of a term.
  std::vector<float> of_bins(BinParts& parts) const {
    const std::vector<std::vector<double>> cuts = cuts_of_bins();
    std::vector<double> between;  // a number between each two cuts, bin after bin
    for (int k = 0; k < span_.width; ++k) {
      const std::vector<double>& of_bin = cuts[static_cast<size_t>(k)];
      for (size_t i = 1; i < of_bin.size(); ++i) between.push_back(number(k, (of_bin[i - 1] + of_bin[i]) / 2));
    }
    const std::vector<char> keep = meeting(with_numbers(between));
    std::vector<float> share;
    for (size_t k = 0, at = 0; k < cuts.size(); ++k) {
      std::vector<std::pair<double, double>> left;
      double total = 0;
      for (size_t i = 1; i < cuts[k].size(); ++i) {
        const double from = cuts[k][i - 1], to = cuts[k][i];
        if (keep[at++] == 0) continue;
        if (!left.empty() && left.back().second == from) left.back().second = to;
        else left.emplace_back(from, to);
        total += to - from;
      }
      if (total > 0 && total < 1) parts[{span_.column, static_cast<int>(k)}] = std::move(left);
      share.push_back(static_cast<float>(total));
    }
    return share;
  }

 private:
  double number(int level, double rank) const { return model_.encoder.number_of_level(span_.column, level, rank); }

  // Rows with these numbers of the column, as rows of the model.
  Table with_numbers(const std::vector<double>& numbers) const {
    Table shown = columns_.first_levels(static_cast<int64_t>(numbers.size()));
    std::copy(numbers.begin(), numbers.end(), shown.columns[static_cast<size_t>(span_.column)].numbers.begin());
    return shown;
  }
  // One row for each level of the column.
  Table levels_shown() const {
    const auto slot = static_cast<size_t>(model_.encoder.codes(span_.column).code);
    const RowLayout& layout = model_.encoder.layout();
    const auto width = static_cast<size_t>(span_.width), stride = static_cast<size_t>(layout.codes());
    const std::vector<float> alphas(width * static_cast<size_t>(std::max(layout.alphas(), 1)));
    std::vector<int32_t> codes(width * stride);
    for (size_t k = 0; k < width; ++k) codes[k * stride + slot] = static_cast<int32_t>(k);
    const std::vector<int64_t> ids(width, 0);
    return model_.encoder.decode(alphas.data(), codes.data(), ids.data(), span_.width, 0);
  }

  std::vector<char> meeting(Table rows) const {
    columns_.restore(rows);
    std::vector<char> keep;
    std::vector<int64_t> failed;
    match_where(terms_, rows, keep, failed);
    return keep;
  }

  // 1 if one of the values that share the rare level satisfies the terms; in the schema they follow the `levels` values
  // with their own level.
  float rare_can_meet(int levels) const {
    const Column& all = columns_.learned().columns[static_cast<size_t>(span_.column)];
    const auto rare = static_cast<int64_t>(all.values.size()) - levels;
    Table shown = columns_.first_levels(rare);
    Column& column = shown.columns[static_cast<size_t>(span_.column)];
    column.values = all.values;
    for (int64_t v = 0; v < rare; ++v) column.codes[static_cast<size_t>(v)] = static_cast<int32_t>(levels + v);
    const std::vector<char> keep = meeting(std::move(shown));
    return std::find(keep.begin(), keep.end(), 1) != keep.end() ? 1 : 0;
  }

  // Ascending, each once; the ends of open ranges cut nothing.
  std::vector<double> term_numbers() const {
    std::vector<double> numbers;
    for (const WhereTerm& t : terms_.terms)
      for (const double x : numbers_of(t))
        if (std::isfinite(x)) numbers.push_back(x);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
  }

  // Numbers of the column as the table shows them.
  std::vector<double> shown(std::vector<double> numbers) const {
    const auto at = static_cast<size_t>(terms_.terms.front().column);
    const Column* column = &columns_.table().columns[at];
    Table rows;
    if (!model_.rules.empty()) {
      rows = with_numbers(numbers);
      columns_.restore(rows);
      column = &rows.columns[at];
      numbers.assign(column->numbers.begin(), column->numbers.end());
    }
    for (double& x : numbers) x = as_written(*column, x);
    return numbers;
  }

  // A rank within a bin: up to it the bin's numbers, as the table shows them, are below `number`, or at most it.
  struct Cut {
    int level;
    double number;
    bool at_most;
    double low = 0, high = 1;
    double middle() const { return (low + high) / 2; }
    bool passed(double v) const { return v != v || (at_most ? v > number : v >= number); }
  };

  // 0, 1 and the cuts of each bin, ascending.
  std::vector<std::vector<double>> cuts_of_bins() const {
    std::vector<double> ends;
    for (int k = 0; k < span_.width; ++k)
      for (const double rank : {0., 1.}) ends.push_back(number(k, rank));
    ends = shown(std::move(ends));
    std::vector<Cut> cuts;
    const std::vector<double> numbers = term_numbers();
    for (int k = 0; k < span_.width; ++k)
      for (const double x : numbers)
        for (const bool at_most : {false, true}) {
          const Cut cut{k, x, at_most};
          const auto first = 2 * static_cast<size_t>(k);
          if (!cut.passed(ends[first]) && cut.passed(ends[first + 1])) cuts.push_back(cut);
        }
    for (int i = 0; i < kHalvings; ++i) {
      std::vector<double> middles;
      for (const Cut& cut : cuts) middles.push_back(number(cut.level, cut.middle()));
      middles = shown(std::move(middles));
      for (size_t c = 0; c < cuts.size(); ++c)
        (cuts[c].passed(middles[c]) ? cuts[c].high : cuts[c].low) = cuts[c].middle();
    }
    std::vector<std::vector<double>> ranks(static_cast<size_t>(span_.width), {0, 1});
    for (const Cut& cut : cuts) ranks[static_cast<size_t>(cut.level)].push_back(cut.high);
    for (std::vector<double>& of_bin : ranks) {
      std::sort(of_bin.begin(), of_bin.end());
      of_bin.erase(std::unique(of_bin.begin(), of_bin.end()), of_bin.end());
    }
    return ranks;
  }

  const Where& terms_;
  const Span& span_;
  const RowModel& model_;
  const ShownColumns& columns_;
};

}  // namespace

Allowed allowed_levels(const Where& where, const RowModel& model, const ShownColumns& columns) {
  Allowed out;
  for (const Span& span : model.encoder.layout().spans) {
    // methods that support both encodings of numbers propose from categories only
    const bool bin = span.part == Span::Part::bin && model.config.method().bins;
    if (span.part != Span::Part::category && !bin) continue;
    Where own;
    for (size_t t = 0; t < where.terms.size(); ++t) {
      const size_t before = own.terms.size();
      for (const int c : columns_of(where.terms[t]))
        if (columns.decides(span.column, c))
          if (std::optional<WhereTerm> part = projected(where.terms[t], c)) own.terms.push_back(std::move(*part));
      if (own.terms.size() > before) out.terms.push_back(t);
    }
    if (own.empty()) continue;
    const OneColumn column(own, span, model, columns);
    out.levels.push_back({&span, bin ? column.of_bins(out.parts) : column.of_categories()});
  }
  return out;
}

}  // namespace tessera
