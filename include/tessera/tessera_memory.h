/* Tessera's memory: the estimate for a fit, and the use of the process. Part of tessera.h, which includes it. */
#ifndef TESSERA_TESSERA_MEMORY_H_
#define TESSERA_TESSERA_MEMORY_H_

#include "tessera/arrow.h"
#include "tessera/tessera_fit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* tessera_estimate() without a table: for one with `rows` rows and the columns that `columns` describes.
 *   columns  "6 integer, 9 category:16": kinds of columns (integer, decimal, boolean, category, date, datetime), each
 *            preceded by its number of columns (1) and followed, after a colon, by its number of distinct values (16;
 *            numbers all differ)
 *   json     as from tessera_estimate(); for very long tables it is extrapolated from two shorter ones
 * Errors: USAGE naming the part of `columns` that is wrong; as tessera_fit(). Since ABI 1 */
TESSERA_API tessera_status tessera_estimate_columns(const tessera_context* context, const tessera_fit_options* options,
                                                    const char* columns, int64_t rows, char** json);

/* Bytes of this process, as the kernel counts them; 0 if it does not. Any may be NULL. Errors: MEMORY. Since ABI 1
 *   resident   in memory now
 *   peak       maximum so far
 *   available  memory that the process could still take: of the machine, or of its cgroups if they have less */
TESSERA_API tessera_status tessera_process_memory(int64_t* resident, int64_t* peak, int64_t* available);

#ifdef __cplusplus
}
#endif

#endif
