// A fuzzer without its engine: every file named on the command line, or in a folder named there, is run once. Links
// where libFuzzer is not.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz/input.h"

namespace {

void run(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  // A copy of exactly this size, so that a sanitizer sees what reads beyond it.
  const std::vector<uint8_t> input(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      run(argv[i]), ++count;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i]))
      if (entry.is_regular_file())
        std::fprintf(stderr, "%s\n", entry.path().filename().c_str()), run(entry.path()), ++count;
  }
  std::printf("%d inputs\n", count);
  return count == 0;
}
