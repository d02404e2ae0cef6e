// "Did you mean": the known names closest in spelling to a wrong one.
#pragma once
#include <string>
#include <vector>

namespace tessera {

// ` Nearest: "a", "b".`: up to three names by edit distance (Levenshtein, ignoring case, of the first 64 bytes), as a
// sentence for a message; `before` replaces its beginning. Empty if no name is near, that is, within half of the length
// of `wrong`. Only the first 20,000 names are compared.
std::string nearest_names(const std::string& wrong, const std::vector<std::string>& names,
                          const char* before = " Nearest: ");

}  // namespace tessera
