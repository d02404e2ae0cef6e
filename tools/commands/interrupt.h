// SIGINT and SIGTERM cancel the context; a second one ends the process at once.
#pragma once
#include "tessera/tessera.h"

void cancel_on_signals(tessera_context* context);  // NULL: signals no longer reach a context
int caught_signal();                               // 0: none
