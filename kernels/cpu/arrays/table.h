// The array kernels of one instruction set: declared here, defined in a file each, collected by table.cpp.
#pragma once
#include "kernels/array_kernels.h"
#include "kernels/cpu/simd.h"

namespace tessera::TESSERA_ISA {

double expectation_f32(const LogDensity<float>&, const float*, const float*, const float*, int64_t, ComponentSums*);
double expectation_f64(const LogDensity<double>&, const double*, const double*, const double*, int64_t, ComponentSums*);
void draw_modes(const LogDensity<double>&, double, const double*, const float*, int64_t, int32_t*);
void gaussian_scores(const double*, const double*, int64_t, int64_t, int64_t, double*);
void gaussian_moments(const double*, const double*, int64_t, int64_t, int64_t, double*);
bool scan_leaf(const NearestPlan&, const uint16_t*, const uint16_t*, uint32_t, uint32_t*);
void bound_leaves(const NearestPlan&, int64_t, const uint16_t*, const uint16_t*, const uint16_t* const*,
                  const uint16_t*, uint32_t*);
void tabulate_curve(RandomCurve&);
void shifted_moments(float*, const float*, float, float, int64_t, double*, double*);
void activate(Activation, float, float, float, const RandomCurve*, int64_t, float*);
void split_feature(const TreeLevel&, float*, int32_t*, bool*);
void node_ranges(const RandomCuts&, float*, float*);
void sums_below(const RandomCuts&, const float*, float*, float*);
void power_distances(const float*, int64_t, int64_t, int64_t, const float*, float, float*);
void nearest_center(const float*, int64_t, int64_t, const float*, float, int32_t, float*, int32_t*);
void min_hashes(const uint32_t*, int64_t, const uint32_t*, const uint32_t*, int64_t, uint32_t*);

}  // namespace tessera::TESSERA_ISA
