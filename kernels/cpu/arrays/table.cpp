#include "kernels/cpu/arrays/table.h"

namespace tessera::TESSERA_ISA {

const ArrayKernels& array_kernels() {
  static const ArrayKernels table{kIsaName,         expectation_f32, expectation_f64, draw_modes,     gaussian_scores,
                                  gaussian_moments, scan_leaf,       bound_leaves,    tabulate_curve, shifted_moments,
                                  activate,         split_feature,   node_ranges,     sums_below,     power_distances,
                                  min_hashes,       nearest_center};
  return table;
}

}  // namespace tessera::TESSERA_ISA
