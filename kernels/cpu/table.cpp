#include "kernels/cpu/tables.h"

namespace tessera::TESSERA_ISA {
namespace {

template <class T>
KernelTable make(const char* name) {
  KernelTable t{};
  t.name = name;
  t.scalar_bytes = sizeof(T);
  add_matmul<T>(t);
  add_sparse<T>(t);
  add_elementwise<T>(t);
  add_reduce<T>(t);
  add_copy<T>(t);
  add_random<T>(t);
  add_rows<T>(t);
  add_profile<T>(t);
  add_span<T>(t);
  add_batch_norm<T>(t);
  add_recurrent<T>(t);
  add_recurrent_grad<T>(t);
  add_optimizer<T>(t);
  return t;
}

#define TESSERA_TEXT_(x) #x
#define TESSERA_TEXT(x) TESSERA_TEXT_(x)
constexpr const char* kName = &TESSERA_TEXT(TESSERA_ISA)[4];  // after "isa_"

}  // namespace

const KernelTable& kernels_f32() {
  static const KernelTable table = make<float>(kName);
  return table;
}
#if defined(TESSERA_PLAIN)
const KernelTable& kernels_f64() {
  static const KernelTable table = make<double>("double");
  return table;
}
#endif

}  // namespace tessera::TESSERA_ISA
