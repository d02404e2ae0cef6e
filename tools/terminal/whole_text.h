// Text files that are written whole or not at all.
#pragma once
#include <string>

// Replaces an existing file. Error(IO) names the file; the old file then stays.
void write_whole(const std::string& path, const std::string& text);
