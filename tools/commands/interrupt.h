// SIGINT and SIGTERM ask the context to stop; a second one leaves at once.
#pragma once
#include "tessera/tessera.h"

void cancel_on_signals(tessera_context* context);  // NULL: signals no longer reach a context
int caught_signal();                               // 0: none
