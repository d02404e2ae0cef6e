// The damage that every build does to the models of the corpus.
#include "support/model_mutants.h"

std::string mutant_of(const std::string& input, uint32_t seed);
std::string mutant_of(const std::string& input, uint32_t seed) { return tessera::mutants::mutant(input, seed); }
