// Texts of the library name options by key, `batch_size` or `device=cpu` (base/text/option_text.h); on the command line
// they are --batch-size and --device cpu. as_typed() converts errors, notices, progress and sentences from JSON before
// they are printed. JSON and HTML pages keep the keys.
#pragma once
#include <CLI/App.hpp>
#include <string>

// Registers the options of all commands; as_typed() writes only these as flags.
void know_flags(const CLI::App& program);

// "batch_size" → "--batch-size".
std::string flag_of(const std::string& key);

// A key in double quotes is data of a table and stays.
std::string as_typed(const std::string& text);
