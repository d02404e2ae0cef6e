// A text file that is there whole or not at all.
#pragma once
#include <string>

// Replaces an existing file. Error(IO) names the file; the old one is then untouched.
void write_whole(const std::string& path, const std::string& text);
