// A calibration's columns as arrays for kernels (kernels/math/profile.h): codes of the encoder, the map of numbers, and
// their cells.
#pragma once
#include <vector>

#include "kernels/math/profile.h"
#include "models/sampling/calibration/calibration.h"

namespace tessera {

class ProfileArrays {
 public:
  ProfileArrays(const Encoder& encoder, const Calibration& calibration);
  ProfileArrays(const ProfileArrays&) = delete;
  const ProfileTable* table() const { return &table_; }

 private:
  ProfileTable::Segment add(const std::vector<double>& numbers);
  ProfileTable::Distribution add(const Quantiles& quantiles);

  std::vector<ProfileTable::Column> columns_;
  std::vector<double> numbers_;
  std::vector<int> cells_;
  ProfileTable table_;
};

}  // namespace tessera
