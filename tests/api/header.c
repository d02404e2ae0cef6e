/* The header is C: this file is compiled as C99 with all warnings. */
#include "tessera/tessera.h"

uint32_t header_abi_version(void);
uint32_t header_abi_version(void) {
  tessera_fit_options options = {.struct_size = sizeof options};
  return options.struct_size == sizeof options ? TESSERA_ABI_VERSION : 0;
}
