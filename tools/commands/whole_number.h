// Validates an option's value; the message gives the range, and what to write for 1e6, 1,000 or 1k.
#pragma once
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <cstdint>

CLI::Validator whole_number(int64_t low, int64_t high = INT64_MAX);
