// A fuzzer without its engine: every file named on the command line, or in a folder named there, is run once, then with
// the damage that the fuzzer can do to it. Links where libFuzzer is not.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/input.h"

// Damage of a fuzzer that has its own; the same seed gives the same.
[[gnu::weak]] std::string mutant_of(const std::string& input, uint32_t seed);

namespace {

constexpr uint32_t kMutants = 100;

void run_bytes(const std::string& bytes) {
  // A copy of exactly this size, so that a sanitizer sees what reads beyond it.
  const std::vector<uint8_t> input(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

void run(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  run_bytes(bytes);
  for (uint32_t seed = 1; mutant_of != nullptr && seed <= kMutants; ++seed) run_bytes(mutant_of(bytes, seed));
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      run(std::filesystem::path(argv[i])), ++count;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i]))
      if (entry.is_regular_file())
        std::fprintf(stderr, "%s\n", entry.path().filename().c_str()), run(entry.path()), ++count;
  }
  std::printf("%d inputs\n", count);
  return count == 0;
}
