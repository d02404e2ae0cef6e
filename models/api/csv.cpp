#include "models/csv.h"

#include "models/api/context.h"
#include "models/api/rows.h"
#include "models/example.h"

using namespace tessera;
using namespace tessera::api;
