// tessera_fit_options → FitOptions, for tessera_fit() and tessera_plan().
#pragma once
#include "models/api/rows.h"
#include "models/api/support/context.h"
#include "models/model/model.h"
#include "tables/arrow/import.h"
#include "tessera/tessera.h"

namespace tessera::api {

// Applies the preset, then what the caller set. Throws Error(usage) naming the field, its value and its range.
FitOptions fit_options(const tessera_fit_options* given);

// The table of a fit. Its rules are added to those of the options.
Table import_table(IncomingRows& rows, const GivenTypes& types, FitOptions& fit, Call& call);

// The types the caller gave to columns. Throws Error(usage) for an unknown type.
GivenTypes given_types(const tessera_fit_options* given);

}  // namespace tessera::api
