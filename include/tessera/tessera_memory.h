/* Tessera's memory: what a fit would take, and what the process has. Part of tessera.h, which includes it. */
#ifndef TESSERA_TESSERA_MEMORY_H_
#define TESSERA_TESSERA_MEMORY_H_

#include "tessera/arrow.h"
#include "tessera/tessera_fit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* tessera_estimate() without a table: of one that has `rows` rows and columns as `columns` says.
 *   columns  "6 integer, 9 category:16": kinds of columns (integer, decimal, boolean, category, date, datetime), each
 *            with how many there are of it (1) and, behind a colon, how many values it takes (16; of numbers all
 *            differ)
 *   json     as of tessera_estimate(); a table of more rows than are worth making is extrapolated from two shorter ones
 * Errors: USAGE naming the part of `columns` that is wrong; as tessera_fit(). Since ABI 1 */
TESSERA_API tessera_status tessera_estimate_columns(const tessera_context* context, const tessera_fit_options* options,
                                                    const char* columns, int64_t rows, char** json);

/* Bytes of this process, as the kernel counts them; 0 where it does not. Any may be NULL. Errors: MEMORY. Since ABI 1
 *   resident   in memory now
 *   peak       the most so far
 *   available  that it could still take: of the machine, or of its cgroups if they have less */
TESSERA_API tessera_status tessera_process_memory(int64_t* resident, int64_t* peak, int64_t* available);

#ifdef __cplusplus
}
#endif

#endif
