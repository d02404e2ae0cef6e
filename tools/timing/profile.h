// The fastest setting that `tune` found, in a file that later runs on the same machine read: --profile.
#pragma once
#include <string>

#include "tessera/tessera.hpp"

struct SamplingProfile {
  int threads = 0, batch_size = 0;
  std::string precision = "fp32";
};

// Errors: IO; USAGE for a file that is not a profile or was made on another machine.
SamplingProfile read_profile(const std::string& path);
void write_profile(const std::string& path, const SamplingProfile& profile, bool overwrite);
