// Texts of the library name options by key, `batch_size` or `device=cpu` (base/text/option_text.h); here they are
// --batch-size and --device cpu. Errors, notices, progress and sentences in JSON pass through as_typed() on their way
// to a person; JSON itself and pages of HTML keep the keys.
#pragma once
#include <CLI/App.hpp>
#include <string>

// The options of all commands of a program, which are all that as_typed() writes as such.
void know_flags(const CLI::App& program);

// "batch_size" → "--batch-size".
std::string flag_of(const std::string& key);

// Keys in double quotes are parts of a table, and stay.
std::string as_typed(const std::string& text);
