// Validates an option's value; the message gives the range, and what to write for 1e6, 1,000 or 1k.
#pragma once
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <cstdint>

CLI::Validator whole_number(int64_t low, int64_t high = INT64_MAX);
// Before CLI11 converts them: it takes -1 for the largest number, and larger ones for it.
CLI::Validator any_seed();     // of 64 bits
CLI::Validator whole_bytes();  // with or without a unit
