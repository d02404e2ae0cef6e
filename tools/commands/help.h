// --help in groups, and the nearest name of a misspelled one.
#pragma once
#include <CLI/App.hpp>
#include <memory>
#include <string>

// Prints options by group, in the order of the groups; types without ranges, which errors name.
std::shared_ptr<CLI::FormatterBase> help_formatter();

// Groups the options of a command that trains. `topic` is the word after --help: a method (only its options are
// listed), or all; otherwise advanced options are omitted.
void arrange_help(CLI::App& command, const std::string& topic);

// The error message for arguments that no option or command accepts; "" if there are none.
std::string unknown_argument(const CLI::App& command);
