// "Did you mean": the known names closest in spelling to a wrong one.
#pragma once
#include <string>
#include <vector>

namespace tessera {

// The nearest by edit distance (Levenshtein, in any case, of the first 64 bytes) first, quoted and joined by ", ": one
// at any distance, two more if at most half of `wrong` differs. Empty without names;
// of very many the first 20,000 are compared.
std::string nearest_names(const std::string& wrong, const std::vector<std::string>& names);

}  // namespace tessera
