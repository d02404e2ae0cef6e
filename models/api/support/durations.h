// "30s", "5m", "2h" in options → seconds.
#pragma once
#include <string>

#include "models/training/fit_options.h"

namespace tessera::api {

// Throws Error(usage) naming `option` for anything but a positive number and s, m or h.
double parse_duration(const std::string& text, const char* option);

// A duration, "10epochs", or "off": only at the end. Sets one of the two fields.
void parse_interval(const std::string& text, const char* option, CheckpointOptions& checkpoint);

}  // namespace tessera::api
