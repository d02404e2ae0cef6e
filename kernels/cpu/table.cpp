#include "kernels/cpu/tables.h"

namespace tessera::TESSERA_ISA {
namespace {

#if defined(__AVX512BF16__)
// Only kernels that round to bf16 use AVX-512 BF16, and only products of bf16 use AMX tiles. All others are those of
// AVX-512, and so is the name: fp32 has the same bits, and so has bf16 with AVX-512 BF16 (product.h).
template <class T>
KernelTable make(const char*) {
#if defined(TESSERA_AMX)  // Intel's, whose vdpbf16ps is slower than two multiply-adds
  KernelTable t = isa_avx512::kernels_f32();
  t.narrow = isa_avx512_bf16::kernels_f32().narrow;
#else
  KernelTable t = isa_avx512::kernels_f32();
  t.narrow = narrow_entry<T>();
  t.recurrent = recurrent_entry<T>();
  t.recurrent_grad = recurrent_grad_entry<T>();
  t.recurrent_input_grad = recurrent_input_grad_entry<T>();
  t.recurrent_wgrad = recurrent_wgrad_entry<T>();
#endif
  t.matmul = matmul_entry<T>();
  t.block_matmul = block_matmul_entry<T>();
  t.sharded_wgrad = sharded_wgrad_entry<T>();
  return t;
}
#else
template <class T>
KernelTable make(const char* name) {
  KernelTable t{};
  t.name = name;
  t.scalar_bytes = sizeof(T);
#define TESSERA_ENTER(type, field, parts) t.field = field##_entry<T>();
  TESSERA_OPS(TESSERA_ENTER)
#undef TESSERA_ENTER
  return t;
}
#endif

}  // namespace

const KernelTable& kernels_f32() {
  static const KernelTable table = make<float>(kIsaName);
  return table;
}
#if defined(TESSERA_PLAIN)
const KernelTable& kernels_f64() {
  static const KernelTable table = make<double>("double");
  return table;
}
#endif

}  // namespace tessera::TESSERA_ISA
