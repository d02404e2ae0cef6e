/* Tessera: generative models of tables. The C interface; tessera.hpp is a thin C++ layer over it.
 *
 * Rows are passed as Arrow C streams: from and to pandas, polars, DuckDB, R or C++ without an intermediate copy.
 * Errors. A function that can fail returns a tessera_status. On anything but TESSERA_OK its outputs are untouched, and
 *   tessera_last_error() holds a message with its place and the way out. No C++ exception crosses this interface.
 * Input streams are consumed: they are released whatever the function returns. Output streams belong to the caller, who
 *   calls their release; they keep the parts of model and context that they need alive. A stream that fails returns an
 *   errno value; its get_last_error returns the message.
 * Options are structs whose first field is their size: `tessera_fit_options o = {.struct_size = sizeof o};` sets every
 *   other field to 0, the default, as NULL does. Fields of a newer header that this library does not know must be 0.
 * Texts are UTF-8 and end with a zero byte. Texts returned through char** are freed by tessera_string_free().
 * Handles are looked up before they are used: NULL, a freed handle, a handle of another kind and an address that was
 *   never a handle are TESSERA_E_USAGE, unless a new handle of the same kind has the address. A second free only sets
 *   the message.
 * Threads. Every function may be called from any thread; different handles are independent; many threads may use one
 *   model at once, and one thread at a time a stream. Free a handle after its last use. Callbacks run on threads of the
 *   library, one at a time per call.
 * Fork. Between calls only open streams and jobs have threads. A child may use contexts and models, but no GPU that the
 *   parent used; streams and jobs that the parent opened return TESSERA_E_UNSUPPORTED there.
 * Bits. Results depend on rows, options and seed, never on the number of threads.
 * Life cycle. Declarations here are stable: they change only with TESSERA_ABI_VERSION. Those marked TESSERA_UNSTABLE
 *   may change with any release; a program that defines TESSERA_ONLY_STABLE is warned when it uses one. Messages for
 *   people and the members of JSON texts are not part of the ABI; members may be added, and documented ones stay.
 *   Everything here is since ABI 1. */
#ifndef TESSERA_TESSERA_H_
#define TESSERA_TESSERA_H_

#include "tessera/arrow.h"
#include "tessera/tessera_base.h"
#include "tessera/tessera_context.h"
#include "tessera/tessera_fit.h"
#include "tessera/tessera_given.h"
#include "tessera/tessera_memory.h"
#include "tessera/tessera_model.h"
#include "tessera/tessera_prior.h"
#include "tessera/tessera_report.h"
#include "tessera/tessera_sample.h"
#include "tessera/tessera_table.h"

#endif
