// "Did you mean": which known names are spelled most like a wrong one.
#pragma once
#include <string>
#include <vector>

namespace tessera {

// The nearest by edit distance (Levenshtein, in any case, of the first 64 bytes) first, quoted and joined by ", ": one
// however far it is, two more where at most half of `wrong` differs. Empty without names;
// of very many the first 20,000 are compared.
std::string nearest_names(const std::string& wrong, const std::vector<std::string>& names);

}  // namespace tessera
