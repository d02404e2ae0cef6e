// Validates an option's value; the message names the range, and how to write 1e6, 1,000 or 1k.
#pragma once
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <cstdint>

CLI::Validator whole_number(int64_t low, int64_t high = INT64_MAX);
// Run before CLI11 converts values: CLI11 turns -1 and numbers that are too large into the maximum.
CLI::Validator any_seed();     // of 64 bits
CLI::Validator whole_bytes();  // with or without a unit
