#include "models/sampling/calibration/profile_arrays.h"

#include "tables/encoding/number_code.h"
#include "tables/table/decimals.h"

namespace tessera {

ProfileTable::Segment ProfileArrays::add(const std::vector<double>& numbers) {
  const ProfileTable::Segment s{static_cast<int>(numbers_.size()), static_cast<int>(numbers.size())};
  numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  return s;
}

ProfileTable::Distribution ProfileArrays::add(const Quantiles& quantiles) {
  const ProfileTable::Segment points = add(quantiles.points());
  add(quantiles.shares());
  return {points, quantiles.exact()};
}

ProfileArrays::ProfileArrays(const Encoder& encoder, const Calibration& calibration) {
  int entry = 0, start = 0;
  for (size_t j = 0; j < calibration.profile.columns.size(); ++j) {
    const ColumnProfile& p = calibration.profile.columns[j];
    const Encoder::Codes codes = encoder.codes(p.column);
    ProfileTable::Column c{};
    c.column = p.column, c.numeric = p.numeric, c.code = codes.code, c.alpha = codes.alpha, c.entry = entry,
    c.start = start;
    if (p.numeric) {
      c.modes = add(codes.mean);
      add(codes.stddev);
      c.values = add(codes.values);
      c.range = codes.range;
      c.model = add(calibration.model[j]), c.free = add(p.free), c.real = add(p.real);
      c.unit = grid_of(calibration.rounding[j]);
      c.fixed = add(p.fixed), c.heaped = add(p.heaped);
    } else {
      c.cells = {static_cast<int>(cells_.size()), static_cast<int>(codes.levels.size())};
      for (const int32_t level : codes.levels) cells_.push_back(level < 0 ? p.missing() : p.cell_of_text(level));
    }
    columns_.push_back(c);
    entry += p.numeric ? ColumnProfile::kInputs + 1 : 1;
    start += (p.numeric ? ColumnProfile::kInputs : 0) + p.cells();
  }
  table_ = {columns_.data(),
            numbers_.data(),
            cells_.data(),
            static_cast<int>(columns_.size()),
            static_cast<int>(numbers_.size()),
            static_cast<int>(cells_.size()),
            entry};
}

}  // namespace tessera
