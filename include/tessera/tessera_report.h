/* Tessera's reports: several tables at once, and pages to look at. Part of tessera.h, which includes it. */
#ifndef TESSERA_TESSERA_REPORT_H_
#define TESSERA_TESSERA_REPORT_H_

#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Several synthetic tables, each against the real one: JSON {"tables": [{"name", "report"}]} in their order, where
 * each report is what tessera_evaluate() gives for that table alone.
 *   synthetic   `count` streams, of 1 or more
 *   names       of the tables, for people: `count` texts that differ
 * Consumes all streams. Errors: as tessera_evaluate(), beginning with the name of the table; USAGE for equal names.
 * Since ABI 1 */
TESSERA_API tessera_status tessera_evaluate_tables(const tessera_context* context,
                                                   const tessera_evaluate_options* options,
                                                   struct ArrowArrayStream* real,
                                                   struct ArrowArrayStream* const* synthetic, const char* const* names,
                                                   size_t count, struct ArrowArrayStream* holdout, char** json);

/* An HTML page, which loads nothing, of JSON alone:
 *   what tessera_evaluate() gave; it may have the members "model", which tessera_model_describe() gave, and "training",
 *     a list of one object for each line of losses: "step", "epoch", "seconds" and the losses by name
 *   what tessera_evaluate_tables() gave: the tables side by side
 *   {"model", "training"}: how the model was trained
 * A file is written whole or not at all. Errors: FORMAT for other JSON; IO; MEMORY. */
TESSERA_API tessera_status tessera_report_html(const char* json, char** html);
TESSERA_API tessera_status tessera_report_write(const char* json, const char* path, int overwrite);

#ifdef __cplusplus
}
#endif

#endif
