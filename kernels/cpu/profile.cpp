// profile_rows: rows of codes and alphas as inputs of the density ratio (kernels/math/profile.h).
#include "kernels/math/profile.h"
#include "kernels/cpu/tables.h"

namespace tessera::TESSERA_ISA {
namespace {

constexpr int64_t kRows = 32;
int64_t row_tiles(const Call& call) { return div_up(call.out[0].rows, kRows); }

template <class T>
void profile_run(const Call& call, int64_t tile, void*) {
  const ProfileTable& t = *static_cast<const ProfileRows*>(call.op)->profile;
  const Mat<int32_t> codes(call.in[0]), rows(call.in[2]), index(call.out[0]);
  const Mat<T> alphas(call.in[1]), value(call.out[1]);
  const Range r = piece(tile, kRows, index.rows);
  for (int c = 0; c < t.column_count; ++c)
    for (int64_t i = r.begin; i < r.end; ++i)
      profile_entries(t, t.columns[c], codes.row(i), alphas.row(i), rows.row(i), call.state->seed, index.row(i),
                      value.row(i));
}

}  // namespace

TESSERA_KERNEL(profile_rows, row_tiles, profile_run<T>, nullptr)

}  // namespace tessera::TESSERA_ISA
