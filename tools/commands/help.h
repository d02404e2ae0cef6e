// --help in groups, and the nearest name where one is misspelled.
#pragma once
#include <CLI/App.hpp>
#include <memory>
#include <string>

// Prints options by group, in the order of their groups; types without the ranges that errors name.
std::shared_ptr<CLI::FormatterBase> help_formatter();

// Groups the options of a command that trains. `topic`: the word after --help: a method, whose options are then shown
// alone, or all; else options of methods that most fits do not need are left out.
void arrange_help(CLI::App& command, const std::string& topic);

// What is wrong with the arguments that no option or command takes; "" if there are none.
std::string unknown_argument(const CLI::App& command);
