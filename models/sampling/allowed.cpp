#include "models/sampling/allowed.h"

#include <algorithm>

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
    std::vector<float> share;
    for (int k = 0; k < span_.width; ++k) {
      std::vector<double> cuts{0};
      for (const double x : term_numbers())
        for (const bool above : {false, true}) cuts.push_back(rank_of(k, x, above));
      cuts.push_back(1);
      std::sort(cuts.begin(), cuts.end());
      std::vector<std::pair<double, double>> left;
      double total = 0;
      for (size_t i = 1; i < cuts.size(); ++i) {
        const double from = cuts[i - 1], to = cuts[i];
        if (!(to - from > 0) || meeting(with_numbers({number(k, (from + to) / 2)}))[0] == 0) continue;
        if (!left.empty() && left.back().second == from) left.back().second = to;
        else left.emplace_back(from, to);
        total += to - from;
      }
      if (total > 0 && total < 1) parts[{span_.column, k}] = std::move(left);
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

  std::vector<double> term_numbers() const {
    std::vector<double> numbers;
    for (const WhereTerm& t : terms_.terms)
      for (const double x : numbers_of(t)) numbers.push_back(x);
    return numbers;
  }

  // A number of the column as the table shows it.
  double shown(double x) const {
    const auto column = static_cast<size_t>(terms_.terms.front().column);
    if (model_.rules.empty()) return as_written(columns_.table().columns[column], x);
    Table row = with_numbers({x});
    columns_.restore(row);
    return as_written(row.columns[column], row.columns[column].numbers[0]);
  }

  // The rank within a bin up to which its numbers, as the table shows them, are below x (`above`: at most x).
  double rank_of(int level, double x, bool above) const {
    const auto passed = [&](double rank) {
      const double v = shown(number(level, rank));
      return v != v || (above ? v > x : v >= x);
    };
    if (passed(0)) return 0;
    if (!passed(1)) return 1;
    double low = 0, high = 1;
    for (int i = 0; i < kHalvings; ++i) (passed((low + high) / 2) ? high : low) = (low + high) / 2;
    return high;
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
